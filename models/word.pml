/* SPDX-License-Identifier: ISC */
/*
 * The word of src/word.c, with the counts of src/parked.h.
 *
 * MODELLED
 *   W waiters wait ROUNDS times each while the value is 0:
 *     w1  look at the value
 *     w2  mark
 *     w3  look at the value again
 *     w4  park on epoch and number
 *     w5  at a slice's end, and if w3 found a change that may be undone by
 *         now: take epoch and number as seen, unless they have moved and a wake
 *         is due
 *     w6  look at the value
 *     w7  if that was for nothing, w4; else unmark, and leave or begin again
 *   At its deadline a waiter gives up in w7.  P wakers call wake CALLS times
 *   each, having changed the value, from 0 to 1 or back, or not.  Each may be
 *   killed after any of its steps.  A waiter that waits for several objects may
 *   leave for another's sake.
 *
 * ABSTRACTED
 *   A load and the compare-and-swap that follows are one step: a swap that
 *   fails looks again.  Spinning is w1.  Numbers do not wrap; parked does not
 *   reach its limit.  The kernel wakes in the order of parking (port.h), and
 *   removes who is killed.  Memory is sequentially consistent; so is in C each
 *   write that is followed by wake, while wake_fenced begins with an operation
 *   on the counts after which the write is seen by whoever marks later.
 *
 * BOUNDS, each by -D
 *   W ROUNDS P CALLS
 *   KINDS     how wakers wake, a sum: 1 one, 2 two, 4 all
 *   DEADLINES waiters, from the first, that have a deadline
 *   ANY       waiters, from the first, that may leave for another object
 *   IDLE      parks that end for no reason
 *   KILLS     processes killed
 *   SLICES    slices of each waiter that end for each of them, if there is
 *             something to find
 *
 * PROPERTIES
 *   No wake is lost: after the last change to 1, of those who waited before it
 *   and have no deadline, and do not leave for another object, as many leave as
 *   wakes followed (init).  If nobody dies no slice is needed for it; else one
 *   of each waiter for each death.
 *   due <= parked, and parked - due is at least the number of living waiters
 *   asleep to whom no wake has been issued (check).
 *   If nobody dies: due is at most the number of wakes on their way (check).
 *
 * MUTATIONS, each by -D, each to be found wrong
 *   NOLOOK   w3 is left out
 *   NOTAKE   w7 takes nothing from due
 *   REPARK   one that a wake has brought parks again without unmarking
 *   NODUE    w5 does not look at due
 *   SWAPPED  w5 comes after w6
 *   NONUMBER a wake does not move the number
 *   NOEPOCH  a wake of all does not move the epoch
 *   CLEARED  one mark for all, which a wake clears, instead of counts
 *   RELAXED  the write is seen after wake has looked at the counts
 *   NOPASS   one that leaves for another object passes no wake on
 *   ONLYDUE  it does so only if it has taken one from due
 */
#ifndef W
#define W 2
#endif
#if W > 3
#error "at most 3 waiters"
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef P
#define P 1
#endif
#ifndef CALLS
#define CALLS 2
#endif
#ifndef KINDS
#define KINDS 1
#endif
#ifndef DEADLINES
#define DEADLINES 0
#endif
#ifndef ANY
#define ANY 0
#endif
#ifndef IDLE
#define IDLE 0
#endif
#ifndef KILLS
#define KILLS 0
#endif
#ifndef SLICES
#define SLICES 0
#endif

#define ALL 7			/* a wake of all, as a number of wakes */

bit value;

/* The counts, one atomic. */
byte epoch, number, parked, due;

/* The kernel. */
bit asleep[W];
chan queue = [W] of { byte };

/* What waiters know. */
byte seen_epoch[W], seen[W];	/* epoch and number, as last seen */
byte marked[W];			/* the number at the mark */
bit is_marked[W];
bit woken[W];			/* a wake brought it here */

byte kills = KILLS;		/* how often each may yet happen */
byte idle = IDLE;
byte slices[W];

/* Of the model alone. */
byte issued;			/* wakes not yet given by the kernel */
byte waiting;			/* waiters, one bit each, from w1 on */
byte before;			/* who waited before the last change to 1 */
byte asked;			/* wakes since then */

#define DIE if :: true :: kills > 0 -> goto dead fi
#define SAME_EPOCH(i) (seen_epoch[i] == epoch)

/* ---- Invariants of the counts -------------------------------------------- */

#define ASLEEP(i) asleep[i]
#define SLEEPS(i) (asleep[i] && SAME_EPOCH(i))
#define UNMOVED(i) (SLEEPS(i) && seen[i] == number)
#define TAKES(i) \
	(is_marked[i] && !asleep[i] && SAME_EPOCH(i) && \
	 (woken[i] || number != marked[i]))
#define LEFT_OUT(i) (asleep[i] && before & 1 << i)
#define BEFORE(i) (before & 1 << i)
#if W == 1
#define HOW_MANY(X) (X(0) -> 1 : 0)
#elif W == 2
#define HOW_MANY(X) ((X(0) -> 1 : 0) + (X(1) -> 1 : 0))
#else
#define HOW_MANY(X) \
	((X(0) -> 1 : 0) + (X(1) -> 1 : 0) + (X(2) -> 1 : 0))
#endif

inline check() {
#ifdef CLEARED
	skip
#else
	assert(due <= parked);
	assert(parked >= due + HOW_MANY(UNMOVED));
	assert(parked + issued >= due + HOW_MANY(SLEEPS));
#if KILLS == 0
	assert(due <= issued + HOW_MANY(TAKES))
#endif
#endif
}

/* ---- Waking -------------------------------------------------------------- */

inline unpark(n) {
	atomic {
		do
		:: n > 0 && nempty(queue) ->
			queue?i;
			asleep[i] = 0;
			woken[i] = 1;
			if
			:: n != ALL ->
				n--;
				issued = issued - (SAME_EPOCH(i) -> 1 : 0)
			:: else
			fi
		:: n > 0 && empty(queue) ->
			if
			:: n != ALL -> issued = issued - n
			:: else
			fi;
			n = 0
		:: n == 0 -> break
		od;
		i = 0;
		check()
	}
}

/* Up to n of those to whom no wake has been issued: woke. */
inline issue(n) {
	if
#ifdef CLEARED
	:: true ->
		woke = (parked > 0 -> n : 0);
		issued = issued + (n == ALL -> 0 : woke);
		number = number + (parked > 0 -> 1 : 0);
		parked = 0
#endif
	:: parked <= due -> woke = 0
	:: n == ALL && parked > 0 ->
#ifndef NOEPOCH
		epoch++;
#endif
		number = 0;
		parked = 0;
		due = 0;
		woke = ALL
	:: n != ALL && parked > due ->
		woke = (parked - due < n -> parked - due : n);
		due = due + woke;
#ifndef NONUMBER
		number++;
#endif
		issued = issued + woke
	fi;
	check()
}

/* ---- Waiting ------------------------------------------------------------- */

inline forget() {
	is_marked[me] = 0;
	woken[me] = 0;
	marked[me] = 0;
	seen[me] = 0;
	seen_epoch[me] = 0
}

/* taken: there may have been a wake for us. */
inline unmark() {
	if
	:: is_marked[me] && SAME_EPOCH(me) && parked > 0 ->
#ifdef NOTAKE
		taken = 0;
#else
		taken = due > 0 && (woken[me] || number != marked[me]);
#endif
#ifndef CLEARED
		parked--;
#endif
		if
		:: taken || due > parked -> due--
		:: else
		fi
#ifndef ONLYDUE
		;
		taken = taken || number != marked[me]
#endif
	:: else
	fi;
	forget();
	check()
}

#ifdef NODUE
#define DUE false
#else
#define DUE (number != marked[me] && due > 0)
#endif
/* The end of a slice would find something. */
#define FINDS (value != 0 || !SAME_EPOCH(me) || DUE)

/* w5 */
inline take_as_seen() {
	atomic {
		if
		:: !SAME_EPOCH(me) || DUE -> slice = 0
		:: else -> seen[me] = number
		fi;
		DIE
	}
}

inline dies() {
	kills--;
	for (i : 0 .. W - 1) {
		slices[i] = slices[i] + SLICES
	}
	i = 0
}

proctype waiter(byte me) {
	byte i, woke;
	byte rounds = ROUNDS;
	bit late, slice, other, changed, taken;

w1:
	atomic {
		if
		:: value != 0 -> goto leave
		:: else -> waiting = waiting | 1 << me
		fi
	}
	atomic {					/* w2 */
		seen_epoch[me] = epoch;
		seen[me] = number;
		marked[me] = number;
		is_marked[me] = 1;
#ifdef CLEARED
		parked = 1;
#else
		parked++;
#endif
		check();
		DIE
	}
#ifndef NOLOOK
	atomic {					/* w3 */
		if
		:: value != 0 -> changed = 1; goto w7
		:: value != 0 -> slice = 1; goto w5
		:: else
		fi
	}
#endif
w4:
	atomic {
		if
		:: SAME_EPOCH(me) && seen[me] == number ->
			asleep[me] = 1;
			queue!me;
			check()
		:: !SAME_EPOCH(me) || seen[me] != number ->
			woken[me] = 1;
			goto w5
		:: me < DEADLINES -> late = 1; goto w5
		:: me < ANY -> other = 1; goto w5
		fi
	}
end_parked:
	atomic {
		if
		:: !asleep[me]
		:: !asleep[me] && me < ANY -> other = 1
		:: asleep[me] && me < ANY -> other = 1
		:: asleep[me] && me < DEADLINES -> late = 1
		:: asleep[me] && idle > 0 -> idle--; slice = 1
		:: asleep[me] && slices[me] > 0 && FINDS ->
			slices[me]--;
			slice = 1
		:: kills > 0 -> goto dead
		fi;
		if
		:: asleep[me] -> queue??eval(me); asleep[me] = 0
		:: else
		fi;
		check()
	}
w5:
#ifndef SWAPPED
	if
	:: slice -> take_as_seen()
	:: else
	fi;
#endif
	atomic {					/* w6 */
		changed = (value != 0 && !other)
	}
#ifdef SWAPPED
	if
	:: slice -> take_as_seen()
	:: else
	fi;
#endif
w7:
	atomic {
		if
#ifdef REPARK
		:: woken[me] && !changed && SAME_EPOCH(me) && !late && !other ->
			woken[me] = 0;
			seen[me] = number;
			goto w4
#endif
		:: slice && !changed ->
			slice = 0;
			goto w4
		:: else
		fi;
		unmark();
		slice = 0;
		if
		:: changed || late || other
		:: else ->
			taken = 0;
			DIE;
			goto w1
		fi;
		if
		:: changed
		:: else -> before = before & ~(1 << me)
		fi;
		DIE
	}
#ifndef NOPASS
	if
	:: other && taken ->
		atomic {
			issue(1);
			DIE
		}
		if
		:: woke > 0 -> unpark(woke)
		:: else
		fi
	:: else
	fi;
#endif
leave:
	atomic {
		waiting = waiting & ~(1 << me);
		late = 0;
		other = 0;
		changed = 0;
		taken = 0;
		rounds--;
		if
		:: rounds > 0 -> goto w1
		:: else -> goto out
		fi
	}

dead:
	atomic {
		if
		:: asleep[me] -> queue??eval(me); asleep[me] = 0
		:: else
		fi;
		forget();
		before = before & ~(1 << me);
		waiting = waiting & ~(1 << me);
		late = 0;
		slice = 0;
		other = 0;
		changed = 0;
		taken = 0;
		woke = 0;
		rounds = 0;
		dies()
	}
out:
	skip
}

/* ---- Those who wake ------------------------------------------------------ */

inline change() {
	value = 1 - value;
	asked = 0;
	before = (value != 0 -> waiting : 0)
}

inline ask(n) {
	asked = (value == 0 -> 0 : asked + n)
}

proctype waker() {
	byte i, n, woke;
	byte calls = CALLS;

	do
	:: calls == 0 -> break
	:: calls > 0 ->
	atomic {
		calls--;
		if
		:: KINDS & 1 -> n = 1
		:: KINDS & 2 -> n = 2
		:: KINDS & 4 -> n = ALL
		fi;
		if
		:: change(); DIE
		:: true
#ifdef RELAXED
		:: parked <= due -> n = 0
#endif
		fi
	}
	atomic {
#ifdef RELAXED
		if
		:: n == 0 ->
			change();
			ask(1)
		:: else ->
			ask(n);
			issue(n)
		fi;
#else
		ask(n);
		issue(n);
#endif
		n = 0;
		DIE
	}
	if
	:: woke > 0 -> unpark(woke)
	:: else
	fi
	od;
	goto out;

dead:
	atomic {
		n = 0;
		woke = 0;
		calls = 0;
		dies()
	}
out:
	skip
}

init {
	byte i;

	atomic {
		for (i : 0 .. W - 1) {
			run waiter(i)
		}
		for (i : 1 .. P) {
			run waker()
		}
		i = 0
	}
	/* When all has come to rest. */
	timeout;
	assert(value == 0 || HOW_MANY(LEFT_OUT) == 0 ||
	    HOW_MANY(LEFT_OUT) + asked <= HOW_MANY(BEFORE))
}
