/* SPDX-License-Identifier: ISC */
/*
 * The barrier of src/barrier.c, whose names are used here.
 *
 * MODELLED
 *   P parties, one process each, wait ROUNDS times for each other: join,
 *   arrive, look, mark, park, look again; at its deadline a wait withdraws, and
 *   the process waits once more.  One that finds a known process dead breaks
 *   the barrier.  A process may be killed after any step.
 *
 * ABSTRACTED
 *   A look and the swap that follows are one step: a swap that fails changes
 *   nothing and looks again.  Spinning is looking.  A slice ends only if its
 *   waiter can then find something.  A life byte is its process's, or is
 *   taken by any number who ask; asking may fail for no reason, which is never
 *   taken for dead.  The kernel frees a
 *   dead process's own byte first, then the byte that it had taken to ask.
 *   Generations do not go round; tokens are not drawn again, and there is room
 *   for all.  Memory is sequentially consistent, as are the operations on the
 *   state in C.
 *
 * BOUNDS, each by -D
 *   P ROUNDS
 *   KILLS      processes killed after any step, once they are known
 *   WORKKILLS  processes killed between two waits
 *   DEADLINES  processes, from the first, that have a deadline once
 *   SLICES     1: a slice ends when a known process has died; 2: and when the
 *              state has changed without a wake.  Without it no slice ends.
 *
 * PROPERTIES
 *   Nobody returns 0 from its n-th wait, of those that did not time out, before
 *   all have begun theirs, and one of them is told that it was last (leave).
 *   EOWNERDEAD only if a process has died and not all have come, and then for
 *   ever (broken, arrive).
 *   No wake is lost: nobody stays parked (end states); without slices if nobody
 *   dies; with slices that look after the dead only if those die who do not
 *   wait; with SLICES=2 whoever dies.
 *
 * MUTATIONS, each by -D, each to be found wrong
 *   NOMARK      waiters park without a mark
 *   BLIND       the mark does not compare
 *   WAKEONE     the last to come wakes one
 *   LOSTMARK    who comes and is not the last drops the mark
 *   WITHDRAW    withdrawing does not compare the generation
 *   BROKENFIRST a look finds BROKEN before the generation
 *   BREAKLATE   breaking does not compare the generation
 *   MENDED      who comes does not look at BROKEN
 *   NOASK       nobody asks after the others
 */
#ifndef P
#define P 2
#endif
#if P > 4
#error "at most 4 parties"
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef KILLS
#define KILLS 0
#endif
#ifndef WORKKILLS
#define WORKKILLS 0
#endif
#ifndef DEADLINES
#define DEADLINES 0
#endif
#ifndef SLICES
#define SLICES 0
#endif

/* The state, one atomic; what waiters park on is all but arrived. */
byte generation, arrived;
bit MARK, BROKEN;

bit known[P];		/* has a token in the barrier */
byte taken[P];		/* the life bytes: LIVES, or how many ask */
bit asleep[P];
byte kills = KILLS;
byte workkills = WORKKILLS;

/* Of the model alone. */
byte begun[P];		/* waits, those that timed out not counted */
byte lasts;		/* how often one was told that it was last */
bit died, broke;

#define NOBODY P
#define LIVES 100
#define DIE if :: true :: kills > 0 -> kills--; goto dead fi

#ifdef NOASK
#define FOUND(i) false
#else
#define FOUND(i) (known[i] && taken[i] < LIVES)
#endif
#define BEGUN(i) (begun[i] >= begun[me])
#if P == 2
#define ANY(X) (X(0) || X(1))
#define ALL(X) (X(0) && X(1))
#elif P == 3
#define ANY(X) (X(0) || X(1) || X(2))
#define ALL(X) (X(0) && X(1) && X(2))
#else
#define ANY(X) (X(0) || X(1) || X(2) || X(3))
#define ALL(X) (X(0) && X(1) && X(2) && X(3))
#endif
#define FINDS \
	((SLICES > 1 && (generation != g || BROKEN)) || \
	 (SLICES > 0 && ANY(FOUND)))

inline unpark_all() {
	atomic {
		for (i : 0 .. P - 1) {
			asleep[i] = 0;
#ifdef WAKEONE
			if
			:: !BROKEN && i != me -> break
			:: else
			fi
#endif
		}
		i = 0
	}
}

/* A wait returns 0. */
inline leave() {
	assert(ALL(BEGUN) && lasts >= begun[me])
}

/* One that has come returns EOWNERDEAD. */
inline broken() {
	assert(died && !ALL(BEGUN));
	broke = 1
}

proctype party(byte me) {
	byte i;
	byte g;			/* the generation that is waited for to end */
	byte rounds = ROUNDS;
	byte asked = NOBODY;	/* whose life byte we have taken */
	bit parked, late, wakes;
	bit patient = me >= DEADLINES;

	atomic {					/* join */
		known[me] = 1;
		DIE
	}
arrive:
	atomic {
		if
		:: workkills > 0 -> workkills--; goto dead
		:: true
		fi;
		assert(BROKEN || !broke);
#ifndef MENDED
		if
		:: BROKEN -> goto left			/* EOWNERDEAD */
		:: else
		fi;
#endif
		begun[me]++;
		g = generation;
		arrived++;
		if
		:: arrived >= P ->
			wakes = MARK;
			MARK = 0;
			BROKEN = 0;
			generation++;
			arrived = 0;
			lasts++;
			assert(lasts == begun[me])
		:: else ->
#ifdef LOSTMARK
			MARK = 0;
#endif
			skip
		fi;
		DIE;
		if
		:: generation == g -> goto look
		:: else
		fi
	}
	if
	:: wakes -> wakes = 0; unpark_all()
	:: !wakes
	fi;
	atomic {
		leave();
		goto left
	}

look:
	atomic {
		if
#ifdef BROKENFIRST
		:: BROKEN -> broken(); goto left
		:: !BROKEN && generation != g -> leave(); goto left
#else
		:: generation != g -> leave(); goto left
		:: generation == g && BROKEN -> broken(); goto left
#endif
		:: generation == g && !BROKEN && late -> goto withdraw
		:: generation == g && !BROKEN && !late && !parked -> goto ask
		:: generation == g && !BROKEN && !late && parked
		fi
	}
mark:
	atomic {
#ifndef BLIND
		if
		:: generation != g || BROKEN -> goto look
		:: else
		fi;
#endif
#ifndef NOMARK
		MARK = 1;
#endif
		DIE
	}
	atomic {					/* park */
		parked = 1;
		if
#ifdef BLIND
		:: true -> asleep[me] = 1
#else
		:: generation == g && !BROKEN -> asleep[me] = 1
		:: generation != g || BROKEN -> goto look
#endif
		:: !patient -> patient = 1; late = 1; goto look
		fi
	}
	if
	:: atomic {
		!asleep[me] ->
		goto look
	}
	:: atomic {
		asleep[me] && FINDS ->
		asleep[me] = 0;
		goto ask
	}
	:: atomic {
		asleep[me] && !patient ->
		asleep[me] = 0;
		patient = 1;
		late = 1;
		goto look
	}
	:: atomic {
		asleep[me] && kills > 0 ->
		asleep[me] = 0;
		kills--;
		goto dead
	}
	fi;

ask:
	if
	:: atomic {
		ANY(FOUND) ->
		if
		:: FOUND(0) -> asked = 0
		:: FOUND(1) -> asked = 1
#if P > 2
		:: FOUND(2) -> asked = 2
#endif
#if P > 3
		:: FOUND(3) -> asked = 3
#endif
		fi;
		taken[asked]++;
		DIE
	}
	:: atomic {
		true ->				/* all live, or who knows */
		if
		:: parked -> goto look
		:: !parked -> goto mark
		fi
	}
	fi;
	atomic {					/* break_it */
		if
#ifdef BREAKLATE
		:: !BROKEN ->
#else
		:: generation == g && !BROKEN ->
#endif
			BROKEN = 1;
			wakes = MARK;
			MARK = 0;
			broken();
			DIE
		:: else ->
			taken[asked]--;
			asked = NOBODY;
			DIE;
			goto look
		fi
	}
	if
	:: wakes -> wakes = 0; unpark_all()
	:: !wakes
	fi;
	atomic {
		taken[asked]--;
		asked = NOBODY;
		DIE;
		goto left
	}

withdraw:
	atomic {
		if
#ifdef WITHDRAW
		:: true ->
#else
		:: generation != g || BROKEN -> goto look
		:: generation == g && !BROKEN ->
#endif
			arrived--;
			begun[me]--;			/* ETIMEDOUT */
			DIE;
			rounds++
		fi
	}

left:
	atomic {
		g = 0;
		parked = 0;
		late = 0;
		DIE;
		rounds--;
		if
		:: rounds > 0 -> goto arrive
		:: else -> goto out
		fi
	}

dead:
	atomic {
		died = 1;
		g = 0;
		rounds = 0;
		parked = 0;
		late = 0;
		wakes = 0;
		patient = 1
	}
out:
	taken[me] = 0;
	atomic {
		if
		:: asked != NOBODY -> taken[asked]--
		:: else
		fi;
		asked = NOBODY
	}
}

init {
	byte i;

	atomic {
		for (i : 0 .. P - 1) {
			taken[i] = LIVES;
			run party(i)
		}
		i = 0
	}
}
