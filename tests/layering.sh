#!/bin/sh
# SPDX-License-Identifier: ISC
# Who includes whom, and who asks about the system.
#
#   include/   stdint.h, stddef.h and sys/types.h
#   src/port.h stdint.h, stddef.h and stdatomic.h
#   src/       src/, handoff.h and the C standard's headers; no #if on a system
#   posix/ win32/       port.h, config.h, its own headers and the system's
#   nobody     asks for Windows but win32/, tests/ and the header, once
#   tests/     handoff.h, its own headers and the system's; layout, wait,
#              parties_points, meanwhile and the fake port also src/, all of
#              them points.h; tests/estimator.c estimator.h
#   fuzz/      anything
#   bench/ examples/    handoff.h, their own headers and the system's; the lab
#              in bench/ also estimator.h
# shellcheck disable=SC2046,SC2086
set -u
cd "${srcdir:-.}" || exit 99
bad=0
files=0
own=$(cd src && echo *.h)
standard="assert.h complex.h ctype.h errno.h fenv.h float.h inttypes.h
iso646.h limits.h locale.h math.h setjmp.h signal.h stdalign.h stdarg.h
stdatomic.h stdbool.h stddef.h stdint.h stdio.h stdlib.h stdnoreturn.h
string.h tgmath.h threads.h time.h uchar.h wchar.h wctype.h"

# includes FILE: what it includes, with the <> or "" around it
includes() {
	sed -n 's/^[ 	]*#[ 	]*include[ 	]*\([<"][^>"]*[>"]\).*/\1/p' "$1"
}

says() { echo "$*"; bad=1; }

among() { # among WORD LIST: 1 if it is not
	for each in $2; do
		[ "$1" != "$each" ] || return 0
	done
	return 1
}

# only FILE WHAT...: FILE includes no other header than these
only() {
	file=$1
	shift
	for header in $(includes "$file" | tr -d '<>"'); do
		among "$header" "$*" ||
		    says "$file: includes $header"
	done
}

# never FILE WHAT...: FILE includes none of these; "..." in any directory
never() {
	file=$1
	shift
	for header in $(includes "$file" | sed 's/".*\//"/' | tr -d '<>"'); do
		! among "$header" "$*" ||
		    says "$file: includes $header"
	done
}

# no_system FILE: no line of the preprocessor names a system
no_system() {
	grep -nE '^[ 	]*#[ 	]*(if|elif|ifdef|ifndef)' "$1" |
	    grep -E '_WIN|WIN32|__linux|linux__|__unix|unix__|__APPLE|__[A-Za-z]*BSD|__sun|__CYGWIN|__MINGW|_POSIX|_XOPEN|HAVE_' |
	    while IFS= read -r line; do
		    echo "$1:$line"
	    done | grep . && says "$1: asks about the system"
}

for file in include/*.h; do
	[ -f "$file" ] || continue
	files=$((files + 1))
	only "$file" stdint.h stddef.h sys/types.h
done
for file in src/*.[ch]; do
	[ -f "$file" ] || continue
	files=$((files + 1))
	no_system "$file"
	case $file in
	src/port.h) only "$file" stdint.h stddef.h stdatomic.h ;;
	*) only "$file" handoff.h $own $standard ;;
	esac
done
for file in posix/*.[ch] win32/*.[ch]; do
	[ -f "$file" ] || continue
	files=$((files + 1))
	never "$file" handoff.h $(echo "$own" | tr ' ' '\n' | grep -v '^port\.h$')
done
for file in tests/*.[ch] bench/*.[ch] examples/*.[ch]; do
	[ -f "$file" ] || continue
	files=$((files + 1))
	case $file in
	tests/layout.c | tests/wait.c | tests/wait_case.h | tests/fake_port.[ch] | \
	tests/parties_points.c | tests/meanwhile.c | tests/stepping.c | \
	tests/wakers.c) ;;
	tests/estimator.c | bench/lab.[ch] | bench/lab_*.c)
		never "$file" $(echo "$own" | tr ' ' '\n' |
		    grep -v '^estimator\.h$') ;;
	tests/*) never "$file" ${own%%points.h*} ${own##*points.h} ;;
	*) never "$file" $own ;;
	esac
done
for file in include/*.h src/*.[ch] posix/*.[ch] bench/*.[ch] bench/*.cc \
    examples/*.[ch]; do
	[ -f "$file" ] || continue
	grep -nE '_WIN32|_WIN64|__MINGW|_MSC_VER' "$file" |
	    grep -vE '^[0-9]+:#(el)?if defined\(_WIN32\) && defined\(HANDOFF_DLL\)$' |
	    grep -vE '^[0-9]+:#elif defined\(__GNUC__\) && !defined\(_WIN32\)$' |
	    grep . && says "$file: asks for Windows"
done
[ "$files" -ge 20 ] || says "only $files files were found to look at"
echo "$files files"
exit $bad
