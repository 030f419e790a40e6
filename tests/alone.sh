#!/bin/sh
# SPDX-License-Identifier: ISC
# Runs a test while no other one runs, also under make -j: tests measure time
# and fill the CPUs.  Those in $PATIENT do neither, and run beside each other.
# What the test leaves behind does not hold up the next.
case " ${PATIENT-} " in
*" ${1#./} "*) how=-s ;;
*) how=-x ;;
esac
if command -v flock >/dev/null 2>&1; then
	exec 9>tests/alone.lock
	flock $how 9
fi
"$@" 9>&-
