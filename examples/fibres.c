/* SPDX-License-Identifier: ISC */
/*
 * Two fibres of one thread have numbers squared by another process.  While one
 * waits for its answer the other one works: a wait does not block their thread
 * but calls a function, which switches to the other fibre.
 */
#include <handoff.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define TASKS 1000u
#define STACK (64 * 1024)

/* What a fibre and the other process hand to each other. */
struct desk {
	handoff_sem asked;
	handoff_sem answered;
	unsigned number;
};

struct fibre {
	ucontext_t context;
	struct desk *desk;
	unsigned done; /* tasks */
	char stack[STACK];
};

static struct fibre fibres[2];
static struct fibre *running = &fibres[0];
static ucontext_t start;

static void check(int result)
{
	if (result != 0) {
		fprintf(stderr, "fibres: %s\n", handoff_strerror(result));
		exit(1);
	}
}

/* ---- The other process --------------------------------------------------- */

static void answer(struct desk *desk)
{
	struct handoff_item asked[2] = {
		{ .object = &desk[0].asked },
		{ .object = &desk[1].asked },
	};

	for (unsigned i = 0; i < 2 * TASKS; i++) {
		size_t which;

		check(handoff_wait_any(asked, 2, &which));
		desk[which].number *= desk[which].number;
		check(handoff_sem_post(&desk[which].answered, 1));
	}
}

/* ---- The fibres ---------------------------------------------------------- */

/* What a wait does: the other fibre goes on.  This one looks again when that
 * one waits in its turn. */
static void wait_in_fibre(unsigned iteration, uint64_t waited_ns, void *ctx)
{
	static unsigned idle; /* steps since one of them began to wait */
	struct fibre *me = running;
	struct fibre *other = me == &fibres[0] ? &fibres[1] : &fibres[0];

	(void)waited_ns;
	(void)ctx;
	if (iteration == 0)
		idle = 0;
	handoff_yield(idle++);
	if (other->done == TASKS)
		return;
	running = other;
	swapcontext(&me->context, &other->context);
}

static void work(void)
{
	struct fibre *me = running;
	struct desk *desk = me->desk;

	while (me->done < TASKS) {
		desk->number = me->done;
		check(handoff_sem_post(&desk->asked, 1));
		check(handoff_sem_wait(&desk->answered));
		if (desk->number != me->done * me->done)
			exit(1);
		me->done++;
	}

	struct fibre *other = me == &fibres[0] ? &fibres[1] : &fibres[0];
	running = other;
	setcontext(other->done < TASKS ? &other->context : &start);
}

static void run(struct desk *desk)
{
	for (int i = 0; i < 2; i++) {
		struct fibre *f = &fibres[i];

		f->desk = &desk[i];
		getcontext(&f->context);
		f->context.uc_stack.ss_sp = f->stack;
		f->context.uc_stack.ss_size = sizeof(f->stack);
		makecontext(&f->context, work, 0);
	}
	check(handoff_idle(wait_in_fibre, NULL));
	swapcontext(&start, &fibres[0].context);
	check(handoff_idle(NULL, NULL));
}

/* ---- Both ---------------------------------------------------------------- */

/* Runs before anyone else can see the name; the memory is zero. */
static int lay(void *memory, size_t bytes, void *arg)
{
	struct desk *desk = memory;
	int e = 0;

	(void)bytes;
	(void)arg;
	for (int i = 0; i < 2 && e == 0; i++) {
		e = handoff_sem_init(&desk[i].asked, 0, NULL);
		if (e == 0)
			e = handoff_sem_init(&desk[i].answered, 0, NULL);
	}
	return e;
}

int main(void)
{
	struct handoff_segment_options options = {
		.size = sizeof(options),
		.bytes = 2 * sizeof(struct desk),
		.init = lay,
	};
	struct handoff_thread_statistics did = { .size = sizeof(did) };
	handoff_segment *segment;
	char name[64];
	int status;

	snprintf(name, sizeof(name), "fibres.%ld", (long)getpid());
	check(handoff_segment_open(&segment, name, HANDOFF_CREATE, 0600,
	    &options));

	struct desk *desk = handoff_segment_memory(segment);
	pid_t child = fork();
	if (child < 0)
		return 1;
	alarm(60);        /* neither waits for ever for the other */
	if (child == 0) { /* it has the segment from its parent */
		answer(desk);
		return 0;
	}
	run(desk);
	if (wait(&status) != child)
		return 1;
	check(handoff_thread_statistics(&did));
	check(handoff_close(desk));
	check(handoff_unlink(name));
	printf("%u tasks done, %u expected; blocked %u times\n",
	    fibres[0].done + fibres[1].done, 2 * TASKS, (unsigned)did.parks);
	return status != 0 || did.parks != 0;
}
