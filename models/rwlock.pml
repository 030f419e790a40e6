/* SPDX-License-Identifier: ISC */
/*
 * The readers-writer lock of src/rwlock.c, whose names are used here.
 *
 * MODELLED
 *   P threads, THREADS of them in a process, each lock ROUNDS times: to read,
 *   the fast way or the slow one, which takes a slot, a free one or one of a
 *   dead process; or to write, and then downgrade or not.  At its deadline one
 *   gives up, waiting for the mutex or for readers.  The lock is given back, or
 *   its thread ends with it (GONE).  Who was told EOWNERDEAD calls consistent
 *   or not.  A process may leave between two locks; then the next one draws the
 *   same token.  It may be killed after any step.
 *
 * ABSTRACTED
 *   The mutex is one that works (mutex.pml): free, held, GONE or DEAD; from an
 *   owner that is dead it is taken in one step, since that one changes neither
 *   the word nor writer.  A look and the swap that follows are one step: a swap
 *   that fails changes nothing and looks again.  Spinning is looking.  A slice
 *   ends only if its waiter can then find something.  A life byte is
 *   its process's, or is taken by any number who ask; asking may fail for no
 *   reason, which is never taken for dead.
 *   The kernel frees a dead process's own byte first, then the byte that it had
 *   taken to ask.  Reading again what one reads already touches nothing shared,
 *   and is left out, as are the tries.  Memory is sequentially consistent, as
 *   are the operations on the words in C.
 *
 * BOUNDS, each by -D
 *   P THREADS SLOTS ROUNDS
 *   KINDS      what a thread may do, a sum: 1 read, 2 write, 4 write and
 *              downgrade
 *   KILLS      processes killed after any step
 *   INKILLS    processes killed while they hold the lock
 *   ENDS       threads that end while they hold it to write
 *   LEAVES     processes that leave, and another comes with the same token
 *   DEADLINES  threads, from the first, that have a deadline
 *   SLICES     1: a slice ends when the process of the slot has died; 2: and
 *              when the slot has changed without a wake.  Without it no slice
 *              ends.
 *
 * PROPERTIES
 *   One who writes is alone (enter_writer, enter_reader).
 *   When one has died while it wrote, the next to have the lock is told, and
 *   then nobody else; no other death is told.  One that died on its way from
 *   writing to reading may be told or not (owed, init).
 *   What was given back after EOWNERDEAD without consistent is never held
 *   again (enter_writer, enter_reader).
 *   Nobody waits for ever (end states), also if readers die, but for those
 *   beyond the slots: then writers time out (STUCK).  Without deaths this holds
 *   without slices; if those die who hold the lock, with slices that look after
 *   the dead only; if anybody dies at any step, with SLICES=2.
 *
 * MUTATIONS, each by -D, each to be found wrong
 *   BARGE        a reader that has seen that nobody writes clears WANT without
 *                the mutex
 *   LOOKFIRST    a writer looks at a count before it sets WANT
 *   RELEASEFIRST a reader releases the mutex before it counts itself
 *   NOWAKE       the last reader to leave wakes nobody
 *   BLINDPARK    the writer's park does not compare
 *   NOASK        writers do not ask after a slot's process
 *   NOBYTE       a dead one's slot is taken without its life byte
 *   TOLD         any owner's death is told
 *   FORGET       recovery looks at writer and not at DEAD
 *   CLEARLATE    one that lets itself in clears WANT after the release
 *   STALE        it does not store writer
 *   SKIPOTHERS   a writer does not look after those beyond the slots
 */
#ifndef P
#define P 2
#endif
#if P > 4
#error "at most 4 threads"
#endif
#ifndef THREADS
#define THREADS 1
#endif
#ifndef SLOTS
#define SLOTS P
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef KINDS
#define KINDS 7
#endif
#ifndef KILLS
#define KILLS 0
#endif
#ifndef INKILLS
#define INKILLS 0
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
#ifndef SLICES
#define SLICES 0
#endif
#if THREADS > 1 && KILLS + INKILLS + LEAVES > 0
#error "a process of several threads neither dies nor leaves"
#endif

#define READ 1
#define WRITE 2
#define DOWNGRADE 4

#define TOKEN (me / THREADS + 1)
#define GONE 7
#define PENDING 1
#define WRITING 2
#define OTHERS SLOTS

/* The mutex. */
byte owner;		/* a token, GONE, or 0 */
bit DEAD;
byte writer;

byte tokens[SLOTS];
byte count[SLOTS + 1];
bit WANT[SLOTS + 1];
bit used[SLOTS + 1];	/* has ever been somebody's */

byte taken[P + 1];	/* the life bytes, by token: LIVES, or how many ask */
byte asleep[P];		/* the slot where it is parked, plus 1 */
byte kills = KILLS;	/* how often each may yet happen */
byte inkills = INKILLS;
byte ends = ENDS;
byte leaves = LEAVES;

/* Of the model alone. */
byte reading;		/* the living who read, one bit each */
byte writing;		/* who writes, plus 1 */
byte owed;		/* EOWNERDEAD: not, may or must be told */
bit lost;		/* it is not recoverable */
bit STUCK;		/* one beyond the slots has died */

#define NOT 0
#define MAY 1
#define MUST 2

#define LIVES 100
#define DIE if :: true :: kills > 0 -> kills--; goto dead fi
#define IS_DEAD(token) \
	((token) != 0 && (token) != TOKEN && taken[token] < LIVES)

/* The first slot that has this token; OTHERS: none. */
#if SLOTS == 1
#define SLOT(token) (tokens[0] == (token) -> 0 : OTHERS)
#elif SLOTS == 2
#define SLOT(token) \
	(tokens[0] == (token) -> 0 : (tokens[1] == (token) -> 1 : OTHERS))
#else
#define SLOT(token) \
	(tokens[0] == (token) -> 0 : \
	 (tokens[1] == (token) -> 1 : (tokens[2] == (token) -> 2 : OTHERS)))
#endif

#ifdef NOASK
#define ORPHANED false
#else
#define ORPHANED (s != OTHERS && IS_DEAD(tokens[s]))
#endif
#define FINDS ((SLICES > 1 && count[s] != c) || (SLICES > 0 && ORPHANED))

#ifdef SKIPOTHERS
#define USED(s) (used[s] && s != OTHERS)
#else
#define USED(s) used[s]
#endif
#ifdef TOLD
#define SUSPECT true
#elif defined FORGET
#define SUSPECT (writer == WRITING)
#else
#define SUSPECT (writer == WRITING || DEAD)
#endif

inline unpark(slot) {
	atomic {
		for (i : 0 .. P - 1) {
			if
			:: asleep[i] == slot + 1 -> asleep[i] = 0; break
			:: else
			fi
		}
		i = 0
	}
}

inline enter_reader() {
	assert(writing == 0 && !lost);
	assert(owed != MUST);
	reading = reading | 1 << me;
	in = 1
}

inline enter_writer() {
	assert(writing == 0 && reading == 0 && !lost);
	owed = NOT;
	writing = me + 1;
	liable = MUST
}

/* We have just got the mutex. */
inline acquire() {
	assert(owed != (told -> NOT : MUST));
	owed = (told -> owed : NOT);
	owner = TOKEN;
	DEAD = told
}

proctype thread(byte me) {
	byte i;
	byte s, c;		/* a slot, and the count seen there */
	byte kind;
	byte asked;		/* the token whose life byte we have taken */
	byte rounds = ROUNDS;
	bit told;		/* we have the mutex with EOWNERDEAD */
	bit in;			/* we are counted in slot s */
	bit parked, late, wakes;
	byte liable;		/* what our death would owe */

again:
	atomic {
		if
		:: KINDS & READ -> kind = READ
		:: KINDS & WRITE -> kind = WRITE
		:: KINDS & DOWNGRADE -> kind = DOWNGRADE
		fi;
		if
		:: kind != READ -> goto lock
		:: else
		fi
	}
#ifdef BARGE
	if
	:: atomic {
		writer == 0 && SLOT(TOKEN) != OTHERS ->
		s = SLOT(TOKEN);
		c = count[s]
	}
	atomic {
		if
		:: count[s] == c ->
			count[s]++;
			WANT[s] = 0;
			c = 0;
			enter_reader();
			goto reads
		:: else -> c = 0; goto lock
		fi
	}
	:: true
	fi;
#endif
	atomic {						/* fast */
		s = SLOT(TOKEN);
		if
		:: s != OTHERS && !WANT[s] ->
			count[s]++;
			enter_reader();
			DIE;
			goto reads
		:: else -> s = 0
		fi
	}

lock:
	if
	:: atomic {
		owner == 0 && !DEAD ->
		acquire();
		DIE
	}
	:: atomic {
		owner == 0 && DEAD ->
		goto left				/* ENOTRECOVERABLE */
	}
	:: atomic {
		owner == GONE ->
		told = writer == WRITING;
		acquire();
		DIE
	}
	:: atomic {
		owner != GONE && IS_DEAD(owner) ->
		told = SUSPECT;
		acquire();
		DIE
	}
	:: atomic {
		owner != 0 && me < DEADLINES ->
		goto left				/* ETIMEDOUT */
	}
	:: atomic {
		owner != 0 && kills > 0 ->
		kills--;
		goto dead
	}
	fi;
	if
	:: kind == READ && !told -> goto let_in
	:: kind == READ && told
	:: kind != READ && told
	:: atomic {
		kind != READ && !told ->
		writer = PENDING;
		DIE
	}
	fi;

exclude:
	if
	:: atomic {
		!USED(s) ->
		goto next
	}
	:: USED(s)
	fi;
look:
#ifdef LOOKFIRST
	c = count[s];
#endif
	atomic {
		WANT[s] = 1;
#ifndef LOOKFIRST
		c = count[s];
#endif
		DIE;
		if
		:: c == 0 -> goto next
		:: c != 0 && late -> goto give_up
		:: c != 0 && !late && !parked -> goto ask
		:: c != 0 && !late && parked
		fi
	}
park:
	atomic {
		parked = 1;
		if
#ifdef BLINDPARK
		:: true -> asleep[me] = s + 1
#else
		:: count[s] == c && WANT[s] -> asleep[me] = s + 1
		:: count[s] != c || !WANT[s] -> goto look
#endif
		:: me < DEADLINES -> late = 1; goto look
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
		asleep[me] && me < DEADLINES ->
		asleep[me] = 0;
		late = 1;
		goto look
	}
	:: atomic {
		asleep[me] && kills > 0 ->
		asleep[me] = 0;
		kills--;
		goto dead
	}
	:: atomic {
		timeout && STUCK && s == OTHERS ->
		asleep[me] = 0;
		late = 1;
		goto look
	}
	fi;
ask:
	if
	:: atomic {
		ORPHANED ->
		asked = tokens[s];
		taken[asked]++;
		DIE
	}
	:: atomic {
		true ->				/* it lives, or who knows */
		if
		:: parked -> goto look
		:: !parked -> goto park
		fi
	}
	fi;
	atomic {
		count[s] = 0;
		WANT[s] = 1;
		DIE
	}
	atomic {
		taken[asked]--;
		asked = 0;
		DIE
	}
next:
	atomic {
		c = 0;
		parked = 0;
		if
		:: s != OTHERS -> s++; goto exclude
		:: s == OTHERS -> s = 0
		fi
	}
	atomic {
		writer = WRITING;
		enter_writer();
		DIE
	}
	goto writes;

give_up:
	if
	:: atomic {
		told ->
		owner = GONE;
		DEAD = 0;
		DIE;
		goto left
	}
	:: !told -> s = 0
	fi;
	do						/* readmit */
	:: atomic {
		s != OTHERS ->
		WANT[s] = 0;
		s++;
		DIE
	}
	:: atomic {
		s == OTHERS ->
		WANT[s] = 0;
		DIE;
		break
	}
	od;
	atomic {
		writer = 0;
		DIE
	}
	atomic {
		owner = 0;
		DIE;
		goto left
	}

writes:
	if
	:: atomic {
		told ->					/* consistent */
		DEAD = 0;
		told = 0;
		DIE
	}
	:: true
	:: atomic {
		inkills > 0 ->
		inkills--;
		goto dead
	}
	:: atomic {
		ends > 0 ->				/* the thread ends */
		ends--;
		owner = GONE;
		DEAD = 0;
		writing = 0;
		owed = MUST;
		liable = NOT;
		DIE;
		goto left
	}
	fi;
	if
	:: atomic {
		kind != WRITE && !told ->	/* a reader from now on */
		writing = 0;
		liable = MAY;
		reading = reading | 1 << me;
		goto let_in
	}
	:: kind == READ && told -> goto release
	:: kind == WRITE || kind == DOWNGRADE && told
	fi;
	atomic {					/* wrunlock */
		writing = 0;
		writer = 0;
		liable = (told -> MUST : NOT);
		DIE
	}
	goto release;

let_in:
#ifdef RELEASEFIRST
	owner = 0;
#endif
	if
	:: atomic {
		SLOT(TOKEN) != OTHERS ->
		s = SLOT(TOKEN);
		goto join
	}
	:: atomic {
		SLOT(TOKEN) == OTHERS && SLOT(0) != OTHERS ->
		s = SLOT(0)
	}
	:: atomic {
		SLOT(TOKEN) == OTHERS && SLOT(0) == OTHERS ->
		if
		:: IS_DEAD(tokens[0]) -> s = 0
#if SLOTS > 1
		:: IS_DEAD(tokens[1]) -> s = 1
#endif
#if SLOTS > 2
		:: IS_DEAD(tokens[2]) -> s = 2
#endif
		:: true -> s = OTHERS; goto join
		fi;
#ifndef NOBYTE
		asked = tokens[s];
		taken[asked]++;
#endif
		DIE
	}
	fi;
	atomic {					/* claim */
		used[s] = 1;
		count[s] = 0;
		WANT[s] = 0;
		DIE
	}
	atomic {
		tokens[s] = TOKEN;
		DIE
	}
	atomic {
		if
		:: asked != 0 -> taken[asked]--
		:: else
		fi;
		asked = 0;
		DIE
	}
join:
	atomic {
		used[s] = 1;
		count[s]++;
#ifndef CLEARLATE
		WANT[s] = 0;
#endif
		enter_reader();
		DIE
	}
#ifndef STALE
	atomic {
		writer = 0;
		liable = NOT;
		DIE
	}
#endif

release:
	atomic {
		liable = NOT;
		writing = 0;
		lost = told;
		owed = NOT;
#ifndef RELEASEFIRST
		owner = 0;
#endif
		DIE;
		if
		:: !in -> goto left
		:: in
		fi
	}
#ifdef CLEARLATE
	WANT[s] = 0;
#endif

reads:
	if
	:: atomic {
		true ->					/* rdunlock */
		count[s]--;
		wakes = WANT[s] && count[s] == 0;
		in = 0;
		reading = reading & ~(1 << me);
		DIE
	}
	:: atomic {
		inkills > 0 ->
		inkills--;
		goto dead
	}
	fi;
#ifndef NOWAKE
	if
	:: wakes -> unpark(s)
	:: !wakes
	fi;
#endif

left:
	atomic {
		s = 0;
		c = 0;
		kind = 0;
		told = 0;
		parked = 0;
		late = 0;
		wakes = 0;
		rounds--;
		if
		:: rounds > 0 && leaves == 0 -> goto again
		:: rounds > 0 && leaves > 0
		:: rounds == 0 -> goto out
		fi
	}
	if
	:: true -> goto again
	:: atomic {
		leaves > 0 ->
		leaves--;
		taken[TOKEN] = 0
	}
	fi;
	atomic {
		taken[TOKEN] == 0 ->	/* joins once nobody asks */
		taken[TOKEN] = LIVES;
		goto again
	}

dead:
	atomic {
		owed = (liable > owed -> liable : owed);
		STUCK = STUCK || (in && s == OTHERS);
		reading = reading & ~(1 << me);
		writing = (writing == me + 1 -> 0 : writing);
		s = 0;
		c = 0;
		kind = 0;
		rounds = 0;
		told = 0;
		in = 0;
		parked = 0;
		late = 0;
		wakes = 0;
		liable = 0
	}
out:
	if
	:: THREADS == 1 -> taken[TOKEN] = 0
	:: THREADS > 1
	fi;
	atomic {
		if
		:: asked != 0 -> taken[asked]--
		:: else
		fi;
		asked = 0
	}
}

init {
	byte i;

	atomic {
		for (i : 0 .. P - 1) {
			taken[i / THREADS + 1] = LIVES;
			run thread(i)
		}
		i = 0
	}
	/* When all are gone a death that must be told is still there to be
	 * found. */
	_nr_pr == 1;
	assert(owed != MUST || owner == GONE && writer == WRITING ||
	    owner != 0 && owner != GONE && (writer == WRITING || DEAD));
	assert(owner == 0 || owner == GONE || taken[owner] < LIVES)
}
