#!/bin/sh
# SPDX-License-Identifier: ISC
# The shared library exports the functions of the header, and nothing else.
set -u
header=${srcdir:-.}/include/handoff.h
library=
for file in .libs/libhandoff.so .libs/libhandoff.dylib; do
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
"${NM:-nm}" -D --defined-only "$library" |
    awk '$2 != "A" { sub(/@.*/, "", $NF); print $NF }' | sort -u \
    >symbols.library
count=$(wc -l <symbols.header)
diff symbols.header symbols.library
same=$?
rm -f symbols.header symbols.library
if [ "$same" != 0 ]; then
	echo "< only in $header, > only in $library"
	exit 1
fi
echo "$count functions"
[ "$count" -gt 20 ]
