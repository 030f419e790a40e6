#!/bin/sh
# SPDX-License-Identifier: ISC
# The manual has no faults of form and names every function of the header.
set -u
top=${srcdir:-.}
bad=0
for name in $(tr '\n' ' ' <"$top/include/handoff.h" | sed 's/HANDOFF_API/\
&/g' | sed -n 's/^HANDOFF_API \([^(]*[ *]\)\{0,1\}\(handoff_[a-z0-9_]*\)(.*/\2/p'); do
	grep -qsE "^\.(Nm|Fn|Fo) $name( |\$)" "$top"/man/*.3 "$top"/man/*.7 || {
		echo "$name is in no page of the manual"
		bad=1
	}
done
if ! command -v mandoc >/dev/null 2>&1; then
	echo "mandoc is not installed: the form of the pages was not looked at"
	[ $bad = 1 ] || exit 77
	exit 1
fi
mandoc -T lint -W warning "$top"/man/*.[1-9] || bad=1
exit $bad
