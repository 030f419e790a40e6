/* SPDX-License-Identifier: ISC */
/*
 * A ring of processes pass a baton round and count.  The count needs no lock,
 * since only the one whose turn it is looks at it.  If one of them dies the
 * ring is broken, and all go home.
 */
#include <errno.h>
#include <handoff.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define MEMBERS 5u
#define ROUNDS 200u

struct ring {
	handoff_baton baton;
	unsigned turns; /* so far */
	int broken;
};

/* Runs before anyone else can see the name; the memory is zero. */
static int lay(void *memory, size_t bytes, void *arg)
{
	struct ring *r = memory;

	(void)bytes;
	(void)arg;
	return handoff_baton_init(&r->baton, MEMBERS, NULL);
}

static int join(struct ring **r, const char *name)
{
	struct handoff_segment_options options = {
		.size = sizeof(options),
		.bytes = sizeof(struct ring),
		.init = lay,
	};
	handoff_segment *segment;
	int e = handoff_segment_open(&segment, name, HANDOFF_CREATE, 0600,
	    &options);

	*r = e == 0 ? handoff_segment_memory(segment) : NULL;
	return e;
}

/* A turn, which came with this result; not 0: there will be no other. */
static int count(struct ring *r, unsigned me, int e)
{
	if (e == EOWNERDEAD)
		r->broken = 1; /* we have the turn, and tell the others */
	else if (e != 0)
		return e;
	if (r->broken)
		return EOWNERDEAD;
	if (r->turns % MEMBERS != me)
		return ERANGE; /* it came out of order */
	r->turns++;
	return 0;
}

/* Who gives up keeps the turn and ends; so the next is told of a death. */
static int run(struct ring *r, unsigned me)
{
	unsigned next = (me + 1) % MEMBERS;
	int e = count(r, me, handoff_baton_wait(&r->baton, me));

	for (unsigned i = 1; i < ROUNDS && e == 0; i++)
		e = count(r, me, handoff_baton_switch(&r->baton, me, next));
	return e == 0 ? handoff_baton_pass(&r->baton, next) : e;
}

static pid_t start(const char *name, unsigned me)
{
	struct ring *r;
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	alarm(60); /* nobody waits for ever */

	int e = join(&r, name);
	if (e == 0)
		e = run(r, me);
	if (e != 0)
		fprintf(stderr, "ring: %u: %s\n", me, handoff_strerror(e));
	exit(e != 0);
}

int main(void)
{
	char name[64];
	pid_t pids[MEMBERS];
	unsigned n = 0;
	int bad;
	int status;
	struct ring *r;

	snprintf(name, sizeof(name), "ring.%ld", (long)getpid());
	while (n < MEMBERS && (pids[n] = start(name, n)) > 0)
		n++;
	bad = n < MEMBERS; /* the others end by their alarm */
	while (n > 0)
		bad |= waitpid(pids[--n], &status, 0) < 0 || status != 0;

	if (join(&r, name) != 0)
		return 1;
	printf("%u turns, %u expected\n", r->turns, MEMBERS * ROUNDS);
	bad |= r->turns != MEMBERS * ROUNDS;
	handoff_close(r);
	return handoff_unlink(name) != 0 || bad;
}
