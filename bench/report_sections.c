/* SPDX-License-Identifier: ISC */
/*
 * What the page of handoff-bench report shows, and how it is to be read.
 */
#define _GNU_SOURCE 1
#include <stddef.h>

#include "report_page.h"

static const struct page_column round_trips[] = {
	{ "via", "via", PAGE_TEXT },
	{ "group", "group", PAGE_TEXT },
	{ "ratio", "to floor", PAGE_RATIO },
	{ "peer_ratio", "to best peer", PAGE_RATIO },
	{ "mean_ns", "mean", PAGE_TIME },
	{ "min_ns", "min", PAGE_TIME },
	{ "p50_ns", "p50", PAGE_TIME },
	{ "p90_ns", "p90", PAGE_TIME },
	{ "p99_ns", "p99", PAGE_TIME },
	{ "p999_ns", "p99.9", PAGE_TIME },
	{ "max_ns", "max", PAGE_TIME },
	{ "cpu", "CPU s/s", PAGE_RATIO },
	{ "blocked", "blocks", PAGE_RATIO },
	{ "switches_per_s", "handoffs/s", PAGE_COUNT },
	{ NULL, NULL, PAGE_TEXT },
};

static const struct page_column works[] = {
	{ "via", "via", PAGE_TEXT },
	{ "group", "group", PAGE_TEXT },
	{ "ratio", "to floor", PAGE_RATIO },
	{ "peer_ratio", "to best peer", PAGE_RATIO },
	{ "p50_ns", "p50", PAGE_TIME },
	{ "excess_ns", "p50 less work", PAGE_TIME },
	{ "p99_ns", "p99", PAGE_TIME },
	{ "cpu", "CPU s/s", PAGE_RATIO },
	{ "blocked", "blocks", PAGE_RATIO },
	{ NULL, NULL, PAGE_TEXT },
};

static const struct page_column wakes[] = {
	{ "via", "via", PAGE_TEXT },
	{ "group", "group", PAGE_TEXT },
	{ "ratio", "to floor", PAGE_RATIO },
	{ "peer_ratio", "to best peer", PAGE_RATIO },
	{ "wake_mean_ns", "mean", PAGE_TIME },
	{ "wake_min_ns", "min", PAGE_TIME },
	{ "wake_p50_ns", "p50", PAGE_TIME },
	{ "wake_p90_ns", "p90", PAGE_TIME },
	{ "wake_p99_ns", "p99", PAGE_TIME },
	{ "cpu", "CPU s/s", PAGE_RATIO },
	{ "slept_ns", "gap as it was", PAGE_TIME },
	{ NULL, NULL, PAGE_TEXT },
};

static const struct page_column costs[] = {
	{ "via", "via", PAGE_TEXT },
	{ "group", "group", PAGE_TEXT },
	{ "ratio", "to peer", PAGE_RATIO },
	{ "peer", "peer", PAGE_TEXT },
	{ "min_ns", "min", PAGE_TIME },
	{ "p50_ns", "p50", PAGE_TIME },
	{ "p99_ns", "p99", PAGE_TIME },
	{ "p50_cycles", "cycles", PAGE_NUMBER },
	{ "samples", "samples", PAGE_NUMBER },
	{ NULL, NULL, PAGE_TEXT },
};

static const struct page_column fairness[] = {
	{ "via", "via", PAGE_TEXT },
	{ "process", "process", PAGE_NUMBER },
	{ "acquired", "acquired", PAGE_COUNT },
	{ "share", "share", PAGE_RATIO },
	{ "changes", "changes", PAGE_COUNT },
	{ "longest_ns", "longest wait", PAGE_TIME },
	{ "ns_per_acquire", "per acquire", PAGE_TIME },
	{ NULL, NULL, PAGE_TEXT },
};

static const struct page_column ladder[] = {
	{ "rung", "rung", PAGE_TEXT },
	{ "row", "", PAGE_TEXT },
	{ "p50_ns", "p50", PAGE_TIME },
	{ "min_ns", "min", PAGE_TIME },
	{ "max_ns", "max", PAGE_TIME },
	{ "published_ns", "published", PAGE_TIME },
	{ "what", "what", PAGE_TEXT },
	{ "source", "published where", PAGE_TEXT },
	{ NULL, NULL, PAGE_TEXT },
};

static const struct page_column idle[] = {
	{ "via", "via", PAGE_TEXT },
	{ "group", "group", PAGE_TEXT },
	{ "cpu_ms_per_s", "CPU ms/s", PAGE_FINE },
	{ "wakes_per_s", "wakes/s", PAGE_RATIO },
	{ "switches_per_s", "switches/s", PAGE_RATIO },
	{ "what", "what", PAGE_TEXT },
	{ NULL, NULL, PAGE_TEXT },
};

#define ROUND_TRIPS_HOW                                                      \
	"Times are those of a round trip, two handoffs; a ratio below 1 is " \
	"faster than the floor or the fastest peer of this table, and "      \
	"<i>CPU s/s</i> is what both processes use meanwhile."
#define ROUND_TRIPS_PLOTS                                                   \
	"Left to right the best to the worst round trips: a low, flat "     \
	"curve is fast and steady. In the second picture the best are low " \
	"and on the left."
#define FEW "--via=cond,sem,baton,line2,futex,pthread-cond,posix-sem"

#define ROUND_TRIPS(place, text)                                               \
	{                                                                      \
		.id = place, .title = text, .how = ROUND_TRIPS_HOW,            \
		.plots = ROUND_TRIPS_PLOTS,                                    \
		.arguments = { "pingpong", "--place=" place, "--trials=3" },   \
		.timed = true, .pictures = { "latency-" place, "cpu-" place }, \
		.columns = round_trips,                                        \
	}

const struct page_section page_sections[] = {
	ROUND_TRIPS("cross", "Round trips: each process on a CPU of its own"),
	ROUND_TRIPS("same", "Round trips: both processes on one CPU"),
	ROUND_TRIPS("free", "Round trips: not pinned"),
	ROUND_TRIPS("busy2", "Round trips: beside two endless loops"),
	{
	    .id = "work",
	    .title = "Round trips with work, on two CPUs",
	    .how = "The other process computes before it answers: what is "
	           "left of the median when the work is taken off is the "
	           "cost of the handoffs, which the ratios compare.",
	    .plots = "Where a curve joins the diagonal the work hides the "
	             "handoffs.",
	    .arguments = { "pingpong", FEW, "--place=cross", "--trials=3",
	        "--work=0,1000,10000,100000" },
	    .timed = true,
	    .pictures = { "work-cross" },
	    .columns = works,
	    .keys = { "work_ns" },
	},
	{
	    .id = "gap",
	    .title = "Wakes after a gap, on two CPUs",
	    .how = "The other process has waited for the length of the gap: "
	           "times are those from giving the turn until the other has "
	           "it, which the ratios compare by their medians.",
	    .plots = "Where a curve steps up, who waits has given up its CPU.",
	    .arguments = { "pingpong", FEW, "--place=cross", "--trials=3",
	        "--gap=10000,100000,1000000,10000000" },
	    .pictures = { "gap-cross" },
	    .columns = wakes,
	    .keys = { "gap_ns" },
	},
	{
	    .id = "costs",
	    .title = "Single operations",
	    .how = "A ratio below 1 is faster than the peer beside it; what "
	           "has samples was measured with a second process that "
	           "waits.",
	    .arguments = { "costs", "--trials=3" },
	    .columns = costs,
	    .keys = { "what" },
	},
	{
	    .id = "fairness",
	    .title = "Contended locks",
	    .how = "Two processes lock and unlock in tight loops: a fair lock "
	           "gives each a share near 0.5 and has a short longest wait.",
	    .arguments = { "fairness" },
	    .columns = fairness,
	},
	{
	    .id = "ladder",
	    .title = "Ladder of costs",
	    .how = "From the cheapest to the dearest of what this machine "
	           "does, by the median; published figures are from other "
	           "machines and are to compare magnitudes with.",
	    .arguments = { "ladder", "--trials=3" },
	    .columns = ladder,
	    .drop = { "row", "checked" },
	},
	{
	    .id = "idle",
	    .title = "Waiting for what does not come",
	    .how = "What one waiting process uses in each second: the less, "
	           "the better, and nothing is best.",
	    .arguments = { "idle", "--time=2" },
	    .columns = idle,
	},
};
const size_t page_section_count = sizeof(page_sections) /
    sizeof(page_sections[0]);
