#!/bin/sh
# SPDX-License-Identifier: ISC
# The shared library exports the functions of the header, and nothing else.
set -u
header=${srcdir:-.}/include/handoff.h
library=
for file in .libs/libhandoff.so .libs/libhandoff.dylib .libs/libhandoff-*.dll; do
	[ ! -f "$file" ] || library=$file
done
if [ -z "$library" ]; then
	echo "no shared library was built"
	exit 77
fi

# Functions: after HANDOFF_API, the name before the first parenthesis.
tr '\n' ' ' <"$header" | sed 's/HANDOFF_API/\
&/g' | sed -n 's/^HANDOFF_API \([^(]*[ *]\)\{0,1\}\(handoff_[a-z0-9_]*\)(.*/\2/p' |
    sort -u >symbols.header
case $library in
*.dll)
	# Its table of exported names.
	"${OBJDUMP:-objdump}" -p "$library" |
	    sed -n '/^\[Ordinal\/Name Pointer\] Table/,/^$/s/.*\] //p' |
	    tr -d ' \r' | grep -v '^Table$' ;;
*)
	"${NM:-nm}" -D --defined-only "$library" |
	    awk '$2 != "A" { sub(/@.*/, "", $NF); print $NF }' ;;
esac | sort -u >symbols.library
count=$(wc -l <symbols.header)
diff symbols.header symbols.library
same=$?
rm -f symbols.header symbols.library
if [ "$same" != 0 ]; then
	echo "< only in $header, > only in $library"
	exit 1
fi
case $library in
*.dll)
	# What every Windows has, and nothing of the compiler's.
	"${OBJDUMP:-objdump}" -p "$library" |
	    sed -n 's/.*DLL Name: //p' | tr -d '\r' |
	    grep -viE '^(advapi32|bcrypt|kernel32|msvcrt|ucrtbase|api-ms-win-.*)\.dll$' &&
	    echo "$library needs these" && exit 1 ;;
esac
echo "$count functions"
[ "$count" -gt 20 ]
