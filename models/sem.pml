/* SPDX-License-Identifier: ISC */
/*
 * The semaphore of src/semaphore.c.
 *
 * MODELLED
 *   W waiters wait ROUNDS times each: look, take, mark, park, look again; at
 *   its deadline a waiter gives up.  P posters post POSTS times each, of 1 to
 *   MOST.  Each may be killed after any of its steps.  A waiter that waits for
 *   several objects may leave for another's sake.
 *
 * ABSTRACTED
 *   A look and the swap that takes, or adds, are one step: a swap that fails
 *   changes nothing and looks again.  Spinning is looking.  A kernel wake
 *   reaches any that is parked, and a park that ends by its deadline has used
 *   none.  Memory is sequentially consistent, as are the operations on the
 *   word in C.  A try is a wait that does not park, and not modelled.
 *
 * BOUNDS, each by -D
 *   W ROUNDS P POSTS MOST INITIAL MAXIMUM
 *   DEADLINES waiters, from the first, that have a deadline
 *   ANY       waiters, from the first, that may leave for another object
 *   IDLE      parks that end for no reason
 *   KILLS     processes killed
 *   SLICES    slices that end for each of them, if there is something to take
 *
 * PROPERTIES
 *   No wake is lost: nobody stays parked while there is something to take
 *   (init).  If nobody dies no slice is needed for it; else one for each death.
 *   What was posted is there or has been taken, once; the count stays below
 *   its maximum (check).
 *   After the swap a post does not touch the semaphore: whoever has taken the
 *   last destroys it (TOUCH).
 *
 * MUTATIONS, each by -D, each to be found wrong
 *   NOREMARK       one that has parked takes without setting MARK
 *   NOPASS         one that has parked takes and leaves some, and wakes nobody
 *   NOMARKONGIVEUP one that has parked leaves at its deadline without a mark
 *   NOPASSONLEAVE  one that leaves for another object, and leaves some, wakes
 *                  nobody
 *   NOMARKONLEAVE  one that leaves for another object does so without a mark
 *   BLIND          the mark is set without a comparison, and parked on
 *   WAKEONE        a post of several wakes one, and nobody passes on
 *   NOCOMPARE      a post does not compare the word
 *   TOUCHAFTER     a post looks at the word after its swap
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
#ifndef POSTS
#define POSTS 1
#endif
#ifndef MOST
#define MOST 1
#endif
#ifndef INITIAL
#define INITIAL 0
#endif
#ifndef MAXIMUM
#define MAXIMUM 7
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
#define COUNT(x) ((x) & ~MARK)

#ifdef NOREMARK
#define WAITED 0
#else
#define WAITED (waited -> MARK : 0)
#endif
#if defined NOPASS || defined WAKEONE
#define PASSES false
#else
#define PASSES (waited && COUNT(word) > 0)
#endif
#ifdef WAKEONE
#define WAKES(n) 1
#else
#define WAKES(n) n
#endif

byte word = INITIAL;
bit asleep[W];		/* parked on the word */
byte kills = KILLS;	/* how often each may yet happen */
byte idle = IDLE;
byte slices;

/* Of the model alone. */
byte sum = INITIAL;	/* posted and not taken */
byte users = W * ROUNDS + P * POSTS;	/* how many will yet touch it */
bit destroyed;

#define TOUCH assert(!destroyed)
#define DIE if :: true :: kills > 0 -> goto dead fi

inline check() {
	assert(COUNT(word) == sum && sum <= MAXIMUM)
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
	rounds--;
	users--
}

proctype waiter(byte me) {
	byte v;		/* the word: as seen, as parked on */
	byte n;
	byte rounds = ROUNDS;
	bit waited, late, other;

look:
	atomic {
		TOUCH;
		v = word;
		if
		:: other ->			/* another object's */
#ifndef NOMARKONLEAVE
			word = word | MARK;
#endif
#ifndef NOPASSONLEAVE
			n = (COUNT(v) > 0 -> 1 : 0);
#endif
			leave();
			DIE;
			goto pass
		:: !other && COUNT(v) > 0 ->
			word = (v - 1) | WAITED;
			sum--;
			check();
			leave();
			n = (PASSES -> 1 : 0);
			destroyed = (users == 0);
			DIE;
			goto pass
		:: late && !other && COUNT(v) == 0 ->
			leave();		/* ETIMEDOUT */
			goto left
#ifdef NOMARKONGIVEUP
		:: waited && me < DEADLINES && v == 0 ->
			leave();
			goto left
#endif
		:: !late && !other && v == MARK -> goto park
		:: !late && !other && v == 0
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
		:: asleep[me] && slices > 0 && COUNT(word) > 0 -> slices--
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

proctype poster() {
	byte v, n;
	byte rounds = POSTS;

	do
	:: rounds == 0 -> break
	:: rounds > 0 ->
#ifdef NOCOMPARE
		v = word;
#endif
		atomic {
			TOUCH;
#ifndef NOCOMPARE
			v = word;
#endif
			rounds--;
			users--;
			select (n : 1 .. MOST);
			if
			:: COUNT(v) + n > MAXIMUM -> v = 0	/* EOVERFLOW */
			:: else ->
				word = COUNT(v) + n;
				sum = sum + n;
				check()
			fi;
			DIE
		}
#ifdef TOUCHAFTER
		atomic {
			TOUCH
		}
#endif
		if
		:: v & MARK -> n = WAKES(n); unpark(n)
		:: else -> n = 0
		fi;
		v = 0
	od;
	goto out;

dead:
	atomic {
		v = 0;
		n = 0;
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
			run poster()
		}
		i = 0
	}
	/* When all has come to rest. */
	timeout;
	assert(COUNT(word) == 0 || !(asleep[0]
#if W > 1
	    || asleep[1]
#endif
#if W > 2
	    || asleep[2]
#endif
#if W > 3
	    || asleep[3]
#endif
	    ))
}
