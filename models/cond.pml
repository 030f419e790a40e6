/* SPDX-License-Identifier: ISC */
/*
 * The condition of src/cond.c, whose names and steps w1 to w9 and r1 to r5 are
 * used here.
 *
 * MODELLED
 *   W waiters each take one item: holding the mutex, they take it or wait.  S
 *   signallers make MAKE items in all and signal each, while they hold the
 *   mutex or after they have released it.  Others may signal another condition
 *   that is used with the same mutex.  Each may be killed after any of its
 *   steps; in a signaller's place comes another, which also signals again for
 *   one that was killed before its signal without the mutex.
 *
 * ABSTRACTED
 *   The mutex is one that works (mutex.pml): free, held, or its owner is dead,
 *   which the next one to lock is told.  Who is told wakes all, as users must.
 *   Of its word only WAITERS is kept, and who was moved to it is parked there.
 *   A load and the compare-and-swap that follows are one step: a swap that
 *   fails looks again.  Spinning is one look.  Numbers do not wrap; parked does
 *   not reach its limit.  The kernel wakes in the order of parking (port.h),
 *   and removes who is killed.  A slice ends only if its waiter can then see
 *   something new.  Memory is sequentially consistent, as are in C the
 *   operations on the state and on the mutex's word, which order signals; r3,
 *   which others may see early, comes at any time between r2 and r4.  What
 *   destroy does about threads of its own process is left out.
 *
 * BOUNDS, each by -D
 *   W S MAKE
 *   KINDS     how holders signal, a sum: 1 signal, 2 broadcast, 4 signal
 *             without the mutex, 8 broadcast without it, 16 two signals in one
 *             release
 *   OWN       signals by waiters, before they wait or leave
 *   OTHER     signals of the other condition
 *   DEADLINES waiters, from the first, that have a deadline
 *   SLICES    slices end
 *   WKILLS    waiters killed
 *   SKILLS    signallers killed
 *   LOSE      who is told EOWNERDEAD may leave the mutex not recoverable
 *   G08       waiters wait once each, whatever there is to take
 *   ANYORDER  the kernel wakes in any order
 *   NOREQUEUE the port wakes all instead of moving them
 *
 * PROPERTIES
 *   No wake is lost: none stays parked while there is an item (end states,
 *   REST); without slices if nobody dies, with them whoever dies.
 *   With G08: each signal wakes one that was blocked before it, another one
 *   for each signal; a broadcast all of them (check_asked).  This does not
 *   hold with SLICES: a waiter whose slice ends after r1 and before r5 misses
 *   the wake, and one that came later or had left may take it from due.
 *   Those who return ETIMEDOUT do not look for an item, so that one that had
 *   used up a wake would be missed.
 *   due <= parked, and parked - due is at least the number of living waiters
 *   asleep to whom no wake has been issued (check).
 *   If nobody dies: due is at most the number of wakes on their way, so that
 *   it does not turn slices into broadcasts, and a slice ends a wait only if a
 *   wake is due or the epoch moved (check, found).
 *   A release does not touch the condition after r4: the last waiter destroys
 *   it while it holds the mutex (TOUCH).
 *
 * MUTATIONS, each by -D, each to be found wrong
 *   NORECHECK w6 is left out
 *   NOLOCK    w6 looks at signals though somebody holds the mutex
 *   SWAPPED   r3 comes after r4
 *   WHO_ONLY  "who" alone tells whether a signal is for this condition
 *   EARLY     w9 comes before w8
 *   NOLEAVE   a kernel wake does not make its waiter leave
 *   NOTAKE    a kernel wake does not make its waiter take one from due
 *   NODUE     a slice's end does not look at due
 *   SLOW      a slice ends the wait whenever the number has moved
 *   NOEPOCH   a broadcast does not move the epoch
 *   LATE      r1 and r2 come after r4
 *   NOWAKE    r1 issues a wake, and r5 wakes nobody
 *   ANYORDER, with G08
 */
#ifndef W
#define W 2
#endif
#if W > 3
#error "at most 3 waiters"
#endif
#ifndef S
#define S 1
#endif
#ifndef MAKE
#define MAKE W
#endif
#ifndef KINDS
#define KINDS 1
#endif
#ifndef OWN
#define OWN 0
#endif
#ifndef OTHER
#define OTHER 0
#endif
#ifndef DEADLINES
#define DEADLINES 0
#endif
#ifndef SLICES
#define SLICES 0
#endif
#ifndef WKILLS
#define WKILLS 0
#endif
#ifndef SKILLS
#define SKILLS 0
#endif
#ifdef G08
#define BY_TURNS 1
#else
#define BY_TURNS 0
#endif

/* What a holder does with the condition: bits of KINDS. */
#define SIGNAL 1
#define BROADCAST 2
#define NAKED 4			/* a signal after the release */
#define NAKED_BROADCAST 8
#define TWO 16			/* two items, two signals, one release */

#define NOBODY 255
#define SOMEBODY 254	/* holds the mutex for another condition's sake */
#define ALL 7		/* a broadcast, as a number of signals */

/* The mutex. */
byte owner = NOBODY;
bit orphaned;		/* its owner is dead */
bit lost;		/* it is not recoverable */
bit WAITERS;
byte signals;		/* their number */
bit other;		/* "who" is another condition */

/* The condition's state, one atomic. */
byte epoch, number, parked, due;
bit WAITED;

/* The kernel. */
#define AWAKE 0
#define ON_COND 1
#define ON_MUTEX 2
byte asleep[W];
chan queue = [W] of { byte };	/* those ON_COND */

/* What waiters know. */
byte seen_epoch[W], seen[W];	/* epoch and number, as last seen */
byte marked[W];			/* the number at the mark */
bit is_marked[W];
bit woken[W];			/* a wake brought it here */

/* What it is all for. */
byte items, made;
byte kills[2];			/* yet to come, of waiters and of signallers */
byte own = OWN;
byte others = OTHER;

/* Of the model alone. */
byte issued;			/* wakes of r5 not yet given by the kernel */
byte leavers;			/* waiters that will not wait again */
bit destroyed;

#define DESTROYS (WKILLS + SKILLS == 0 && !(KINDS & 12))
#define TOUCH assert(!destroyed)
#define DIE \
	if \
	:: true \
	:: kills[me >= W] > 0 -> kills[me >= W]--; goto dead \
	fi

#ifdef WHO_ONLY
#define SIGNALLED (signals != s && !other)
#else
#define SIGNALLED (signals != s && !(other && signals == s + 1))
#endif
#define SAME_EPOCH(i) (seen_epoch[i] == epoch)

/* ---- Invariants of the state --------------------------------------------- */

#define SLEEPS(i) (asleep[i] == ON_COND && SAME_EPOCH(i))
#define UNMOVED(i) (SLEEPS(i) && seen[i] == number)
#define TAKES(i) \
	(is_marked[i] && asleep[i] == AWAKE && SAME_EPOCH(i) && \
	 (woken[i] || number != marked[i]))
#if W == 1
#define COUNT(X) (X(0) -> 1 : 0)
#elif W == 2
#define COUNT(X) ((X(0) -> 1 : 0) + (X(1) -> 1 : 0))
#else
#define COUNT(X) ((X(0) -> 1 : 0) + (X(1) -> 1 : 0) + (X(2) -> 1 : 0))
#endif

inline check() {
	assert(due <= parked);
	assert(parked >= due + COUNT(UNMOVED));
	assert(parked + issued >= due + COUNT(SLEEPS));
#if WKILLS + SKILLS == 0
	assert(due <= issued + COUNT(TAKES))
#endif
}

/* ---- Whom a signal must have woken (G08) --------------------------------- */

#ifdef G08
byte blocked;			/* waiters, one bit each, from w2 on */
byte left;			/* those who left, but not by a deadline */
byte asked, before[2];		/* signals, and who was blocked before each */
byte before_all;		/* blocked before a broadcast */

#define BITS(m) (((m) & 1) + ((m) >> 1 & 1) + ((m) >> 2 & 1))
#define ENOUGH(m, n) (BITS((m) & left) >= n || ((m) & ~left) == 0)
#define BLOCKED (blocked & ~left)

inline ask(n) {
	if
	:: n == ALL -> before_all = before_all | BLOCKED
	:: else ->
		for (i : 1 .. n) {
			before[asked] = BLOCKED;
			asked++
		}
		i = 0
	fi
}

inline blocks() { blocked = blocked | 1 << me }
inline leaves() { left = left | 1 << me }

inline times_out() {
	blocked = blocked & ~(1 << me);
	before[0] = before[0] & ~(1 << me);
	before[1] = before[1] & ~(1 << me);
	before_all = before_all & ~(1 << me)
}

inline check_asked() {
	assert(ENOUGH(before[0], 1) && ENOUGH(before[1], 1));
	assert(ENOUGH(before[0] | before[1],
	    (before[0] -> 1 : 0) + (before[1] -> 1 : 0)));
	assert((before_all & ~left) == 0)
}
#else
inline ask(n) { skip }
inline blocks() { skip }
inline leaves() { skip }
inline times_out() { skip }
inline check_asked() { skip }
#endif

/* ---- The kernel ---------------------------------------------------------- */

inline wake(i) {
	if
	:: asleep[i] == ON_COND -> queue??eval(i)
	:: else
	fi;
	asleep[i] = AWAKE
}

/* handoff__unpark of the condition: n, or all. */
inline unpark_cond(n) {
	atomic {
		do
		:: n > 0 && nempty(queue) ->
#ifdef ANYORDER
			if
			:: asleep[0] == ON_COND -> i = 0
#if W > 1
			:: asleep[1] == ON_COND -> i = 1
#endif
#if W > 2
			:: asleep[2] == ON_COND -> i = 2
#endif
			fi;
#else
			queue?<i>;
#endif
			wake(i);
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

inline unpark_mutex() {
	atomic {
		if
		:: asleep[0] == ON_MUTEX -> asleep[0] = AWAKE
#if W > 1
		:: asleep[1] == ON_MUTEX -> asleep[1] = AWAKE
#endif
#if W > 2
		:: asleep[2] == ON_MUTEX -> asleep[2] = AWAKE
#endif
		:: else
		fi
	}
}

/* moved: there was somebody, who is on the mutex now. */
inline requeue() {
	do
	:: nempty(queue) ->
		queue?i;
#ifdef NOREQUEUE
		asleep[i] = AWAKE;
		woken[i] = 1
#else
		asleep[i] = ON_MUTEX;
		moved = 1
#endif
	:: empty(queue) -> break
	od;
	i = 0
}

/* ---- The mutex ----------------------------------------------------------- */

#define UNLOCKED ((owner == NOBODY || orphaned) && !lost)

inline lock() {
	died = orphaned;
	orphaned = 0;
	owner = me
}

/* EOWNERDEAD: makes it consistent and wakes all; or else gives it up. */
inline told() {
	died = 0;
	if
	:: true -> noted = (WAITED -> ALL : 0)
#ifdef LOSE
	:: true ->
		lost = 1;
		owner = NOBODY;
		for (i : 0 .. W - 1) {
			asleep[i] = (asleep[i] == ON_MUTEX -> AWAKE : asleep[i])
		}
		i = 0;
		goto end
#endif
	fi
}

/* ---- Signalling ---------------------------------------------------------- */

inline next_epoch() {
#ifndef NOEPOCH
	epoch++;
#endif
	number = 0;
	parked = 0;
	due = 0;
	WAITED = 0
}

/* What was parked > due becomes due: up to n. */
inline issue(n) {
	TOUCH;
	woke = (parked - due < n -> parked - due : n);
	if
	:: woke > 0 ->
		due = due + woke;
		number++;
		issued = issued + woke
	:: else
	fi;
	check()
}

inline r1() {
	atomic {
		ask(noted);
		issue(noted);
		DIE
	}
}

inline r2() {
	if
	:: atomic {
		parked == 0 ->
		ask(ALL);
		TOUCH
	}
	:: atomic {
		parked > 0 ->
		ask(ALL);
		TOUCH;
		next_epoch();
		check();
		DIE
	}
	atomic {
		requeue();
		DIE
	}
	atomic {
		WAITERS = WAITERS | moved;
		moved = 0;
		DIE
	}
	fi
}

inline r3() {
	atomic {
		signals++;
		other = 0;
		publish = 0;
		DIE
	}
}

/* r1 or r2 */
inline deliver() {
	if
	:: noted == 0
	:: noted == ALL ->
		publish = 1;
		r2();
		noted = 0
	:: noted != 0 && noted != ALL ->
		publish = 1;
		r1();
		noted = 0
	fi
}

/* r3 to r5; last: nobody will use the condition again. */
inline release(last) {
#ifdef LATE
	publish = publish || noted != 0;
#endif
#ifndef SWAPPED
	if
	:: publish -> r3()
	:: else
	fi;
#endif
	atomic {
		destroyed = destroyed || (last);
		wakes = WAITERS;
		WAITERS = 0;
		owner = NOBODY;
		DIE
	}
#ifdef SWAPPED
	if
	:: publish -> r3()
	:: else
	fi;
#endif
#ifdef LATE
	deliver();
	publish = 0;
#endif
	if
	:: wakes -> wakes = 0; unpark_mutex()
	:: else
	fi;
	if
#ifdef NOWAKE
	:: woke > 0 -> atomic { issued = issued - woke; woke = 0 }
#else
	:: woke > 0 -> atomic { DIE } unpark_cond(woke)
#endif
	:: else
	fi
}

/* ---- Waiting ------------------------------------------------------------- */

/* w9; taken: a wake was due. */
inline unmark() {
	if
	:: is_marked[me] && SAME_EPOCH(me) && parked > 0 ->
		TOUCH;
#ifdef NOTAKE
		taken = due > 0 && number != marked[me];
#else
		taken = due > 0 && (woken[me] || number != marked[me]);
#endif
		parked--;
		if
		:: taken || due > parked -> due--
		:: else
		fi
	:: is_marked[me] && !(SAME_EPOCH(me) && parked > 0) ->
		taken = 1
	:: else
	fi;
	is_marked[me] = 0;
	woken[me] = 0;
	marked[me] = 0;
	seen[me] = 0;
	seen_epoch[me] = 0;
	check()
}

/* The end of a slice would find something. */
#define FINDS \
	(SLICES && (!SAME_EPOCH(me) || seen[me] != number || orphaned || \
		    lost || (marked[me] != number && due > 0)))
#ifdef NODUE
#define DUE false
#elif defined SLOW
#define DUE (number != seen[me])
#else
#define DUE (number != marked[me] && due > 0)
#endif

/* All is made and taken, so that one may stay parked for ever. */
#define REST (made == MAKE && (items == 0 || BY_TURNS) && !lost)

proctype waiter(byte me) {
	byte i, noted, woke, s;
	bit publish, wakes, moved, died, late, slice, taken, requeued;

	if
	:: lost -> goto end
	:: atomic {
		UNLOCKED ->
		lock()
	}
	fi;
again:
	atomic {
		if
		:: died -> late = 0; told()
		:: else
		fi;
		if
		:: own > 0 && WAITED && noted == 0 ->
			own--;
			noted = 1
		:: true
		fi;
		if
		:: late -> goto leave			/* ETIMEDOUT */
		:: !late && items > 0 && !BY_TURNS ->
			items--;
			DIE;
			goto leave
		:: else
		fi
	}
	deliver();					/* w1 */
	atomic {					/* w2 */
		TOUCH;
		WAITED = 1;
		seen_epoch[me] = epoch;
		seen[me] = number;
		s = signals + publish;
		blocks();
		DIE
	}
	release(0);					/* w3 */
	atomic {					/* w4 */
		TOUCH;
		if
		:: SIGNALLED || !SAME_EPOCH(me) || seen[me] != number ->
			s = 0;
			leaves();
			goto w8
		:: signals != s && !SIGNALLED -> s = signals
		:: orphaned || lost -> s = 0; goto w8
		:: true
		fi
	}
	atomic {					/* w5 */
		TOUCH;
		if
		:: !SAME_EPOCH(me) || seen[me] != number ->
			s = 0;
			leaves();
			goto w8
		:: else
		fi;
		parked++;
		is_marked[me] = 1;
		marked[me] = number;
		check();
		DIE
	}
#ifndef NORECHECK
#ifndef NOLOCK
	if						/* w6 */
	:: owner != NOBODY || lost -> goto w6
	:: owner == NOBODY && !lost
	fi;
#endif
	atomic {
		if
		:: SIGNALLED ->
			s = 0;
			leaves();
			goto w8
		:: else ->
			s = 0;
			goto w7
		fi
	}
w6:
	if
	:: atomic {
		UNLOCKED ->
		lock();
		DIE
	}
	:: atomic {
		lost ->
		s = 0;
		goto w9
	}
	:: atomic {
		kills[0] > 0 ->
		kills[0]--;
		goto dead
	}
	fi;
	atomic {
		if
		:: died || SIGNALLED ->
			s = 0;
			leaves();
			goto w9
		:: else -> s = 0
		fi
	}
	release(0);
#endif
w7:
	atomic {
		if
		:: SAME_EPOCH(me) && seen[me] == number ->
			asleep[me] = ON_COND;
#ifdef ANYORDER
			queue!!me;
#else
			queue!me;
#endif
			check()
		:: !SAME_EPOCH(me) || seen[me] != number ->
			goto found
		:: me < DEADLINES ->
			late = 1;
			goto found
		fi
	}
	if
	:: atomic {
		asleep[me] == AWAKE ->
		skip
	}
	:: atomic {
		asleep[me] != AWAKE && FINDS ->
		wake(me);
		slice = 1
	}
	:: atomic {
		asleep[me] != AWAKE && me < DEADLINES ->
		wake(me);
		late = 1
	}
	:: atomic {
		asleep[me] != AWAKE && kills[0] > 0 ->
		kills[0]--;
		goto dead
	}
	:: timeout && REST ->
		check_asked();
		goto end
	fi;
found:
	atomic {
		TOUCH;
		if
		:: !SAME_EPOCH(me) ->
			is_marked[me] = 0;
			woken[me] = 0;
			requeued = 1;
			late = 0
		:: SAME_EPOCH(me) && late
		:: SAME_EPOCH(me) && !late && !slice ->
#ifdef NOLEAVE
			if
			:: seen[me] == number -> woken[me] = 0; goto w7
			:: else
			fi;
#endif
			woken[me] = 1
		:: SAME_EPOCH(me) && slice && DUE -> assert(due > 0)
		:: SAME_EPOCH(me) && slice && !DUE ->
			if
			:: orphaned || lost
			:: else ->
				slice = 0;
				seen[me] = number;
				goto w7
			fi
		fi;
		slice = 0;
		if
		:: !late -> leaves()
		:: else
		fi
	}
w8:
#ifdef EARLY
	atomic {
		unmark();
		DIE
	}
#endif
	if
	:: atomic {
		UNLOCKED ->
		lock();
		WAITERS = WAITERS | requeued;
		requeued = 0;
		DIE
	}
	:: lost
	:: atomic {
		kills[0] > 0 ->
		kills[0]--;
		goto dead
	}
	fi;
w9:
	atomic {
		unmark();
		if
		:: late && taken -> late = 0; leaves()
		:: late && !taken -> times_out()
		:: else
		fi;
		taken = 0;
		if
		:: owner != me -> goto end		/* ENOTRECOVERABLE */
		:: else
		fi;
		DIE
	}
#ifdef G08
	late = 0;
	goto leave;
#endif
	goto again;

leave:
	deliver();
	atomic {
		late = 0;
		leavers++
	}
	release(leavers == W && made == MAKE && DESTROYS);
	goto end;

dead:
	atomic {
		wake(me);
		if
		:: owner == me -> orphaned = 1
		:: else
		fi;
		is_marked[me] = 0;
		woken[me] = 0;
		marked[me] = 0;
		seen[me] = 0;
		seen_epoch[me] = 0;
		s = 0;
		noted = 0;
		publish = 0;
		woke = 0;
		wakes = 0;
		moved = 0;
		died = 0;
		late = 0;
		slice = 0;
		taken = 0;
		requeued = 0
	}
end:
	skip
}

/* ---- Those who signal ---------------------------------------------------- */

/* As often as it is killed another takes its place. */
proctype signaller(byte me) {
	byte i, noted, woke, naked;
	bit publish, wakes, moved, died;

again:
	if
	:: naked == 0 || !WAITED -> naked = 0
	:: naked != 0 && WAITED ->
		if
		:: atomic {
			naked != ALL ->
			ask(1);
			TOUCH;
			number++;
			if
			:: parked > due ->
				due++;
				issued++;
				woke = 1
			:: else
			fi;
			check();
			naked = 0;
			DIE
		}
		:: atomic {
			naked == ALL ->
			ask(ALL);
			TOUCH;
			woke = (parked > 0 -> ALL : 0);
			next_epoch();
			check();
			naked = 0;
			DIE
		}
		fi;
		if
		:: woke != 0 -> unpark_cond(woke)
		:: else
		fi
	fi;
	if
	:: lost -> goto end
	:: atomic {
		UNLOCKED ->
		lock();
		if
		:: died -> told()
		:: else
		fi;
		if
		:: made == MAKE -> goto leave
		:: else
		fi;
		made++;
		items++;
		if
		:: KINDS & SIGNAL ->
			noted = (WAITED && noted == 0 -> 1 : noted)
		:: KINDS & BROADCAST ->
			noted = (WAITED -> ALL : noted)
		:: KINDS & NAKED -> naked = 1
		:: KINDS & NAKED_BROADCAST -> naked = ALL
		:: KINDS & TWO && made < MAKE ->
			made++;
			items++;
			noted = (WAITED && noted == 0 -> 2 : noted)
		fi;
		DIE
	}
	fi;
	if
	:: true
	:: noted != 0 && others > 0 ->	/* another condition's follows */
		deliver();
		r3();
		if
		:: woke > 0 -> unpark_cond(woke)
		:: else
		fi;
		atomic {
			others--;
			signals++;
			other = 1;
			DIE
		}
	fi;
#ifndef LATE
	deliver();
#endif
	release(0);
	goto again;

leave:
	deliver();
	release(0);
	goto end;

dead:
	atomic {
		if
		:: owner == me -> orphaned = 1
		:: else
		fi;
		noted = 0;
		publish = 0;
		woke = 0;
		wakes = 0;
		moved = 0;
		died = 0;
		goto again
	}
end:
	skip
}

#if OTHER > 0
/* Signals of another condition that is used with the same mutex. */
proctype another() {
	bit wakes;

end_idle:
	do
	:: others == 0 -> break
	:: atomic {
		others > 0 && UNLOCKED && !orphaned ->
		others--;
		owner = SOMEBODY;
		signals++;
		other = 1
	}
	atomic {
		wakes = WAITERS;
		WAITERS = 0;
		owner = NOBODY
	}
	if
	:: wakes -> wakes = 0; unpark_mutex()
	:: else
	fi
	od
}
#endif

init {
	byte i;

	atomic {
		kills[0] = WKILLS;
		kills[1] = SKILLS;
#if OTHER > 0
		run another();
#endif
		for (i : 0 .. W - 1) {
			run waiter(i)
		}
		for (i : 0 .. S - 1) {
			run signaller(W + i)
		}
		i = 0
	}
}
