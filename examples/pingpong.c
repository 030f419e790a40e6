/* SPDX-License-Identifier: ISC */
/*
 * Two processes hand the turn to each other, 1,024 times there and back,
 * through a mutex and a condition in one named segment.
 */
#include <handoff.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRIPS 1024

struct table {
	handoff_mutex lock;
	handoff_cond changed;
	int turn;  /* whose: 0 or 1 */
	int moves; /* so far */
};

static void check(int result)
{
	if (result != 0) {
		fprintf(stderr, "pingpong: %s\n", handoff_strerror(result));
		exit(1);
	}
}

/* Runs before anyone else can see the name; the memory is zero. */
static int lay(void *memory, size_t bytes, void *arg)
{
	struct table *t = memory;
	int e = handoff_mutex_init(&t->lock, NULL);

	(void)bytes;
	(void)arg;
	return e != 0 ? e : handoff_cond_init(&t->changed, NULL);
}

static struct table *sit(const char *name)
{
	struct handoff_segment_options options = {
		.size = sizeof(options),
		.bytes = sizeof(struct table),
		.init = lay,
	};
	handoff_segment *segment;

	check(handoff_segment_open(&segment, name, HANDOFF_CREATE, 0600,
	    &options));
	return handoff_segment_memory(segment);
}

static void play(struct table *t, int me)
{
	for (int i = 0; i < TRIPS; i++) {
		check(handoff_mutex_lock(&t->lock));
		while (t->turn != me)
			check(handoff_cond_wait(&t->changed, &t->lock));
		t->turn = !me;
		t->moves++;
		check(handoff_cond_signal(&t->changed));
		check(handoff_mutex_unlock(&t->lock));
	}
}

int main(void)
{
	char name[64];
	int status;

	snprintf(name, sizeof(name), "pingpong.%ld", (long)getpid());

	pid_t child = fork();
	if (child < 0)
		return 1;
	alarm(60);                   /* neither waits for ever for the other */
	struct table *t = sit(name); /* the first to come makes it */
	play(t, child == 0);
	if (child == 0) {
		check(handoff_close(t));
		return 0;
	}
	if (wait(&status) != child || status != 0)
		return 1;
	status = t->moves != 2 * TRIPS;
	printf("%d handoffs, %d expected\n", t->moves, 2 * TRIPS);
	check(handoff_close(t));
	check(handoff_unlink(name));
	return status;
}
