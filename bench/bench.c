/* SPDX-License-Identifier: ISC */
/*
 * What all files of handoff-bench share.
 */
#define _GNU_SOURCE 1
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"
#include "system.h"

const char *bench_path;

void bench_name(char name[BENCH_NAME_MAX], unsigned serial)
{
	snprintf(name, BENCH_NAME_MAX, BENCH_TOOL ".%ld.%08x.%u",
	    (long)getpid(), (unsigned)system_bits(), serial);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare);
	return (values[(n - 1) / 2] + values[n / 2]) / 2;
}
