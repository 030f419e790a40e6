/* SPDX-License-Identifier: ISC */
/* What the machine offers this process: CPUs, a quota of their time, a class of
 * scheduling. */
#include "system.h"

#include "port.h"

#define SECOND 1000000000u

/* ---- Answers that hold for a while ------------------------------------- */

struct answer {
	_Atomic uint64_t asked;
	_Atomic unsigned value;
};

/* Relaxed, all: threads may ask at the same time, and either answer is
 * right. */
static unsigned every(struct answer *answer, uint64_t ns, unsigned (*ask)(void))
{
	uint64_t now = handoff__clock();
	uint64_t asked = atomic_load_explicit(&answer->asked,
	    memory_order_relaxed);
	unsigned value;

	if (asked != 0 && now - asked <= ns)
		return atomic_load_explicit(&answer->value,
		    memory_order_relaxed);
	value = ask();
	atomic_store_explicit(&answer->value, value, memory_order_relaxed);
	atomic_store_explicit(&answer->asked, now, memory_order_relaxed);
	return value;
}

static unsigned online(void)
{
	DWORD n = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);

	return n > 0 ? n : 1;
}

unsigned handoff__cpus(void)
{
	static struct answer answer;
	unsigned n = every(&answer, 10 * (uint64_t)SECOND, online);

	/* Another thread may have asked first and not have written it yet. */
	return n > 0 ? n : online();
}

/* Of the job that this process is in, where that has a hard limit: hundredths
 * of a percent of all CPUs. */
static unsigned quota(void)
{
	JOBOBJECT_CPU_RATE_CONTROL_INFORMATION rate = { 0 };
	const DWORD hard = JOB_OBJECT_CPU_RATE_CONTROL_ENABLE |
	    JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP;

	if (!QueryInformationJobObject(NULL, JobObjectCpuRateControlInformation,
	        &rate, sizeof rate, NULL) ||
	    (rate.ControlFlags & hard) != hard)
		return 0;
	return (unsigned)((uint64_t)rate.CpuRate * online() / 10);
}

unsigned handoff__quota(void)
{
	static struct answer answer;

	return every(&answer, 60 * (uint64_t)SECOND, quota);
}

int handoff__realtime(void)
{
	return GetPriorityClass(GetCurrentProcess()) ==
	    REALTIME_PRIORITY_CLASS ||
	    GetThreadPriority(GetCurrentThread()) ==
	    THREAD_PRIORITY_TIME_CRITICAL;
}

uint64_t handoff__affinity(void)
{
	GROUP_AFFINITY at = { 0 };

	if (!GetThreadGroupAffinity(GetCurrentThread(), &at))
		return 0;
	return ((uint64_t)at.Mask ^ at.Group) * 0x9e3779b97f4a7c15u;
}

/* It does not tell. */
unsigned handoff__runnable(void)
{
	return 0;
}
