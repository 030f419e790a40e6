#!/bin/sh
# SPDX-License-Identifier: ISC
# Runs a test while no other one runs, also under make -j: tests measure time
# and fill the CPUs.  What the test leaves behind does not hold up the next.
if command -v flock >/dev/null 2>&1; then
	exec 9>tests/alone.lock
	flock 9
fi
"$@" 9>&-
