#!/bin/sh
# SPDX-License-Identifier: ISC
# handoff-bench refuses wrong arguments, prints valid JSON, and leaves neither
# processes nor names behind, whatever ends it.
set -u
bench=./handoff-bench
if [ ! -x $bench ]; then
	echo "handoff-bench was not built"
	exit 77
fi
if ! timeout --foreground 5 true 2>/dev/null; then
	echo "there is no timeout --foreground"
	exit 77
fi
dir=$(mktemp -d) || exit 1
mkdir -m 700 "$dir/names" "$dir/tmp" || exit 1
bad=0

# The processes of this test: they have its directory in their environment.
processes() {
	grep -Fls "HANDOFF_DIR=$dir/" /proc/[0-9]*/environ | tr -cd '0-9\n'
}

# What the last run has made in its directories, and in shared memory with its
# number in the name.
names() {
	find "$dir/names" "$dir/tmp" ! -name names ! -name tmp
	find /dev/shm -name "*handoff-bench.$(cat "$dir/pid").*"
} 2>/dev/null

clean() {
	for pid in $(processes); do
		kill -KILL "$pid"
	done
	for name in $(names); do
		rm -f "$name"
	done
} 2>/dev/null
trap 'clean; rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT PIPE TERM

fail() {
	echo "handoff-bench $arguments: $*"
	[ ! -s "$dir/err" ] || sed 's/^/	stderr: /' "$dir/err"
	bad=1
}

# The number is the bench's own: all that is between becomes it.
run() {
	arguments=$*
	rm -f "$dir/pid"
	# shellcheck disable=SC2016
	HANDOFF_DIR=$dir/names TMPDIR=$dir/tmp timeout --foreground -k 10 120 \
	    sh -c 'echo $$ >"$0" && exec "$@"' "$dir/pid" $bench "$@" \
	    >"$dir/out" 2>"$dir/err"
}

# Soon after a run nothing is left of it; where much runs, the end of a process
# takes a while.  Its own alarms come later than that.
leaves_nothing() {
	tries=0
	while left=$(processes && names) && [ -n "$left" ]; do
		tries=$((tries + 1))
		if [ $tries = 80 ]; then
			fail "leaves" "$left"
			for pid in $(processes); do
				grep -E '^(Name|State|Pid|PPid):' \
				    "/proc/$pid/status"
			done
			clean
			return
		fi
		sleep 0.1
	done
}

# ---- Arguments ---------------------------------------------------------------

refuses() {
	run "$@"
	status=$?
	[ $status = 2 ] || fail "status $status, not 2"
	[ "$(wc -l <"$dir/err")" -eq 1 ] || fail "not one line on stderr"
	[ ! -s "$dir/out" ] || fail "something on stdout"
}

prints() {
	run "$@"
	status=$?
	[ $status = 0 ] || fail "status $status, not 0"
	[ -s "$dir/out" ] || fail "nothing on stdout"
	[ ! -s "$dir/err" ] || fail "something on stderr"
}

refuses nothing
refuses --nothing
for command in pingpong costs fairness grid ladder idle lab; do
	prints $command --help
	refuses $command --nothing
	refuses $command --format
	refuses $command --format=nothing
	refuses $command more
done
for command in pingpong costs grid ladder idle; do
	refuses $command --trials=0
	refuses $command --trials=1001
	refuses $command --trials=1x
done
for command in pingpong fairness grid ladder idle; do
	refuses $command --time=0
	refuses $command --time=3601
	refuses $command --time=1x
done
for number in 0 -1 1.5 x 99999999999999999999 ''; do
	refuses pingpong "--rounds=$number"
done
refuses pingpong --trials=-1
refuses pingpong --time=nan
refuses pingpong --via=nothing
refuses pingpong --via=cond,nothing
refuses pingpong --via=
refuses pingpong --place=nothing
refuses pingpong --work=-1
refuses pingpong --gap=x
refuses costs --contended=nothing
refuses fairness --via=posix-sem
refuses grid --via=posix-sem
refuses grid --via=sem,nothing
refuses grid --place=nothing
refuses grid --work=-1
refuses grid --gap=x
refuses grid --peers=yes
refuses grid --plot=
for number in 0 -1 x 99999999999999999999 ''; do
	refuses lab "--block=$number"
	refuses lab "--seed=$number"
	refuses lab "--waits=$number"
done
refuses lab --block=10000,x
refuses lab --waits=200
refuses lab --plot=
refuses lab --check=yes
refuses lab --trace=
refuses lab --trace="$dir/none"
refuses lab --trace="$dir"
for wrong in '' '# nothing' x -1 1.5 '1 2' 99999999999999; do
	echo "$wrong" >"$dir/trace"
	refuses lab --trace="$dir/trace"
done
refuses pingpong --record=
refuses pingpong --record="$dir/trace" --via=sem
refuses pingpong --record="$dir/trace" --place=free
refuses pingpong --record="$dir/trace" --via=sem --place=free --trials=2
refuses pingpong --record="$dir/trace" --via=sem --place=free --work=0,1
prints --help
prints --version

# ---- JSON --------------------------------------------------------------------

python=yes
if ! python3 -c 'import json.tool' 2>/dev/null; then
	python=no
	echo "no python3: whether JSON is valid was not looked at"
fi

# Where much else runs, a pinned process may wait for its CPU for longer than a
# trial may take: a run that says so is made anew.
prints_json() {
	array=$1
	shift
	for try in 1 2 3; do
		run "$@" --format=json
		status=$?
		[ $status != 0 ] || break
		[ $try -lt 3 ] && grep -q "takes too long" "$dir/err" && continue
		fail "status $status, not 0"
		return 1
	done
	leaves_nothing
	[ ! -s "$dir/err" ] || fail "something on stderr"
	grep -q "\"$array\":\[" "$dir/out" || fail "no member $array"
	[ $python = yes ] || return 0
	python3 -m json.tool <"$dir/out" >/dev/null 2>"$dir/err" ||
	    fail "not JSON"
}

# What --help says that there is of a group.
vias() {
	$bench pingpong --help | awk -v group="$1" '
		/^Ways/ { on = 1; next }
		on && /^  [a-z]/ { now = $1; $1 = "" }
		on && now == group { print }'
}

places="cross same free"
ways="$(vias ours) $(vias floors) $(vias peers)"
has_rows() {
	count=0 pairs=0
	for via in $ways; do
		case $via in
		pthread-cond | pthread-late-cond) pairs=$((pairs + 1)) ;;
		boost-named-cond | boost-late-named-cond) pairs=$((pairs + 1)) ;;
		esac
		for place in $places; do
			count=$((count + 1))
			grep "\"via\":\"$via\",\"place\":\"$place\"" "$dir/out" |
			    grep -Eq '"(rtt_ns|skipped)":' ||
			    fail "neither figures nor a reason: $via, $place"
		done
	done
	[ $count -gt 20 ] || fail "--help has no ways"
	[ $pairs = 4 ] || fail "--help has not both of each condition"
}

# The library's ways, and they alone, tell what their waits did; none of them
# makes 64 round trips without a wait.
has_waits() {
	[ $python = yes ] || return 0
	python3 - "$dir/out" <<-'END' >"$dir/err" 2>&1 || fail "waits differ"
	import json, sys
	kinds = ["spins_per_round", "yields_per_round", "parks_per_round"]
	runs = json.load(open(sys.argv[1]))["runs"]
	assert any(r["group"] == "ours" and "rtt_ns" in r for r in runs)
	for r in runs:
	    ours = r["group"] == "ours" and "skipped" not in r
	    assert all((k in r) == ours for k in kinds), r
	    if ours:
	        assert all(r[k] >= 0 for k in kinds), r
	        assert sum(r[k] for k in kinds) > 0, r
	END
}

prints_json runs pingpong --rounds=64 --time=0.05 --trials=1 \
    --via=ours,floors,peers --place=cross,same,free && has_rows && has_waits
# The figures of the grid agree with each other.
agrees() {
	grep -Eq '"(best|skipped)":' "$dir/out" ||
	    fail "neither a best policy nor a reason"
	[ $python = yes ] || return 0
	python3 - "$dir/out" <<-'END' >"$dir/err" 2>&1 || fail "figures differ"
	import json, sys
	grid = json.load(open(sys.argv[1]))
	cells = [c for c in grid["cells"] if "skipped" not in c]
	assert len(grid["cells"]) == 8
	judged = [c for c in cells if c["best"]]
	for c in judged:
	    figures = [r for r in c["rows"] if "skipped" not in r]
	    costs = [r["cost_ns"] for r in figures if r["via"][:5] == "futex"]
	    assert c["best_cost_ns"] == min(costs)
	    assert all(r["cost_ns"] >= 1 for r in figures)
	    assert all(r["low_ns"] <= r["cost_ns"] <= r["high_ns"]
	               for r in figures)
	    ratio = c["cost_ns"] / c["best_cost_ns"]
	    assert abs(c["regret"] / ratio - 1) < 0.2
	if judged:
	    assert grid["worst_regret"] == max(c["regret"] for c in judged)
	    assert grid["worse"] == sum(c["worse"] for c in judged)
	END
}

prints_json cells grid --time=0.005 --trials=2 --via=sem,word \
    --place=same,free --work=0,10000 --gap=0 && agrees

# Boost's mutex costs something, or there is a reason.
has_boost() {
	grep -q '"via":"boost-named-mutex"' "$dir/out" ||
	    fail "nothing about boost-named-mutex"
	[ $python = yes ] || return 0
	python3 - "$dir/out" <<-'END' >"$dir/err" 2>&1 || fail "costs differ"
	import json, sys
	costs = json.load(open(sys.argv[1]))["costs"]
	rows = [c for c in costs if c["via"] == "boost-named-mutex"]
	if "skipped" in rows[0]:
	    assert len(rows) == 1 and rows[0]["skipped"]
	else:
	    alone = [c["what"] for c in rows if not c["contended"]]
	    assert alone == ["acquire+release", "acquire", "release"], alone
	    assert all(c["ns"]["p50"] >= c["ns"]["min"] for c in rows)
	    assert rows[0]["ns"]["min"] > 0 or rows[-1]["ns"]["min"] > 0
	END
}

prints_json costs costs --trials=1 && has_boost
prints_json fairness fairness --time=0.1
prints_json ladder ladder --time=0.01 --trials=1
prints_json idle idle --time=0.1

# ---- The lab -----------------------------------------------------------------

prints lab --check
cp "$dir/out" "$dir/first"
prints lab --check
cmp -s "$dir/first" "$dir/out" || fail "the same seed, another result"
prints lab --seed=2
! cmp -s "$dir/first" "$dir/out" || fail "another seed, the same result"
prints_json lab lab --waits=1000 --block=10000

# Of waits of 1 us but for one of 1 ms, thresholds from 1 us up to below 1 ms
# cost the least.
{ echo "# recorded" && seq 400 | sed 's/.*/1000 # ns/' && echo 1000000; } \
    >"$dir/trace"
prints lab --trace="$dir/trace" --block=10000 --format=csv
grep -q '^"trace",10000,401,[0-9.]*,1024.938,1000,1047.382,1022.444,' \
    "$dir/out" || fail "other costs"
run pingpong --record="$dir/trace" --via=sem --place=free --rounds=300 \
    --time=10
status=$?
[ $status = 0 ] || fail "status $status, not 0"
leaves_nothing
[ "$(grep -c '^[0-9][0-9]*$' "$dir/trace")" -eq 300 ] ||
    fail "not each round trip was recorded"
prints lab --trace="$dir/trace"
run pingpong --record="$dir/none/trace" --via=sem --place=free --rounds=9
status=$?
[ $status = 1 ] || fail "status $status, not 1"

# ---- Ends --------------------------------------------------------------------

if [ ! -r /proc/self/environ ]; then
	echo "no /proc: what is left after a signal was not looked at"
	exit $bad
fi

# How many processes run the program itself: not what starts it.
running() {
	for pid in $(processes); do
		readlink "/proc/$pid/exe"
	done | grep -c '/\(lt-\)\{0,1\}handoff-bench$'
}

# Waits until so many processes run.
await_running() {
	tries=0
	until [ "$(running)" -ge "$1" ]; do
		tries=$((tries + 1))
		[ $tries -lt 200 ] || return
		sleep 0.1
	done
	: >"$dir/mid-run"
}

# Signals the bench as soon as so many processes run.
interrupt() {
	await_running "$2"
	kill -s "$1" "$(cat "$dir/pid")"
}

# The same with one of those that the bench has started.
interrupt_part() {
	await_running "$2"
	parent=$(cat "$dir/pid")
	for pid in $(processes); do
		grep -q "^PPid:[[:blank:]]*$parent\$" "/proc/$pid/status" ||
		    continue
		kill -s "$1" "$pid"
		break
	done
}

# ends_by SIGNAL STATUS PROCESSES COMMAND...
ends_by() {
	signal=$1 expected=$2 processes=$3
	shift 3
	rm -f "$dir/mid-run"
	interrupt "$signal" "$processes" 2>/dev/null &
	run "$@" 2>/dev/null
	status=$?
	arguments="$arguments, SIG$signal"
	kill $! 2>/dev/null
	wait
	[ -e "$dir/mid-run" ] || fail "never $processes processes"
	[ $status = "$expected" ] || fail "status $status, not $expected"
	leaves_nothing
}

ends() {
	ends_by TERM 143 "$@"
	[ $int = no ] || ends_by INT 130 "$@"
	ends_by KILL 137 "$@"
}

# fails_by SIGNAL MESSAGE COMMAND...: of one of the two parts.
fails_by() {
	signal=$1 message=$2
	shift 2
	rm -f "$dir/mid-run"
	interrupt_part "$signal" 3 2>/dev/null &
	run "$@"
	status=$?
	arguments="$arguments, SIG$signal to a part"
	kill $! 2>/dev/null
	wait
	[ -e "$dir/mid-run" ] || fail "never 3 processes"
	[ $status = 1 ] || fail "status $status, not 1"
	[ ! -s "$dir/out" ] || fail "something on stdout"
	[ "$(wc -l <"$dir/err")" -eq 1 ] || fail "not one line on stderr"
	grep -q "$message" "$dir/err" || fail "does not say: $message"
	leaves_nothing
}

# Who started this test may have had it ignored.
int=yes
# shellcheck disable=SC2016
timeout --foreground 5 sh -c 'kill -s INT $$' 2>/dev/null
if [ $? != 130 ]; then
	int=no
	echo "SIGINT is ignored: it was left out"
fi

ends 3 pingpong --via=cond --time=60
ends 3 pingpong --via=named-cond,posix-sem,line2 --place=free --trials=1000
ends 3 pingpong --via=pipe,eventfd --place=free --time=60
ends 7 pingpong --via=sem --place=busy4 --time=60
ends 4 pingpong --via=sem --place=same1 --time=60
ends 3 costs --trials=1000
ends 3 fairness --time=60
ends 3 grid --place=free --time=60
ends 2 ladder --time=60
ends 3 idle --time=60
fails_by KILL 'pipe, free: part' pingpong --via=pipe --place=free --time=60
fails_by STOP 'takes too long' costs --trials=1000
exit $bad
