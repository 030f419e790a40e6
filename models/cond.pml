/* SPDX-License-Identifier: ISC */
#ifndef W
#define W 2
#endif
#ifndef S
#define S 1		/* signallers */
#endif
#ifndef MAKE
#define MAKE W		/* items made in all */
#endif
#ifndef WKILLS
#define WKILLS 0
#endif
#ifndef SKILLS
#define SKILLS 0
#endif
#ifndef KINDS
#define KINDS 1		/* 1 signal, 2 broadcast, 4 naked signal, 8 naked broadcast */
#endif
#ifndef DEADLINES
#define DEADLINES 0	/* waiters below this number have a deadline */
#endif
#ifdef SLICES
#define SLICE_MAY_END true
#else
#define SLICE_MAY_END false
#endif
#ifdef NOTAKE
#define TAKE false
#else
#define TAKE true
#endif
#ifdef LEAVE
#define LEAVEON true
#else
#define LEAVEON false
#endif
#ifdef STRAY
#define STRAYON true
#else
#define STRAYON false
#endif
#define NOBODY 255
/* any process may end after any of its steps, a bounded number of times */
#define DIE if :: true :: kills[me >= W] > 0 -> kills[me >= W]--; goto dead fi

/* the mutex, abstract */
byte owner = NOBODY;
bit owner_dead, waiters;
byte signals;
bit other;		/* the last release with signals was another condition's */
#ifdef WHO_ONLY
#define MOVED (signals != s && !other)
#else
#define MOVED (signals != s && (!other || signals != s + 1))
#endif
/* the condition's state: one atomic */
byte epoch, number, parked, due;
bit waited;
/* the kernel: 0 awake, 1 parked on the condition, 2 on the mutex */
byte asleep[W];
#ifdef FIFO
byte place[W], asleep_there;	/* in the queue on the condition, from 1 */
#endif
/* what the users do */
byte items, made;
byte kills[2];		/* of waiters, of signallers */
/* ghosts, for assertions only */
byte seen_epoch[W], seen_number[W];
byte owed;		/* kernel wakes on the condition issued, not given */

#define LATE(i) (asleep[i] == 1 && seen_epoch[i] == epoch)
#define UNMOVED(i) (LATE(i) && seen_number[i] == number)
#if W == 1
#define COUNT(P) (P(0) -> 1 : 0)
#elif W == 2
#define COUNT(P) ((P(0) -> 1 : 0) + (P(1) -> 1 : 0))
#else
#define COUNT(P) ((P(0) -> 1 : 0) + (P(1) -> 1 : 0) + (P(2) -> 1 : 0))
#endif

#ifdef ONCE
/* what must have been woken: for each signal those blocked before it */
byte asked, before[2];
byte blocked, gone;
#define ALWAYS true
#define BITS(m) (((m) & 1) + (((m) >> 1) & 1) + (((m) >> 2) & 1))
#define ENOUGH(m, k) (BITS(gone & (m)) >= k || BITS(gone & (m)) == BITS(m))
#define CHECKASKED assert(ENOUGH(before[0], 1) && ENOUGH(before[1], 1) && ENOUGH(before[0] | before[1], asked))
#define ASK before[asked] = blocked & ~gone; asked++
#else
#define ASK skip
#define ALWAYS false
#define CHECKASKED skip
#endif

inline check() {
	assert(due <= parked);
#ifndef NOASSERT
	assert(parked >= due + COUNT(UNMOVED));
#endif
#if WKILLS == 0 && SKILLS == 0 && !defined NOASSERT
	assert(parked + owed >= due + COUNT(LATE))
#endif
}

inline lock(me, mark, died) {
	atomic {
		(owner == NOBODY || owner_dead) ->
		died = died || owner_dead;
		owner_dead = 0;
		owner = me;
		if :: mark -> waiters = 1; mark = 0 :: else fi
	}
}

inline enter_queue(i) {
#ifdef FIFO
	asleep_there++; place[i] = asleep_there
#else
	skip
#endif
}

inline leave_queue(i) {
#ifdef FIFO
	if
	:: place[i] == 0
	:: else ->
		x = 0;
		do
		:: x < W -> if :: place[x] > place[i] -> place[x]-- :: else fi; x++
		:: else -> break
		od;
		x = 0; place[i] = 0; asleep_there--
	fi
#else
	skip
#endif
}

inline wake_condition() {
	atomic {
		if
#ifdef FIFO
		:: asleep_there > 0 ->
			w = 0;
			do :: place[w] != 1 -> w++ :: else -> break od;
			asleep[w] = 0; leave_queue(w); w = 0
#else
		:: asleep[0] == 1 -> asleep[0] = 0
#if W > 1
		:: asleep[1] == 1 -> asleep[1] = 0
#endif
#if W > 2
		:: asleep[2] == 1 -> asleep[2] = 0
#endif
#endif
		:: else
		fi;
		owed--;
		check()
	}
}

inline wake_mutex() {
	atomic {
		if
		:: asleep[0] == 2 -> asleep[0] = 0
#if W > 1
		:: asleep[1] == 2 -> asleep[1] = 0
#endif
#if W > 2
		:: asleep[2] == 2 -> asleep[2] = 0
#endif
		:: else
		fi
	}
}

inline move_all(from, to) {
	w = 0;
	do
	:: w < W -> if :: asleep[w] == from -> asleep[w] = to :: else fi; w++
	:: else -> w = 0; break
	od;
#ifdef FIFO
	w = 0;
	do :: w < W -> place[w] = 0; w++ :: else -> break od;
	w = 0; asleep_there = 0;
#endif
	check()
}

/* r1 to r3; what: 0 nothing, 1 signal, 2 broadcast */
inline effect(kind) {
	if
	:: kind == 0
	:: kind != 0 ->
		atomic { signals++; other = 0; ASK; DIE }
		if
		:: kind == 1 ->
			atomic {
				if :: parked > due -> due++; number++; wake = 1; owed++ :: else fi;
				check(); DIE
			}
		:: else ->
			if
			:: atomic { parked > 0 -> epoch++; parked = 0; due = 0; waited = 0; check(); DIE }
				atomic { waiters = 1; move_all(1, 2); DIE }
			:: parked == 0
			fi
		fi;
		kind = 0
	fi
}

inline release(kind) {
	effect(kind);
	atomic {
		mwake = waiters; waiters = 0; owner = NOBODY; DIE
	}
	if :: mwake -> wake_mutex(); mwake = 0 :: else fi;
	if :: wake -> atomic { DIE } wake_condition(); wake = 0 :: else fi
}

inline unmark() {
	if
	:: epoch == e ->
		parked--;
		if
		:: (number != n || (took && TAKE)) && due > 0 -> due--
		:: else -> if :: due > parked -> due = parked :: else fi
		fi;
		check()
	:: else
	fi
}

proctype waiter(byte me) {
	byte w, x, kind, e, n, s;
	bit wake, mwake, died, mark, took, slice, late, marked;
	lock(me, mark, died);
	do
	:: atomic { died -> died = 0; kind = 2; DIE }
	:: atomic { !ALWAYS && !died && items > 0 -> items--; DIE; break }
	:: atomic { !died && items == 0 && late -> break }
	:: !died && (items == 0 || ALWAYS) && !late ->
		effect(kind);					/* w1 */
		atomic { waited = 1; e = epoch; n = number; s = signals;
		    seen_epoch[me] = e; seen_number[me] = n;
#ifdef ONCE
			blocked = blocked | (1 << me);
#endif
			DIE }		/* w2 */
		release(kind);					/* w3 */
		if						/* w4 */
		:: atomic { (MOVED || epoch != e || number != n) -> DIE; goto w9 }
		:: true
		fi;
		atomic {
			if					/* w5 */
			:: epoch != e || number != n -> goto w9
			:: else -> parked++; marked = 1; check()
			fi;
			DIE
		}
		if						/* w6 */
		:: MOVED -> goto w8
		:: !MOVED
		fi;
w7:
		atomic { if :: epoch == e && number == n -> asleep[me] = 1;
			enter_queue(me);
			check()
			:: else -> goto found fi }
		if
		:: asleep[me] == 0
		:: timeout && (items == 0 || ALWAYS) && made == MAKE -> CHECKASKED; goto end
		:: atomic { SLICE_MAY_END && asleep[me] != 0 && (epoch != e || number != n || owner_dead) ->
			asleep[me] = 0; slice = 1;
			leave_queue(me);
			 }
		:: atomic { me < DEADLINES && asleep[me] != 0 -> asleep[me] = 0; late = 1;
			leave_queue(me);
			 }
		:: atomic { kills[0] > 0 && asleep[me] != 0 -> kills[0]--; asleep[me] = 0;
			leave_queue(me);
			goto dead }
		fi;
found:
		atomic {
			DIE;
			if
			:: epoch != e -> mark = 1; late = 0; goto w9
			:: epoch == e && number != n && !slice && !late -> goto w8
			:: epoch == e && number != n && slice && due > 0 -> goto w8
			:: epoch == e && number != n && late && due > 0 -> late = 0; goto w8
			:: epoch == e && owner_dead -> goto w8
			:: else ->
				if
				:: late -> goto w8
#ifdef LEAVE
				:: !late && !slice && number == n && true -> took = 1; goto w8
#endif
#ifdef STRAY
				:: !late && !slice && number == n && due > 0 ->
					epoch++; parked = 0; due = 0; waited = 0; marked = 0; mark = 1; wake = 1; owed++; check();
					goto w7all
#endif
				:: !late && (slice || number != n || due == 0 || !STRAYON) && !(LEAVEON && !slice && number == n) -> n = number; seen_number[me] = n; slice = 0; goto w7
				fi
			fi
		}
#ifdef STRAY
w7all:		atomic { DIE }
		atomic { move_all(1, 0); owed--; wake = 0; goto w9 };
#endif
w8:
#ifdef HEADW8
		atomic { unmark(); marked = 0; DIE }
#endif
w9:
		slice = 0;
		atomic {
			if :: kills[0] > 0 -> kills[0]--; goto dead :: true fi
		}
#ifdef ONCE
		gone = gone | (1 << me);
#endif
		lock(me, mark, died);
#ifndef HEADW8
		if :: marked -> atomic { unmark(); marked = 0; took = 0; DIE } :: else fi
#endif
#ifdef ONCE
		break
#endif
	od;
	release(kind);
	goto end;
dead:	atomic {
		if :: owner == me -> owner_dead = 1 :: else fi;
		if :: wake -> owed-- :: else fi;
		wake = 0
	}
end:	skip
}

proctype signaller(byte me) {
	byte w, x, kind, naked;
	bit wake, mwake, died, mark;
again:
	do
	:: true;
		if
		:: naked == 0
		:: atomic { naked != 0 && !waited -> naked = 0 }
		:: atomic { naked == 1 && waited ->
			number++;
			if :: parked > due -> due++; wake = 1; owed++ :: else fi;
			check(); naked = 0; DIE }
			if :: wake -> wake_condition(); wake = 0 :: else fi
		:: atomic { naked == 2 && waited ->
			wake = (parked > 0); epoch++; parked = 0; due = 0; waited = 0; if :: wake -> owed++ :: else fi; check(); naked = 0; DIE }
			if :: wake -> atomic { move_all(1, 0); owed-- }; wake = 0 :: else fi
		fi;
		lock(me, mark, died);
		if
		:: died -> atomic { died = 0; kind = 2; DIE }
		:: else
		fi;
		if
		:: made == MAKE -> break
		:: else
		fi;
		atomic {
			items++; made++;
			if
			:: (KINDS & 1) -> if :: kind == 0 && waited -> kind = 1 :: else fi
			:: (KINDS & 2) -> if :: waited -> kind = 2 :: else fi
			:: (KINDS & 4) -> naked = 1
			:: (KINDS & 8) -> naked = 2
			fi;
			DIE
		}
		release(kind);
	od;
	release(kind);
	goto end;
dead:	atomic {
		if :: owner == me -> owner_dead = 1 :: else fi;
		if :: wake -> owed-- :: else fi;
		wake = 0; mwake = 0; kind = 0; w = 0; died = 0; goto again
	}
end:	skip
}

#ifdef OTHER
proctype another() {
	bit mwake;
	byte n = OTHER;
	do
	:: n == 0 -> break
	:: else ->
		atomic { owner == NOBODY -> owner = 254; n-- }
		atomic { signals++; other = 1 }
		atomic { mwake = waiters; waiters = 0; owner = NOBODY }
		if :: mwake -> wake_mutex() :: else fi
	od
}
#endif

init {
	atomic {
#ifdef OTHER
		run another();
#endif
		byte i; kills[0] = WKILLS; kills[1] = SKILLS;
		for (i : 0 .. W - 1) { run waiter(i) }
		for (i : 0 .. S - 1) { run signaller(W + i) }
	}
}
