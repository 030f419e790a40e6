/* SPDX-License-Identifier: ISC */
/*
 * The event of src/event.c.
 *
 * MODELLED
 *   W waiters wait ROUNDS times each: look, take if it resets automatically,
 *   mark, park, look again; at its deadline a waiter gives up.  P others set or
 *   reset, CALLS times each.  Each may be killed after any of its steps.  A
 *   waiter that waits for several objects may leave for another's sake.
 *
 * ABSTRACTED
 *   A look and the swap that follows are one step: a swap that fails changes
 *   nothing and looks again.  A wait begins with its first look.  Spinning is
 *   looking.  A kernel wake of one reaches any that is parked, and a park that
 *   ends by its deadline has used none.  The generation does not wrap.  Memory
 *   is sequentially consistent, as are the operations on the word in C.  A try
 *   is a wait that does not park, and not modelled.
 *
 * BOUNDS, each by -D
 *   W ROUNDS P CALLS
 *   MANUAL    it is reset by hand, not automatically
 *   RESETS    calls that may be resets
 *   DEADLINES waiters, from the first, that have a deadline
 *   ANY       waiters, from the first, that may leave for another object
 *   IDLE      parks that end for no reason
 *   KILLS     processes killed
 *   SLICES    slices that end for each of them, if there is something to find
 *
 * PROPERTIES
 *   No wake is lost: nobody stays parked while it is set (init).  If nobody
 *   dies no slice is needed for it; else one for each death, and with MANUAL
 *   one for each waiter.
 *   Automatic: each time that it becomes set ends one wait, or is reset
 *   (check).  After the exchange a set does not touch the event: whoever has
 *   been let through last destroys it (TOUCH).
 *   MANUAL: a set ends all waits that began before it, also if a reset follows
 *   at once, and also at the deadline (set_before); no wait ends unless it has
 *   been set meanwhile (was_set).
 *
 * MUTATIONS, each by -D, each to be found wrong
 *   NOREMARK       one that has parked takes without setting MARK
 *   NOMARKONGIVEUP one that has parked leaves at its deadline without a mark
 *   NOPASSONLEAVE  one that leaves for another object, and leaves it set, wakes
 *                  nobody
 *   NOMARKONLEAVE  one that leaves for another object does so without a mark
 *   RESETDROPS     a reset clears MARK
 *   BLIND          the mark is set without a comparison, and parked on
 *   NOCOMPARE      a wait does not compare the word when it takes
 *   TOUCHAFTER     a set looks at the word after its exchange
 *   with MANUAL
 *   NOGENERATION   a wait looks at SET alone
 *   NOLASTLOOK     a wait does not look again at its deadline
 *   WAKEONE        a set wakes one
 *   RESETDROPS, BLIND
 */
#ifndef W
#define W 2
#endif
#if W > 4
#error "at most 4 waiters"
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef P
#define P 1
#endif
#ifndef CALLS
#define CALLS 1
#endif
#ifndef RESETS
#define RESETS 0
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

#define MARK 128
#define SET 64
#define GENERATION 63
#define ALL 255

#ifdef NOREMARK
#define WAITED 0
#else
#define WAITED (waited -> MARK : 0)
#endif
#if !defined MANUAL || defined NOGENERATION
#define MOVED(x) false
#else
#define MOVED(x) (((x) & GENERATION) != began)
#endif
#define NOT_YET(x) (!((x) & SET) && !MOVED(x))
#if defined MANUAL && !defined WAKEONE
#define WOKEN ALL
#else
#define WOKEN 1
#endif
#ifdef RESETDROPS
#define KEPT GENERATION
#else
#define KEPT (GENERATION | MARK)
#endif

byte word;
bit asleep[W];		/* parked on the word */
byte resets = RESETS;	/* how often each may yet happen */
byte kills = KILLS;
byte idle = IDLE;
byte slices;

/* Of the model alone. */
byte states;		/* how often it became set, and has not been taken */
bit waiting[W];		/* a wait has begun */
bit set_before[W];	/* a set came after the wait began */
bit was_set[W];		/* it has been set at some time during the wait */
byte users = W * ROUNDS + P * CALLS;	/* how many will yet touch it */
bit destroyed;

#ifdef MANUAL
#define TOUCH skip
#else
#define TOUCH assert(!destroyed)
#endif
#define DIE if :: true :: kills > 0 -> goto dead fi

inline check() {
	assert(states == (word & SET) / SET)
}

inline dies() {
	kills--;
	slices = slices + SLICES;
	users = users - rounds;
	rounds = 0
}

inline unpark(n) {
	atomic {
		do
		:: n > 0 && asleep[0] -> asleep[0] = 0; n--
#if W > 1
		:: n > 0 && asleep[1] -> asleep[1] = 0; n--
#endif
#if W > 2
		:: n > 0 && asleep[2] -> asleep[2] = 0; n--
#endif
#if W > 3
		:: n > 0 && asleep[3] -> asleep[3] = 0; n--
#endif
		:: else -> break
		od;
		n = 0
	}
}

/* The last touch of this round. */
inline leave() {
	waiting[me] = 0;
	began = 0;
	set_before[me] = 0;
	was_set[me] = 0;
	rounds--;
	users--
}

proctype waiter(byte me) {
	byte v;		/* the word: as seen, as parked on */
	byte n;
	byte began;	/* the generation at the beginning */
	byte rounds = ROUNDS;
	bit waited, late, other;

look:
	atomic {
		TOUCH;
		v = word;
		if
		:: !waiting[me] ->
			waiting[me] = 1;
			was_set[me] = ((v & SET) != 0);
#ifdef MANUAL
			began = v & GENERATION
#endif
		:: else
		fi;
#ifdef NOCOMPARE
	}
	atomic {
#endif
		if
#ifdef NOLASTLOOK
		:: late ->
			assert(!set_before[me]);
			leave();
			goto left
#endif
#ifdef MANUAL
		:: other ->			/* another object's */
			leave();
			goto left
		:: !other && !NOT_YET(v) ->
			assert(was_set[me]);
			leave();
			goto left
		:: late && !other && NOT_YET(v) ->
			assert(!set_before[me]);
			leave();		/* ETIMEDOUT */
			goto left
#else
		:: !other && v & SET ->
			word = (word & ~SET) | WAITED;
			states--;
			check();
			leave();
			destroyed = (users == 0);
			DIE;
			goto left
		:: other ->			/* another object's */
#ifndef NOMARKONLEAVE
			word = word | MARK;
#endif
#ifndef NOPASSONLEAVE
			n = (v & SET -> 1 : 0);
#endif
			leave();
			DIE;
			goto pass
		:: late && !other && !(v & SET) ->
			leave();		/* ETIMEDOUT */
			goto left
#ifdef NOMARKONGIVEUP
		:: waited && me < DEADLINES && v == 0 ->
			leave();
			goto left
#endif
#endif
		:: !late && !other && NOT_YET(v) && v & MARK -> goto park
		:: !late && !other && NOT_YET(v) && !(v & MARK)
		fi
	}
	atomic {				/* mark */
		TOUCH;
#ifndef BLIND
		if
		:: word != v -> goto look
		:: else
		fi;
#endif
		word = word | MARK;
		v = word;
		DIE
	}
park:
	atomic {
		if
		:: word == v -> asleep[me] = 1
		:: word != v -> goto look
		:: word != v -> waited = 1; goto look
		:: me < DEADLINES -> late = 1; waited = 1; goto look
		:: me < ANY -> other = 1; goto look
		fi
	}
end_parked:
	atomic {
		if
		:: !asleep[me]
		:: !asleep[me] && me < ANY -> other = 1
		:: asleep[me] && me < ANY -> other = 1
		:: asleep[me] && me < DEADLINES -> late = 1
		:: asleep[me] && idle > 0 -> idle--
		:: asleep[me] && slices > 0 && !NOT_YET(word) -> slices--
		:: kills > 0 -> goto dead
		fi;
		asleep[me] = 0;
		waited = 1;
		goto look
	}

pass:
	if
	:: n > 0 -> unpark(n)
	:: else
	fi;
left:
	atomic {
		v = 0;
		waited = 0;
		late = 0;
		other = 0;
		if
		:: rounds > 0 -> goto look
		:: else -> goto out
		fi
	}

dead:
	atomic {
		asleep[me] = 0;
		set_before[me] = 0;
		was_set[me] = 0;
		began = 0;
		waiting[me] = 0;
		waited = 0;
		late = 0;
		other = 0;
		v = 0;
		n = 0;
		dies()
	}
out:
	skip
}

inline all_set() {
#ifdef MANUAL
	for (i : 0 .. W - 1) {
		set_before[i] = waiting[i];
		was_set[i] = was_set[i] || waiting[i]
	}
	i = 0
#else
	skip
#endif
}

proctype setter() {
	byte v, n, i;
	byte rounds = CALLS;

	do
	:: rounds == 0 -> break
	:: atomic {
		rounds > 0 && resets > 0 ->		/* reset */
		TOUCH;
		resets--;
		rounds--;
		users--;
		states = 0;
		word = word & KEPT;
		check();
		DIE
	}
	:: atomic {
		rounds > 0 ->				/* set */
		TOUCH;
		rounds--;
		users--;
		v = word;
		all_set();
		if
		:: v & SET
		:: else ->
			states++;
#ifdef MANUAL
			word = SET | ((v & GENERATION) + 1)
#else
			word = SET
#endif
		fi;
		check();
		DIE
	}
#ifdef TOUCHAFTER
	atomic {
		TOUCH
	}
#endif
	if
	:: v & MARK -> n = WOKEN; unpark(n)
	:: else
	fi;
	v = 0
	od;
	goto out;

dead:
	atomic {
		v = 0;
		dies()
	}
out:
	skip
}

#if W == 1
#define ANYBODY(A) A(0)
#elif W == 2
#define ANYBODY(A) (A(0) || A(1))
#elif W == 3
#define ANYBODY(A) (A(0) || A(1) || A(2))
#else
#define ANYBODY(A) (A(0) || A(1) || A(2) || A(3))
#endif
#define ASLEEP(i) asleep[i]
#define FORGOTTEN(i) (asleep[i] && set_before[i])

init {
	byte i;

	atomic {
		for (i : 0 .. W - 1) {
			run waiter(i)
		}
		for (i : 1 .. P) {
			run setter()
		}
		i = 0
	}
	/* When all has come to rest. */
	timeout;
	assert(!(word & SET) || !ANYBODY(ASLEEP));
	assert(!ANYBODY(FORGOTTEN))
}
