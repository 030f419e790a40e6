/* SPDX-License-Identifier: ISC */
/*
 * Takes the signals that end the bench, and leaves them again.
 */
#define _GNU_SOURCE 1
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "signals.h"

static struct {
	int number;
	bool taken;
} signals[] = { { .number = SIGINT }, { .number = SIGTERM },
	{ .number = SIGHUP }, { .number = SIGQUIT } };
#define SIGNALS (sizeof(signals) / sizeof(signals[0]))

void signals_take(void (*handler)(int), sigset_t *taken)
{
	struct sigaction action, old;
	size_t i;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	sigemptyset(&action.sa_mask);
	for (i = 0; i < SIGNALS; i++) {
		sigaction(signals[i].number, NULL, &old);
		if (old.sa_handler == SIG_IGN)
			continue;
		sigaction(signals[i].number, &action, NULL);
		signals[i].taken = true;
		sigaddset(taken, signals[i].number);
	}
}

void signals_leave(void (*action)(int))
{
	size_t i;

	for (i = 0; i < SIGNALS; i++) {
		if (signals[i].taken)
			signal(signals[i].number, action);
	}
}
