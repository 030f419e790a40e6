#!/bin/sh
# SPDX-License-Identifier: ISC
# Runs test programs over and over while something else fills the CPUs, and
# stops at the first failure with its log.
#
#   LOOPS=50 LOAD=2 PIN=1 tests/loop.sh PROGRAM...
#
#   LOOPS   how often each program is run (10)
#   LOAD    how many busy loops run beside them (one for each CPU)
#   PIN     1: programs and busy loops share one CPU
#   LIMIT   seconds that a program may take (540, and 30 of its scenarios)
#   STRESS_SECONDS  whole seconds for each scenario of a stress program (2)
set -u
STRESS_SECONDS=${STRESS_SECONDS:-2}
export STRESS_SECONDS
loops=${LOOPS:-10}
load=${LOAD:-$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)}
limit=${LIMIT:-$((540 + 30 * STRESS_SECONDS))}
pin=
busy=
log=loop.$$.log

if [ "${PIN:-0}" = 1 ]; then
	cpu=$(taskset -cp $$ 2>/dev/null | sed 's/.*: *\([0-9]*\).*/\1/')
	[ -n "$cpu" ] || { echo "PIN=1 needs taskset"; exit 77; }
	taskset -cp "$cpu" $$ >/dev/null || exit 1
	pin=", all on CPU $cpu"
fi
[ $# -gt 0 ] || { echo "usage: tests/loop.sh PROGRAM..."; exit 2; }

# A busy loop looks for its parent now and then, and ends without it: also
# when nobody was left to end it.
spin() {
	while kill -0 $$ 2>/dev/null; do
		i=0
		while [ $i -lt 20000 ]; do i=$((i + 1)); done
	done
}
# shellcheck disable=SC2329,SC2317
finish() {
	trap '' INT TERM HUP
	# shellcheck disable=SC2086
	[ -z "$busy" ] || kill $busy 2>/dev/null
	rm -f "$log"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
while [ "$load" -gt 0 ]; do
	spin &
	busy="$busy $!"
	load=$((load - 1))
done

echo "$loops loops of $# programs beside $(echo "$busy" | wc -w) busy loops$pin"
loop=0
while [ $loop -lt "$loops" ]; do
	loop=$((loop + 1))
	began=$(date +%s)
	for program in "$@"; do
		case $program in /*) ;; *) program=./$program ;; esac
		timeout -k 10 "$limit" "$program" >"$log" 2>&1
		rc=$?
		case $rc in
		0 | 77) ;;
		*)
			cat "$log"
			echo "$program: exit status $rc in loop $loop"
			exit 1 ;;
		esac
	done
	echo "loop $loop: $(($(date +%s) - began)) s"
done
