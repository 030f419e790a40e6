/* SPDX-License-Identifier: ISC */
/*
 * A log-linear histogram of durations in ns: 128 buckets for each power of
 * two.  A quantile is the middle of a bucket and off by less than 0.4 %;
 * below 256 ns, and for the least and the greatest value, it is exact.
 */
#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_SUB_BITS 7
#define HISTOGRAM_TOP_BITS 40 /* 18 minutes; what is longer counts as that */
#define HISTOGRAM_BUCKETS \
	((HISTOGRAM_TOP_BITS - HISTOGRAM_SUB_BITS + 1) << HISTOGRAM_SUB_BITS)

/* At most, of a quantile: half of a bucket's width by its least value. */
#define HISTOGRAM_ERROR 0.004

struct histogram {
	uint64_t count;
	uint64_t min;
	uint64_t max;
	uint64_t buckets[HISTOGRAM_BUCKETS];
};

/* Adds a value to a histogram, which is empty when it is all zero. */
void histogram_record(struct histogram *h, uint64_t value);

/* The value that the fraction `q` of all does not exceed; 0 without any. */
uint64_t histogram_quantile(const struct histogram *h, double q);

/* Adds all of `from` to `into`. */
void histogram_merge(struct histogram *into, const struct histogram *from);

#endif
