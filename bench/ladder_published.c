/* SPDX-License-Identifier: ISC */
/*
 * What others have published about the rungs.  Other machines, other years:
 * to be shown beside what is measured and never mixed with it.
 */
#define _GNU_SOURCE 1
#include "ladder.h"

enum { CONSOLE, NEWER, CORE2, SERVER, XEON, RESEARCH };

const struct elsewhere ladder_elsewhere[] = {
	[CONSOLE] = { "console",
	    "games console, 8 cores in two modules, 1.75 GHz" },
	[NEWER] = { "console2", "games console, newer model, 2.3 GHz" },
	[CORE2] = { "core2",
	    "Core 2 Duo, Windows 7, Boost named mutex and condition" },
	[SERVER] = { "server", "C++ server framework" },
	[XEON] = { "xeon", "Xeon 2.2 GHz, Boost.Context" },
	[RESEARCH] = { "research", "research OS" },
};
const size_t ladder_elsewhere_count = sizeof(ladder_elsewhere) /
    sizeof(ladder_elsewhere[0]);

#define OF(machine) &ladder_elsewhere[machine]

const struct published ladder_published[] = {
	{ "atomic", 50, OF(CONSOLE), "critical section, not contended" },
	{ "atomic", 39, OF(NEWER), "critical section, not contended" },
	{ "atomic", 120, OF(CONSOLE), "wait on address, nothing to wait for" },
	{ "setjmp", 130, OF(SERVER), "thread switch by setjmp and longjmp" },
	{ "setjmp", 110, OF(SERVER), "thread switch by its own assembly" },
	{ "setjmp", 9, OF(XEON), "switch" },
	{ "swapcontext", 216, OF(RESEARCH), "switch by its thread scheduler" },
	{ "swapcontext", 48, OF(RESEARCH), "switch, direct" },
	{ "syscall", 500, OF(CONSOLE), "kernel object: release, uncontended" },
	{ "syscall", 530, OF(CONSOLE), "kernel object: acquire, uncontended" },
	{ "syscall", 320, OF(NEWER), "kernel object: release, uncontended" },
	{ "syscall", 1143, OF(CONSOLE), "kernel transition, 2,000 cycles" },
	{ "syscall", 1714, OF(CONSOLE), "kernel transition, 3,000 cycles" },
	{ "yield", 300, OF(CORE2), "switch, the yield offers the CPU" },
	{ "futex-cross", 4000, OF(CONSOLE), "release with a waiter" },
	{ "futex-cross", 6000, OF(CONSOLE),
	    "release with a waiter, other module" },
	{ "futex-cross", 10500, OF(CONSOLE), "from release to running" },
	{ "futex-cross", 14000, OF(CONSOLE),
	    "from release to running, other module" },
	{ "sleep", 20e6, OF(CORE2), "switch, the yield sleeps" },
	{ "atomic-split", 2025, OF(RESEARCH),
	    "thread switch with an add across lines" },
	{ "atomic-split", 230, OF(RESEARCH),
	    "thread switch with mfence instead" },
};
const size_t ladder_published_count = sizeof(ladder_published) /
    sizeof(ladder_published[0]);
