/* SPDX-License-Identifier: ISC */
/*
 * What a part of a trial asks of Windows.  It reads from its standard input and
 * writes to its standard output, which are pipes.  It is in a job that ends it
 * with the bench.
 */
#include "api.h"

#include "../part.h"

static HANDLE from_bench, to_bench;

void part_begin(void)
{
	from_bench = GetStdHandle(STD_INPUT_HANDLE);
	to_bench = GetStdHandle(STD_OUTPUT_HANDLE);
}

void part_limit(const struct job *job)
{
	(void)job;
}

bool part_follow(const struct job *job)
{
	(void)job;
	return true;
}

bool part_receive(void *data, size_t bytes)
{
	char *into = data;
	DWORD n;

	while (bytes > 0) {
		if (!ReadFile(from_bench, into, (DWORD)bytes, &n, NULL) ||
		    n == 0)
			return false;
		into += n;
		bytes -= n;
	}
	return true;
}

bool part_transmit(const void *data, size_t bytes)
{
	const char *from = data;
	DWORD n;

	while (bytes > 0) {
		if (!WriteFile(to_bench, from, (DWORD)bytes, &n, NULL))
			return false;
		from += n;
		bytes -= n;
	}
	return true;
}

void part_usage(struct usage *usage)
{
	usage->cpu_ns = bench_cpu_now();
}
