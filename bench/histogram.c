/* SPDX-License-Identifier: ISC */
/*
 * The log-linear histogram.  Values below 2 * SUB have a bucket each; above,
 * the highest bit chooses a group of SUB buckets and the next bits one of it.
 */
#include "histogram.h"

#define SUB (1u << HISTOGRAM_SUB_BITS)

static unsigned index_of(uint64_t value)
{
	unsigned shift;

	if (value < SUB)
		return (unsigned)value;
	if (value >> HISTOGRAM_TOP_BITS)
		return HISTOGRAM_BUCKETS - 1;
	shift = 63u - (unsigned)__builtin_clzll(value) - HISTOGRAM_SUB_BITS;
	return (shift + 1) * SUB + ((unsigned)(value >> shift) - SUB);
}

static uint64_t middle_of(unsigned index)
{
	unsigned shift;
	uint64_t low;

	if (index < SUB)
		return index;
	shift = index / SUB - 1;
	low = (uint64_t)(index % SUB + SUB) << shift;
	return low + (((uint64_t)1 << shift) - 1) / 2;
}

static uint64_t clamp(uint64_t value, uint64_t min, uint64_t max)
{
	if (value < min)
		return min;
	return value > max ? max : value;
}

void histogram_record(struct histogram *h, uint64_t value)
{
	if (h->count++ == 0 || value < h->min)
		h->min = value;
	if (value > h->max)
		h->max = value;
	h->buckets[index_of(value)]++;
}

uint64_t histogram_quantile(const struct histogram *h, double q)
{
	double rank = q * (double)h->count;
	uint64_t seen = 0;
	unsigned i;

	for (i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += h->buckets[i];
		if (h->buckets[i] && (double)seen >= rank)
			return clamp(middle_of(i), h->min, h->max);
	}
	return h->max;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
	unsigned i;

	if (from->count == 0)
		return;
	if (into->count == 0 || from->min < into->min)
		into->min = from->min;
	if (from->max > into->max)
		into->max = from->max;
	into->count += from->count;
	for (i = 0; i < HISTOGRAM_BUCKETS; i++)
		into->buckets[i] += from->buckets[i];
}
