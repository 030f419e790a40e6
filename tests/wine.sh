#!/bin/sh
# SPDX-License-Identifier: ISC
# Runs a test for Windows: under Wine, with a registry and processes of its own
# in wine-prefix/, without a display, while no other one runs, for five minutes
# at the most.  On Windows itself it just runs it, and everywhere a script.
set -u
program=$1
shift
case $program in
*.sh) exec "$program" "$@" ;;
esac
# Libtool's program of that name only starts this one.
real=$(dirname "$program")/.libs/$(basename "$program")
[ ! -f "$real" ] || program=$real

if ! command -v wine >/dev/null 2>&1; then
	case $(uname -s) in
	MINGW* | MSYS* | CYGWIN*) PATH=$PWD/.libs:$PATH exec "$program" "$@" ;;
	esac
	echo "skipped: there is no wine"
	exit 77
fi

unset DISPLAY WAYLAND_DISPLAY
WINEPREFIX=$PWD/wine-prefix
WINEPATH=$PWD/.libs
WINEDEBUG=-all
WINEDLLOVERRIDES='mscoree=;mshtml=;winemenubuilder.exe='
export WINEPREFIX WINEPATH WINEDEBUG WINEDLLOVERRIDES

if command -v flock >/dev/null 2>&1; then
	exec 9>tests/alone.lock
	flock 9
fi
if [ ! -f "$WINEPREFIX/made" ]; then
	timeout 120 wineboot -i >wine-prefix.log 2>&1 9>&- &&
	    touch "$WINEPREFIX/made" || {
		cat wine-prefix.log
		exit 99
	}
fi
timeout 300 wine "$program" "$@" 9>&-
result=$?
[ "$result" != 124 ] || wineserver -k
exit "$result"
