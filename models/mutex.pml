/* SPDX-License-Identifier: ISC */
/* P processes (each one thread, token i+1), each locks ROUNDS times. */
#ifndef P
#define P 2
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef KILLS
#define KILLS 0		/* processes that may be killed, at any step */
#endif
#ifndef ENDS
#define ENDS 0		/* threads that may end while they hold it */
#endif
#ifndef DEADLINES
#define DEADLINES 0	/* processes below this number have a deadline */
#endif
#define DEAD 8
#define WAITERS 16
#define GONE 7
#define OWNER(x) ((x) & 7)
#define TOKEN (me + 1)
#define DIE if :: true :: kills > 0 -> kills--; goto dead fi

byte word;
byte life[8];		/* per token: 0 free, else who holds its byte (pid + 1) */
bit asleep[P];
byte parked_on[P];
byte kills = KILLS, ends = ENDS;
/* ghosts */
byte inside;		/* who is in the critical section: a count */
byte deaths, told;	/* deaths of owners; EOWNERDEAD given */
byte holder;		/* token of who holds it by the ghost, living or dead */
bit broken;		/* it was given up for ever */

#ifdef SLICES
#define SLICE true
#else
#define SLICE false
#endif

inline unpark(n) {	/* n: 1 or P */
	atomic {
		if
		:: n == 1 ->
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
		:: else -> x = 0; do :: x < P -> asleep[x] = 0; x++ :: else -> x = 0; break od
		fi
	}
}

inline acquired() {
	assert(inside == 0); inside = 1; holder = TOKEN;
}

proctype process(byte me) {
	byte v, x, r = ROUNDS;
	bit parked, late, sus, mine;
again:
	do
	:: r == 0 -> break
	:: else ->
		r--; parked = 0; late = 0;
look:		atomic { v = word; DIE }
		if
		:: OWNER(v) == 0 && (v & DEAD) ->
#ifndef NOPASSDEAD
			if :: parked -> unpark(P) :: else fi;
#endif
			goto next
		:: OWNER(v) == 0 && !(v & DEAD) ->
			atomic {
				if
				:: word == v -> word = TOKEN | (v & WAITERS) | (parked -> WAITERS : 0); acquired(); DIE; goto held
				:: else -> goto look
				fi
			}
		:: OWNER(v) == GONE ->
			atomic {
				if
				:: word == v -> word = TOKEN | DEAD | (v & WAITERS) | (parked -> WAITERS : 0); told++; acquired(); DIE; goto held
				:: else -> goto look
				fi
			}
		:: OWNER(v) != 0 && OWNER(v) != GONE ->
			if
			:: OWNER(v) != TOKEN && KILLS > 0 -> goto ask
			:: true
			fi
		fi;
mark:		atomic {		/* x -> x | WAITERS; late: leave */
			if
			:: word == v -> word = v | WAITERS; v = word; DIE
			:: else -> goto look
			fi;
			if :: late -> goto next :: else fi
		}
		atomic {
			if :: word == v -> asleep[me] = 1; parked_on[me] = v :: else fi
		}
sleep:		if
		:: !asleep[me]
		:: atomic { SLICE && asleep[me] && (word != v || (OWNER(word) < GONE && OWNER(word) > 0 && life[OWNER(word)] == 0)) -> asleep[me] = 0 }
		:: atomic { me < DEADLINES && asleep[me] -> asleep[me] = 0; late = 1 }
		:: atomic { kills > 0 && asleep[me] -> kills--; asleep[me] = 0; goto dead }
		fi;
		parked = 1;
		goto look;

ask:		atomic {		/* take the life byte of the owner */
			if
			:: life[OWNER(v)] == 0 -> life[OWNER(v)] = TOKEN; DIE
			:: else -> goto mark
			fi
		}
		atomic {		/* compare again and swap */
			if
			:: word == v ->
				word = TOKEN | DEAD | (v & WAITERS) | (parked -> WAITERS : 0);
				told++; acquired(); mine = 1
			:: else -> mine = 0
			fi;
			DIE
		}
		atomic { life[OWNER(v)] = 0; DIE }
		if :: mine -> mine = 0 :: else -> goto look fi;

held:		atomic { DIE }
		if
		:: word & DEAD ->
			if
			:: atomic { word = word & ~DEAD; DIE }	/* consistent */
			:: true
			fi
		:: !(word & DEAD)
		fi;
		if
		:: atomic { ends > 0 -> ends--; inside = 0; holder = 0; deaths++;
			v = word & WAITERS; word = GONE; DIE }
		:: atomic { true ->
			inside = 0; holder = 0; v = word;
			if
			:: word & DEAD -> word = DEAD; broken = 1; mine = 1
			:: else -> word = 0
			fi;
			DIE }
		fi;
		if
#ifdef WAKEDEAD
		:: mine -> unpark(P)
#else
		:: mine && (v & WAITERS) -> unpark(P)
#endif
		:: !mine && (v & WAITERS) -> unpark(1)
		:: else
		fi;
next:		mine = 0
	od;
	goto leave;
dead:	skip;
leave:	atomic {	/* the kernel drops what it held */
		x = 0;
		do :: x < 8 -> if :: life[x] == TOKEN -> life[x] = 0 :: else fi; x++ :: else -> break od;
		if :: holder == TOKEN -> deaths++; holder = 0; inside = 0 :: else fi
	}
}

init {
	atomic {
		byte i;
		for (i : 0 .. P - 1) { life[i + 1] = i + 1; run process(i) }
	}
	/* when all is over: each death of an owner was told, or not yet */
	timeout;
	assert(broken || deaths == told + (OWNER(word) != 0))
}
