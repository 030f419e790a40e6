/* SPDX-License-Identifier: ISC */
/*
 * The baton of src/baton.c, whose names are used here.
 *
 * MODELLED
 *   PARTIES parties, one process each: claim the party, wait for the turn,
 *   pass it to any other party, and wait again; at its deadline a wait gives
 *   up, and the process waits once more.  Two parties or more share a lane.
 *   A process may be killed after any step; then another that waits takes
 *   over the turn, or one of MORE processes comes as the same party.
 *
 * ABSTRACTED
 *   A look and the mark that follows are one step: a swap that fails changes
 *   nothing and looks again.  Spinning is looking.  A slice ends only if its
 *   waiter can then find something.  Any number may ask at one time whether a
 *   process lives; EBUSY is left out.  Numbers do not wrap; tokens are not
 *   drawn again, as while somebody asks they cannot be.  Memory is sequentially
 *   consistent, as are the operations on the state in C.
 *
 * BOUNDS, each by -D
 *   PARTIES LANES
 *   MORE       processes that come for parties whose process has died
 *   PASSES     how often the turn is passed in all; then it rests
 *   KILLS      processes killed after any step, once they are known as a party
 *   TURNKILLS  processes killed while they have the turn
 *   DEADLINES  processes, from the first, that have a deadline once
 *   SLICES     1: a slice ends when the process whose turn it is has died; 2:
 *              and when the state has changed without a wake.  Without it no
 *              slice ends.
 *
 * PROPERTIES
 *   One has the turn at a time; a living one is never robbed (enter).
 *   When a process has died whose turn it was, the next to have the turn is
 *   told, and nobody else (owed).
 *   No wake is lost: nobody stays parked until the turn rests (end states);
 *   without slices if nobody dies; with slices that look after the dead only
 *   if those die whose turn it is; with SLICES=2 whoever dies.
 *
 * MUTATIONS, each by -D, each to be found wrong
 *   WAKEONE   pass wakes one of the lane
 *   CLEARALL  pass clears the marks of all lanes
 *   KEEPMARK  one that is woken parks again without a mark
 *   NONUMBER  waiters park on the turn alone
 *   BLIND     the mark does not compare
 *   NOCOMPARE recovery does not compare once it has the byte
 *   ZEROFIRST recovery clears the dead one's token before its swap
 *   LOSTLANE  recovery clears the mark of its own lane and wakes nobody
 *   UNTOLD    who comes for a dead party whose turn it was is not told
 *   NOSTEP    who comes for a dead party in turn does not move the number
 *   SEENSTEP  it does so only if it was in turn before
 *   LATELOOK  it looks whether it was that party's turn when it is the party
 */
#ifndef PARTIES
#define PARTIES 3
#endif
#ifndef LANES
#define LANES 2
#endif
#ifndef MORE
#define MORE 0
#endif
#ifndef PASSES
#define PASSES 3
#endif
#ifndef KILLS
#define KILLS 0
#endif
#ifndef TURNKILLS
#define TURNKILLS 0
#endif
#ifndef DEADLINES
#define DEADLINES 0
#endif
#ifndef SLICES
#define SLICES 0
#endif

#define P (PARTIES + MORE)
#define PARTY(i) ((i) % PARTIES)
#define LANE(party) (1 << (party) % LANES)
#define TOKEN (me + 1)
#define BIT(token) (1 << ((token) - 1))

/* The state, one atomic, and what waiters park on. */
byte turn, number, marks;
#ifdef NONUMBER
#define SAME (turn == t)
#else
#define SAME (turn == t && number == n)
#endif

byte tokens[PARTIES];
bit lives[P + 1];	/* by token */
bit asleep[P];
byte kills = KILLS;
byte turnkills = TURNKILLS;
byte passes = PASSES;

/* Of the model alone. */
byte holder;		/* who has been told that it is its turn: its token */
byte owed;		/* EOWNERDEAD: not, may or must be told */
bit rests;
byte died;		/* one bit for each token */

#define NOT 0
#define MAY 1
#define MUST 2

#define DIE if :: true :: kills > 0 -> kills--; goto dead fi
#define ALIVE(party) (tokens[party] == 0 || lives[tokens[party]])
#define FINDS \
	((SLICES > 1 && (turn != t || number != n)) || \
	 (SLICES > 0 && !ALIVE(turn)))

/* Wakes the lane of a party. */
inline unpark(party) {
	atomic {
		for (i : 0 .. P - 1) {
			if
			:: asleep[i] && LANE(PARTY(i)) == LANE(party) ->
				asleep[i] = 0;
#ifdef WAKEONE
				break
#endif
			:: else
			fi
		}
		i = 0
	}
}

/* A wait returns 0, or if told EOWNERDEAD. */
inline enter() {
	assert(holder == 0);
	assert(owed != (told -> NOT : MUST));
	owed = NOT;
	told = 0;
	holder = TOKEN
}

proctype process(byte me) {
	byte i, to;
	byte t, n;		/* the turn and the number, as seen */
	byte asked;		/* the token that was found dead */
	bit parked, woken, late, told, wakes;
	bit patient = me >= DEADLINES;

end_idle:
	if
	:: atomic {
		tokens[PARTY(me)] == 0 && me < PARTIES ->
		tokens[PARTY(me)] = TOKEN;
		DIE;
		goto look
	}
	:: atomic {
		tokens[PARTY(me)] != 0 && !ALIVE(PARTY(me)) ->
		asked = tokens[PARTY(me)]
	}
	fi;
#if !defined UNTOLD && !defined LATELOOK
	atomic {
		told = turn == PARTY(me);
		n = number
	}
#endif
	atomic {
		if
		:: tokens[PARTY(me)] == asked -> tokens[PARTY(me)] = TOKEN
		:: else -> told = 0
		fi;
		DIE
	}
#ifdef LATELOOK
	atomic {
		told = turn == PARTY(me);
		n = number
	}
#endif
#ifndef NOSTEP
	atomic {
		if
#ifdef SEENSTEP
		:: told && turn == PARTY(me) && number == n -> number++
#else
		:: turn == PARTY(me) ->
			told = told && number == n;
			number++
#endif
		:: else -> told = 0
		fi;
		DIE
	}
#endif
	atomic {
		n = 0;
		asked = 0;
		if
		:: tokens[PARTY(me)] != TOKEN -> goto out	/* EBUSY */
		:: else
		fi;
		DIE
	}

look:
	atomic {
		t = turn;
		n = number;
		if
		:: turn == PARTY(me) -> enter(); DIE; goto held
		:: turn != PARTY(me) && late ->
			late = 0;				/* ETIMEDOUT */
			parked = 0;
			DIE;
			goto look
		:: turn != PARTY(me) && !late && !parked -> goto recover
		:: turn != PARTY(me) && !late && parked
		fi
	}
mark:
	atomic {
#ifdef BLIND
		t = turn;
		n = number;
#else
		if
		:: turn != t || number != n -> goto look
		:: else
		fi;
#endif
#ifdef KEEPMARK
		if
		:: !woken -> marks = marks | LANE(PARTY(me))
		:: else
		fi;
#else
		marks = marks | LANE(PARTY(me));
#endif
		woken = 0;
		DIE
	}
	atomic {						/* park */
		parked = 1;
		if
		:: SAME -> asleep[me] = 1
		:: !SAME -> goto look
		:: !patient -> patient = 1; late = 1; goto look
		fi
	}
	if
	:: atomic {
		!asleep[me] ->
		woken = 1;
		goto look
	}
	:: atomic {
		asleep[me] && FINDS ->
		asleep[me] = 0;
		goto recover
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
	:: timeout && rests -> goto out
	fi;

recover:
	if
	:: atomic {
		!ALIVE(t) ->
		asked = tokens[t];
		DIE
	}
	:: atomic {
		true ->				/* it lives, or who knows */
		if
		:: parked -> goto look
		:: !parked -> goto mark
		fi
	}
	fi;
#ifdef ZEROFIRST
	atomic {
		if
		:: turn == t && tokens[t] == asked -> tokens[t] = 0
		:: else -> goto release
		fi;
		DIE
	}
#endif
#if !defined NOCOMPARE && !defined ZEROFIRST
	atomic {
		if
		:: turn == t && tokens[t] == asked -> n = number
		:: else -> goto release
		fi;
		DIE
	}
#endif
	atomic {
		if
#ifdef NOCOMPARE
		:: true ->
#else
		:: turn == t && number == n ->
#endif
			turn = PARTY(me);
			number++;
			wakes = marks & LANE(PARTY(me)) && 1;
			marks = marks & ~LANE(PARTY(me));
			told = 1
		:: else
		fi;
		DIE
	}
release:
	atomic {
		asked = 0;
		DIE;
		if
		:: told
		:: !told && parked -> goto look
		:: !told && !parked -> goto mark
		fi
	}
#ifndef LOSTLANE
	if
	:: wakes -> unpark(PARTY(me))
	:: else
	fi;
#endif
	atomic {
		enter();
		DIE
	}

held:
	atomic {
		wakes = 0;
		t = 0;
		n = 0;
		late = 0;
		parked = 0;
		woken = 0;
		assert(turn == PARTY(me) && holder == TOKEN);
		if
		:: passes == 0 -> rests = 1; goto out
		:: passes > 0 && turnkills > 0 -> turnkills--; goto dead
		:: passes > 0
		fi
	}
	atomic {						/* pass */
		passes--;
		select (to : 1 .. PARTIES - 1);
		to = (PARTY(me) + to) % PARTIES;
		turn = to;
		number++;
		wakes = marks & LANE(to) && 1;
#ifdef CLEARALL
		marks = 0;
#else
		marks = marks & ~LANE(to);
#endif
		holder = 0;
		owed = (tokens[to] != 0 && died & BIT(tokens[to]) -> MAY : NOT);
		DIE
	}
	if
	:: wakes ->
		wakes = 0;
		unpark(to)
	:: else
	fi;
	atomic {
		to = 0;
		goto look
	}

dead:
	atomic {
		if
		:: turn == PARTY(me) && tokens[PARTY(me)] == TOKEN ->
			owed = MUST
		:: else
		fi;
		if
		:: holder == TOKEN -> holder = 0
		:: else
		fi;
		t = 0;
		n = 0;
		to = 0;
		parked = 0;
		woken = 0;
		late = 0;
		told = 0;
		wakes = 0;
		patient = 1;
		died = died | BIT(TOKEN);
		lives[TOKEN] = 0;
		asked = 0
	}
out:
	skip
}

init {
	byte i;

	atomic {
		for (i : 0 .. P - 1) {
			lives[i + 1] = 1;
			run process(i)
		}
		i = 0
	}
}
