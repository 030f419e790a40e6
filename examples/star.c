/* SPDX-License-Identifier: ISC */
/*
 * A coordinator hands tasks to workers, one after the other, and checks what
 * they answer.  Party 0 of the baton is the coordinator.  The task of a worker
 * that dies is given to another.
 */
#include <errno.h>
#include <handoff.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKERS 4u
#define TASKS 1000u
#define MINUTE ((uint64_t)60 * 1000000000)

/* Only the one whose turn it is looks at it. */
struct star {
	handoff_baton baton;
	uint32_t task;   /* a number to square; 0: go home */
	uint32_t answer; /* 0: none */
	uint32_t relay;  /* who passes on the turn of one that died */
};

/* Runs before anyone else can see the name; the memory is zero. */
static int lay(void *memory, size_t bytes, void *arg)
{
	struct star *s = memory;

	(void)bytes;
	(void)arg;
	return handoff_baton_init(&s->baton, 1 + WORKERS, NULL);
}

/*
 * Who is told of a death passes the turn to the coordinator, which finds no
 * answer.  If it comes back so, the coordinator has died.
 */
static int work(struct star *s, uint32_t me)
{
	int e = handoff_baton_wait(&s->baton, me);

	while (e == 0 ? s->task != 0 : e == EOWNERDEAD && s->relay != me) {
		s->answer = e == 0 ? s->task * s->task : 0;
		s->relay = e == 0 ? 0 : me;
		e = handoff_baton_switch(&s->baton, me, 0);
	}
	return e == 0 ? handoff_baton_pass(&s->baton, 0) : e;
}

/* The answer of a worker to a task, or 0. */
static uint32_t ask(struct star *s, uint32_t worker, uint32_t task)
{
	s->task = task;
	s->answer = 0;
	s->relay = 0;

	int e = handoff_baton_switch_until(&s->baton, 0, worker,
	    handoff_after(MINUTE));
	return e == 0 ? s->answer : 0;
}

/* With workers 1 to n: how many tasks were done well. */
static uint32_t coordinate(struct star *s, uint32_t n)
{
	uint32_t here[WORKERS], answer, done = 0;

	for (uint32_t i = 0; i < n; i++)
		here[i] = i + 1;
	for (uint32_t task = 1; task <= TASKS && n > 0; task += answer != 0) {
		uint32_t i = task % n;

		answer = ask(s, here[i], task);
		if (answer == 0)
			here[i] = here[--n]; /* another gets its task */
		done += answer == task * task;
	}
	while (n > 0)
		ask(s, here[--n], 0);
	return done;
}

int main(void)
{
	struct handoff_segment_options options = {
		.size = sizeof(options),
		.bytes = sizeof(struct star),
		.init = lay,
	};
	handoff_segment *segment;
	char name[64];
	uint32_t n = 0, done = 0;
	int bad, status;
	pid_t pid = 1;

	snprintf(name, sizeof(name), "star.%ld", (long)getpid());
	if (handoff_segment_open(&segment, name, HANDOFF_CREATE, 0600,
	        &options) != 0)
		return 1;

	struct star *s = handoff_segment_memory(segment);
	while (n < WORKERS && (pid = fork()) > 0)
		n++;
	if (pid == 0) { /* it has the segment from its parent */
		alarm(60);
		exit(work(s, n + 1) != 0);
	}
	if (handoff_baton_wait(&s->baton, 0) == 0)
		done = coordinate(s, n);
	bad = done != TASKS || handoff_close(s) != 0;
	while (wait(&status) > 0)
		bad |= status != 0;
	handoff_unlink(name);
	printf("%u tasks done, %u expected\n", done, TASKS);
	return bad;
}
