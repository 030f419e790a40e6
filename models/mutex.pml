/* SPDX-License-Identifier: ISC */
/*
 * The mutex of src/mutex.c, whose names are used here.
 *
 * MODELLED
 *   P processes of one thread each, with the tokens 1 to P.  Each locks ROUNDS
 *   times, the first one FIRST times: look, recover, mark, park, look again;
 *   at its deadline it gives up.  One that finds it held may ask for its turn
 *   (starved), and the next unlock leaves RESERVED, which one that has neither
 *   parked nor asked leaves alone for a while.  The lock is given back by unlock, or its
 *   thread ends with it (GONE).  Who was told EOWNERDEAD calls consistent or
 *   not.  A process may leave between two locks; then the next one draws the
 *   same token.  It may be killed after any step.
 *
 * ABSTRACTED
 *   A look and the swap that takes what is free are one step: a swap that
 *   fails changes nothing and looks again.  Spinning is looking, and now and
 *   then asking whether the owner lives.  A kernel wake reaches any that is
 *   parked.  A life byte is its process's, or is taken by any number who ask;
 *   asking may fail for no reason, which is never taken for dead.  The kernel
 *   frees a dead process's own byte first, then the one it had taken to ask.
 *   Memory is sequentially consistent, as are the operations on the word in C.
 *   A try is a lock that does not park, and not modelled; nor are several
 *   threads of one process that hold or wait at once, nor a token drawn again
 *   while a mutex is left by a death under it.
 *
 * BOUNDS, each by -D
 *   P ROUNDS FIRST
 *   KILLS      processes killed after any step
 *   OWNERKILLS processes killed while they hold the mutex
 *   ENDS       threads that end while they hold it
 *   LEAVES     processes that leave, and another comes with the same token
 *   DEADLINES  processes, from the first, that have a deadline
 *   ASKS       how often one asks for its turn
 *   SLICES     1: a slice ends when an owner has died; 2: and when the word
 *              has changed without a wake; 3: at any time, and parks return
 *              for no reason.  Without it no slice ends.  The while for which
 *              RESERVED is left alone always does, at any time.
 *
 * PROPERTIES
 *   One holder at a time; a living one is never robbed (acquire).
 *   Each death of an owner is told once, to the next owner (acquire, init).
 *   What has become DEAD is never held again (acquire).
 *   Of two, who has left RESERVED does not get it before the other, unless
 *   the while has passed, or its deadline (take_reserved).
 *   After the exchange in unlock the mutex is not touched: whoever has used it
 *   last destroys it (TOUCH).
 *   No wake is lost: nobody stays parked (end states).  Without deaths this
 *   holds without slices; when owners die, with slices that look after owners
 *   only; when anybody dies at any step, with SLICES=2.
 *
 * MUTATIONS, each by -D, each to be found wrong
 *   NOREMARK       one that has parked locks without setting WAITERS
 *   NOMARKONGIVEUP one that has parked leaves at its deadline without a mark
 *   CLEARNOWAKE    unlock clears WAITERS and wakes nobody
 *   NOWAKEDEAD     unlock to DEAD wakes only if WAITERS is set
 *   NOCOMPARE      recovery does not compare the word once it has the byte
 *   NOBYTE         recovery looks at the byte without taking it
 *   LOSTMARK       recovery drops WAITERS
 *   TOUCHAFTER     unlock looks at the word after its exchange
 *   NOWHILE        one that may not take RESERVED leaves it alone for ever
 *   ANYONE         RESERVED is taken by anybody
 *   RESERVEDEAD    unlock to DEAD leaves RESERVED if it was asked to
 *   RESERVEDOWNER  recovery asks for the life byte of RESERVED
 */
#ifndef P
#define P 2
#endif
#if P > 4
#error "at most 4 processes"
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef FIRST
#define FIRST ROUNDS
#endif
#ifndef KILLS
#define KILLS 0
#endif
#ifndef OWNERKILLS
#define OWNERKILLS 0
#endif
#ifndef ENDS
#define ENDS 0
#endif
#ifndef LEAVES
#define LEAVES 0
#endif
#ifndef DEADLINES
#define DEADLINES 0
#endif
#ifndef ASKS
#define ASKS 0
#endif
#ifndef SLICES
#define SLICES 0
#endif

#define OWNER(x) ((x) & 7)
#define RESERVED 6
#define GONE 7
#define DEAD 8
#define WAITERS 16
#define TOKEN (me + 1)

#ifdef NOREMARK
#define WAITED 0
#else
#define WAITED (waited -> WAITERS : 0)
#endif
#ifdef LOSTMARK
#define KEPT 0
#else
#define KEPT WAITERS
#endif
#ifdef ANYONE
#define MAY_TAKE true
#else
#define MAY_TAKE (waited || wants)
#endif
#ifdef NOWHILE
#define WHILE false
#else
#define WHILE (OWNER(v) == RESERVED)
#endif
#ifdef RESERVEDOWNER
#define HAS_OWNER true
#else
#define HAS_OWNER (OWNER(v) != RESERVED)
#endif

byte word;
bit starved;		/* somebody asks for its turn */
byte taken[GONE];	/* the life bytes, by token: LIVES, or how many ask */
bit asleep[P];		/* parked on the word */
byte kills = KILLS;	/* how often each may yet happen */
byte ownerkills = OWNERKILLS;
byte ends = ENDS;
byte leaves = LEAVES;
byte asks = ASKS;

/* Of the model alone. */
byte holder;		/* its token, while it lives */
bit owed;		/* an owner has died, and nobody has been told */
bit lost;		/* it is not recoverable */
byte reserver;		/* who has left RESERVED */
byte users = P;		/* how many will yet touch the mutex */
bit destroyed;

#define TOUCH assert(!destroyed)
#define LIVES 100
#define DIE if :: true :: kills > 0 -> kills--; goto dead fi

/* What the end of a slice can find, for one that is parked on v. */
#define ORPHANED \
	(OWNER(word) != 0 && OWNER(word) < RESERVED && taken[OWNER(word)] < LIVES)
#define FINDS \
	(SLICES > 2 || (SLICES > 1 && word != v) || (SLICES > 0 && ORPHANED))

inline unpark_one() {
	atomic {
		if
		:: asleep[0] -> asleep[0] = 0
#if P > 1
		:: asleep[1] -> asleep[1] = 0
#endif
#if P > 2
		:: asleep[2] -> asleep[2] = 0
#endif
#if P > 3
		:: asleep[3] -> asleep[3] = 0
#endif
		:: else
		fi
	}
}

inline unpark_all() {
	atomic {
		for (i : 0 .. P - 1) {
			asleep[i] = 0
		}
		i = 0
	}
}

/* The word has just become ours; told: with EOWNERDEAD. */
inline acquire(told) {
	assert(holder == 0 && !lost);
	assert(owed == told);
	owed = 0;
	holder = TOKEN
}

inline take_reserved() {
	assert(P > 2 || reserver != TOKEN || passed || late);
	reserver = 0;
	word = TOKEN | (v & WAITERS) | WAITED;
	acquire(0)
}

/* The owner is no more. */
inline lose() {
	assert(holder == TOKEN && !owed);
	owed = 1;
	holder = 0
}

/* The last touch of this round. */
inline leave() {
	rounds--;
	if
	:: rounds == 0 -> users--
	:: else
	fi
}

proctype process(byte me) {
	byte i;
	byte v;		/* the word: as seen, as parked on, as left */
	byte asked;	/* the token whose life byte we have taken */
	byte rounds = (me == 0 -> FIRST : ROUNDS);
	bit waited, wants, late;
	bit reserves;
	bit passed;	/* the while for which it leaves RESERVED alone */

look:
	atomic {
		TOUCH;
		v = word;
		if
		:: OWNER(v) == 0 && v & DEAD ->
			leave();			/* ENOTRECOVERABLE */
			goto left
		:: OWNER(v) == 0 && !(v & DEAD) ->
			word = TOKEN | (v & WAITERS) | WAITED;
			acquire(0);
			DIE;
			goto held
		:: OWNER(v) == GONE ->
			word = TOKEN | DEAD | (v & WAITERS) | WAITED;
			acquire(1);
			DIE;
			goto held
		:: OWNER(v) == RESERVED && MAY_TAKE ->
			take_reserved();
			DIE;
			goto held
		:: else
		fi;
		if
		:: late && v & WAITERS -> goto gives_up
#ifdef NOMARKONGIVEUP
		:: waited && me < DEADLINES ->
			leave();
			goto left
#endif
		:: waited && !(late && v & WAITERS) -> goto mark
		:: !waited && HAS_OWNER -> goto recover
		:: !waited && !HAS_OWNER -> goto mark
		fi
	}

mark:
#if ASKS > 0
	if
	:: true
	:: atomic {
		asks > 0 && OWNER(v) != RESERVED ->
		TOUCH;
		asks--;
		wants = 1;
		starved = 1;
		DIE
	}
	fi;
#endif
	atomic {
		TOUCH;
		if
		:: word != v -> goto look
		:: else
		fi;
		word = v | WAITERS;
		v = word;
		if
		:: late -> DIE; goto gives_up
		:: else
		fi;
		DIE
	}
	atomic {					/* park */
		waited = 1;
		if
		:: word == v -> asleep[me] = 1
		:: word != v -> goto look
		:: me < DEADLINES -> late = 1; goto look
		fi
	}
	atomic {
		if
		:: !asleep[me]
		:: asleep[me] && FINDS && HAS_OWNER ->
			asleep[me] = 0;
			goto recover
		:: asleep[me] && WHILE -> asleep[me] = 0; passed = 1
		:: asleep[me] && FINDS && !HAS_OWNER -> asleep[me] = 0
		:: asleep[me] && SLICES > 2 -> asleep[me] = 0
		:: asleep[me] && me < DEADLINES -> asleep[me] = 0; late = 1
		:: kills > 0 -> asleep[me] = 0; kills--; goto dead
		fi;
		goto look
	}

recover:
	if
	:: atomic {
		taken[OWNER(v)] < LIVES ->
		asked = OWNER(v);
#ifndef NOBYTE
		taken[asked]++;
#endif
		DIE
	}
	:: atomic {
		true ->			/* the owner lives, or who knows */
		if
		:: true -> goto look
		:: !waited -> goto mark
		fi
	}
	fi;
	atomic {
		TOUCH;
		if
#ifdef NOCOMPARE
		:: true ->
#else
		:: OWNER(word) == asked ->
#endif
			word = TOKEN | DEAD | (word & KEPT) | WAITED;
			acquire(1)
		:: else
		fi;
		DIE
	}
	atomic {
#ifndef NOBYTE
		taken[asked]--;
#endif
		asked = 0;
		DIE;
		if
		:: holder == TOKEN -> goto held		/* it is ours */
		:: holder != TOKEN -> goto look
		:: holder != TOKEN && !waited -> goto mark
		fi
	}

gives_up:
	atomic {					/* ETIMEDOUT */
		TOUCH;
		starved = 0;
		leave();
		DIE;
		goto left
	}

held:
#if ASKS > 0
	if
	:: !waited && !wants
	:: atomic {
		waited || wants ->
		TOUCH;
		starved = 0;
		DIE
	}
	fi;
#endif
	if
	:: atomic {
		word & DEAD ->				/* consistent */
		TOUCH;
		word = word & ~DEAD;
		DIE
	}
	:: true
	:: atomic {
		ownerkills > 0 ->
		ownerkills--;
		goto dead
	}
	fi;
	if
	:: atomic {
		true ->					/* unlock */
#if ASKS > 0
		TOUCH;
#ifdef RESERVEDEAD
		reserves = starved;
#else
		reserves = starved && !(word & DEAD);
#endif
		starved = starved && !reserves;
		DIE
	}
	atomic {
#endif
		TOUCH;
		v = word;
		word = (reserves -> RESERVED : v & DEAD);
		reserver = (reserves -> TOKEN : 0);
		lost = v & DEAD && 1;
		holder = 0;
		leave();
		DIE
	}
	:: atomic {
		ends > 0 ->				/* the thread ends */
		ends--;
		TOUCH;
		v = word & WAITERS;
		word = GONE;
		lose();
		leave();
		DIE
	}
	fi;
#ifdef TOUCHAFTER
	atomic {
		TOUCH
	}
#endif
	if
#ifdef NOWAKEDEAD
	:: v & DEAD && v & WAITERS ->
#else
	:: v & DEAD ->
#endif
		unpark_all()
#ifndef CLEARNOWAKE
	:: !(v & DEAD) && v & WAITERS ->
		unpark_one()
#endif
	:: else
	fi;

left:
	atomic {
		v = 0;
		waited = 0;
		wants = 0;
		late = 0;
		passed = 0;
		reserves = 0;
		if
		:: rounds > 0 && leaves == 0 -> goto look
		:: rounds > 0 && leaves > 0
		:: rounds == 0 && users > 0 -> goto out
		:: rounds == 0 && users == 0 -> destroyed = 1; goto out
		fi
	}
	if
	:: true -> goto look
	:: atomic {
		leaves > 0 ->
		leaves--;
		taken[TOKEN] = 0
	}
	fi;
	atomic {
		taken[TOKEN] == 0 ->	/* joins once nobody asks */
		taken[TOKEN] = LIVES;
		goto look
	}

dead:
	atomic {
		if
		:: holder == TOKEN -> lose()
		:: else
		fi;
		if
		:: rounds > 0 -> users--
		:: else
		fi;
		rounds = 0;
		waited = 0;
		wants = 0;
		late = 0;
		passed = 0;
		reserves = 0;
		v = 0
	}
out:
	taken[TOKEN] = 0;
	atomic {
		if
#ifndef NOBYTE
		:: asked != 0 -> taken[asked]--
#endif
		:: else
		fi;
		asked = 0
	}
}

init {
	byte i;

	atomic {
		for (i : 0 .. P - 1) {
			taken[i + 1] = LIVES;
			run process(i)
		}
		i = 0
	}
	/* When all has come to rest: a death that nobody has been told of is
	 * still there to be found. */
	timeout;
	assert(owed == (OWNER(word) != 0 && OWNER(word) != RESERVED))
}
