/* SPDX-License-Identifier: ISC */
/*
 * What the bench asks of Windows.
 */
#include "api.h"

#include <bcrypt.h>
#include <stdio.h>
#include <string.h>

#include "../bench.h"
#include "../report.h"
#include "../system.h"

#define SECOND 1000000000u
#define MS 1000000u

const bool system_counts_switches = false;

uint64_t bench_now(void)
{
	static uint64_t frequency;
	LARGE_INTEGER n;
	uint64_t t;

	if (frequency == 0) {
		QueryPerformanceFrequency(&n);
		frequency = (uint64_t)n.QuadPart;
	}
	QueryPerformanceCounter(&n);
	t = (uint64_t)n.QuadPart;
	return t / frequency * SECOND + t % frequency * SECOND / frequency;
}

static uint64_t ns_of(FILETIME t)
{
	return ((uint64_t)t.dwHighDateTime << 32 | t.dwLowDateTime) * 100;
}

uint64_t bench_cpu_now(void)
{
	FILETIME began, ended, kernel, user;

	if (!GetProcessTimes(GetCurrentProcess(), &began, &ended, &kernel,
	        &user))
		return 0;
	return ns_of(kernel) + ns_of(user);
}

void bench_yield(void)
{
	SwitchToThread();
}

uint64_t system_bits(void)
{
	uint64_t bits;

	if (BCryptGenRandom(NULL, (unsigned char *)&bits, sizeof(bits),
	        BCRYPT_USE_SYSTEM_PREFERRED_RNG) != 0)
		bits = bench_now();
	return bits;
}

/* A sleep may end a little early. */
void system_sleep(uint64_t until)
{
	uint64_t now;

	for (now = bench_now(); now < until; now = bench_now())
		Sleep((DWORD)((until - now + MS - 1) / MS));
}

unsigned system_cpus(void)
{
	return GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
}

/* What is named goes with the last process that has it open. */
void system_hold_signals(void)
{
}

void system_release_signals(void)
{
}

/* ---- the machine ------------------------------------------------------- */

void report_cpu(char *model, size_t bytes)
{
	DWORD n = (DWORD)bytes;
	SYSTEM_INFO info;

	if (RegGetValueA(HKEY_LOCAL_MACHINE,
	        "HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0",
	        "ProcessorNameString", RRF_RT_REG_SZ, NULL, model,
	        &n) == ERROR_SUCCESS)
		return;
	GetNativeSystemInfo(&info);
	snprintf(model, bytes, "architecture %u", info.wProcessorArchitecture);
}

/* The version as it is, not as it is told to programs of older ones. */
void report_kernel(char *kernel, size_t bytes)
{
	char build[64] = "?";
	DWORD n = sizeof(build);

	RegGetValueA(HKEY_LOCAL_MACHINE,
	    "SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion",
	    "CurrentBuildNumber", RRF_RT_REG_SZ, NULL, build, &n);
	snprintf(kernel, bytes, "Windows, build %s", build);
}
