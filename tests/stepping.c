/* SPDX-License-Identifier: ISC */
/* One call by single steps. */
#define _GNU_SOURCE
#include "stepping.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "object.h"
#include "still.h"

#define ROOM "steps"
#define LOOK 0.0003 /* s that a step may take until one looks why */
#define BOUND 2.0   /* s until those who live get on */
#define OVER SIGUSR1
#define SET 0x40000000u /* of an event */

/* Nobody is left behind by a parent that fails. */
static pid_t fork_part(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/* ---- The victim, and how it is led ---------------------------------------- */

static pid_t start_victim(const struct call *x, struct room *r)
{
	pid_t pid = fork_part();
	int status;

	if (pid != 0) {
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSTOPPED(status));
		assert_int_equal(WSTOPSIG(status), SIGSTOP);
		assert_int_equal(ptrace(PTRACE_SETOPTIONS, pid, 0,
		                     PTRACE_O_EXITKILL),
		    0);
		return pid;
	}
	signal(OVER, SIG_IGN);
	CHECK(ptrace(PTRACE_TRACEME, 0, 0, 0) == 0);
	OK(x->before(r));
	raise(SIGSTOP);
	OK(x->step(r));
	raise(OVER);
	_exit(0);
}

/* The parent holds what the victim waits for, and lets it go. */
struct led {
	const struct call *x;
	struct room *r;
	pid_t victim;
	int gone; /* it has been let go */
	int told; /* what the parent was told then */
};

static void let_go(struct led *l)
{
	const struct call *x = l->x;

	if (l->gone || (x->setting != HELD && x->setting != READ))
		return;
	l->gone = 1;
	if (x->setting == READ)
		l->told = handoff_rwlock_rdunlock(&l->r->rwlock);
	else
		l->told = primitives[x->at].let_go(l->r);
	/* A party of a barrier learns of the victim's death here; a condition's
	 * mutex may be the victim's. */
	if (l->told == EOWNERDEAD && x->at == AT_COND) {
		OK(handoff_mutex_consistent(&l->r->beside));
		OK(handoff_mutex_unlock(&l->r->beside));
	}
	if (l->told != EOWNERDEAD)
		assert_int_equal(l->told, 0);
}

/* How the step ended: the signal, or 0 if the victim has ended. */
static int one_step(struct led *l)
{
	double until = 0;
	int status;
	pid_t got;

	assert_int_equal(ptrace(PTRACE_SINGLESTEP, l->victim, 0, 0), 0);
	if (l->gone || (l->x->setting != HELD && l->x->setting != READ)) {
		assert_int_equal(waitpid(l->victim, &status, 0), l->victim);
		return WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
	}
	while ((got = waitpid(l->victim, &status, WNOHANG)) == 0) {
		double now = seconds_now();

		if (until == 0)
			until = now + LOOK;
		if (now < until)
			continue;
		if (is_still(l->victim))
			let_go(l);
		until = now + LOOK;
	}
	assert_int_equal(got, l->victim);
	return WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
}

/* Up to n steps: how many were made; *alive: the call was over before. */
static unsigned lead(struct led *l, unsigned n, int *alive)
{
	unsigned made = 0;

	*alive = 0;
	while (made < n) {
		int stopped = one_step(l);

		if (stopped == 0)
			fail_msg("%s: the victim has failed", l->x->name);
		if (stopped == OVER) {
			*alive = 1;
			break;
		}
		assert_int_equal(stopped, SIGTRAP);
		made++;
	}
	return made;
}

static void end_victim(pid_t pid, int alive)
{
	int status;

	if (alive)
		assert_int_equal(ptrace(PTRACE_DETACH, pid, 0, 0), 0);
	else
		kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (alive)
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void kill_one_that_holds(const struct call *x, struct room *r)
{
	pid_t pid = fork_part();
	int status;

	if (pid == 0) {
		OK(primitives[x->at].hold(r));
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

/* ---- One that waits ------------------------------------------------------- */

static pid_t start_waiter(const struct call *x, struct room *r)
{
	pid_t pid = fork_part();
	double end = seconds_now() + 1;

	if (pid == 0)
		_exit(primitives[x->at].wait(r, soon(10)));
	while (!is_still(pid) && seconds_now() < end)
		sleep_seconds(0.0001);
	/* It sleeps on the way now and then, for some moments. */
	sleep_seconds(0.0005);
	while (!is_still(pid) && seconds_now() < end)
		sleep_seconds(0.0001);
	return pid;
}

/* It is done within that time: its result, or -1. */
static int result_of(pid_t pid, double seconds)
{
	double end = seconds_now() + seconds;
	pid_t got;
	int status;

	while (
	    (got = waitpid(pid, &status, WNOHANG)) == 0 && seconds_now() < end)
		sleep_seconds(0.0001);
	if (got != pid)
		return -1;
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Whether there is something that who waits must find by itself. */
static int is_given(const struct call *x, struct room *r)
{
	const struct handoff__event *event = (const void *)&r->event;
	uint32_t count = 0;

	switch (x->at) {
	case AT_SEM:
		handoff_sem_value(&r->sem, &count);
		return count != 0;
	case AT_EVENT:
	case AT_ANY:
		return (atomic_load(&event->word) & SET) != 0;
	case AT_WORD32:
		return handoff_word32_load(&r->word32) != 0;
	default:
		return x->at != AT_COND;
	}
}

/* What one does who is told of a death, or does not know what a dead one has
 * done: it makes the condition true and tells all. */
static void repair_cond(const struct call *x, struct room *r)
{
	int e = handoff_mutex_lock_until(&r->beside, soon(5));
	int naked = x->setting == WAITED && strcmp(x->name, "signal") == 0;

	if (e == EOWNERDEAD)
		assert_int_equal(handoff_mutex_consistent(&r->beside), 0);
	else
		assert_int_equal(e, 0);
	if (e == EOWNERDEAD || naked) {
		r->ready = 1;
		assert_int_equal(handoff_cond_broadcast(&r->cond), 0);
	}
	assert_int_equal(handoff_mutex_unlock(&r->beside), 0);
}

static void end_waiter(const struct call *x, struct room *r, pid_t pid)
{
	int e = result_of(pid, 0.003);

	if (e == -1 && x->at == AT_COND)
		repair_cond(x, r);
	else if (e == -1 && !is_given(x, r) &&
	    (e = result_of(pid, 0.005)) == -1)
		assert_int_equal(primitives[x->at].let_go(r), 0);
	if (e == -1)
		e = result_of(pid, BOUND);
	if (e == -1)
		fail_msg("%s: a waiter is stranded", x->name);
	if (e != 0)
		assert_int_equal(e, EOWNERDEAD);
}

/* ---- The next one --------------------------------------------------------- */

static void get_mutex(handoff_mutex *mutex, int once_more)
{
	int e = handoff_mutex_lock_until(mutex, soon(BOUND));

	if (e == EOWNERDEAD && !once_more)
		assert_int_equal(handoff_mutex_consistent(mutex), 0);
	else
		assert_int_equal(e, 0);
	assert_int_equal(handoff_mutex_unlock(mutex), 0);
}

static void get_rwlock(handoff_rwlock *lock, int once_more)
{
	int e = handoff_rwlock_wrlock_until(lock, soon(BOUND));

	if (e == EOWNERDEAD && !once_more)
		assert_int_equal(handoff_rwlock_consistent(lock), 0);
	else
		assert_int_equal(e, 0);
	assert_int_equal(handoff_rwlock_wrunlock(lock), 0);
	assert_int_equal(handoff_rwlock_rdlock_until(lock, soon(BOUND)), 0);
	assert_int_equal(handoff_rwlock_rdunlock(lock), 0);
}

/* The parent is the one that comes next. */
static void get_turn(const struct call *x, handoff_baton *baton, int once_more)
{
	uint32_t turn;
	int e;

	assert_int_equal(handoff_baton_turn(baton, &turn), 0);
	/* It was passed to one that nobody has been yet. */
	if (turn == 1 && x->setting == ALONE) {
		assert_int_equal(handoff_baton_wait_until(baton, 1, 0), 0);
		assert_int_equal(handoff_baton_pass(baton, 0), 0);
	}
	e = handoff_baton_wait_until(baton, 0, soon(BOUND));

	if (e == EOWNERDEAD && !once_more)
		return;
	assert_int_equal(e, 0);
}

/* What there is is taken away; then what is given is found. */
static void get_given(const struct primitive *p, struct room *r)
{
	while (p->wait(r, 0) == 0)
		;
	assert_int_equal(p->wait(r, 0), ETIMEDOUT);
	assert_int_equal(p->let_go(r), 0);
	assert_int_equal(p->wait(r, soon(BOUND)), 0);
	assert_int_equal(p->wait(r, 0), ETIMEDOUT);
}

static void assert_usable(const struct call *x, struct room *r)
{
	for (int once_more = 0; once_more < 2; once_more++)
		switch (x->at) {
		case AT_MUTEX:
			get_mutex(&r->mutex, once_more);
			break;
		case AT_READ:
		case AT_WRITE:
			get_rwlock(&r->rwlock, once_more);
			break;
		case AT_COND:
			get_mutex(&r->beside, once_more);
			break;
		case AT_BATON:
			get_turn(x, &r->baton, once_more);
			break;
		case AT_BARRIER:
			assert_int_equal(handoff_barrier_wait_until(&r->barrier,
			                     NULL, soon(BOUND)),
			    EOWNERDEAD);
			break;
		default:
			get_given(&primitives[x->at], r);
			break;
		}
	if (x->at == AT_COND) {
		r->ready = 0;
		get_given(&primitives[x->at], r);
	}
}

/* ---- One run -------------------------------------------------------------- */

unsigned step_through(const struct call *x, unsigned n, int *alive)
{
	const struct made made = { HANDOFF_WAIT_BLOCK, 0 };
	struct room *r = make_room(ROOM, &made);
	struct led l = { .x = x, .r = r };
	const struct primitive *p = &primitives[x->at];
	pid_t waiter = 0;
	unsigned made_steps;

	assert_non_null(r);
	if (x->setting == HELD && p->hold)
		assert_int_equal(p->hold(r), 0);
	if (x->setting == READ)
		assert_int_equal(handoff_rwlock_rdlock(&r->rwlock), 0);
	if (x->setting == DEAD)
		kill_one_that_holds(x, r);
	l.victim = start_victim(x, r);
	if (x->setting == WAITED)
		waiter = start_waiter(x, r);
	made_steps = lead(&l, n, alive);
	end_victim(l.victim, *alive);
	let_go(&l);
	if (waiter)
		end_waiter(x, r, waiter);
	assert_usable(x, r);
	close_room(r, ROOM);
	return made_steps;
}

/* ---- Whether it can be done ----------------------------------------------- */

int may_step(void)
{
	pid_t pid = fork_part();
	int status;

	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0)
			_exit(77);
		raise(SIGSTOP);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return 0;
	status = ptrace(PTRACE_SINGLESTEP, pid, 0, 0) == 0 ? 0 : -1;
	if (status == 0)
		waitpid(pid, NULL, 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return status == 0;
}
