/* SPDX-License-Identifier: ISC */
/*
 * What Boost.Interprocess's named_mutex costs: where there is Boost.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "costs.h"
#include "costs_boost.h"

#define NAME "boost-named-mutex"

#ifdef HAVE_BOOST

static const struct cost costs[] = {
	{ NAME, COSTS_LOCK, .batch = costs_boost_batch,
	    .acquire = costs_boost_acquire, .release = costs_boost_release },
};

static const struct duel duels[] = {
	{ NAME, .own = costs_boost_lock, .wait = costs_boost_lock,
	    .give = costs_boost_unlock, .leave = costs_boost_unlock },
};

const struct costs_group costs_boost = {
	.name = NAME,
	.open = costs_boost_open,
	.join = costs_boost_join,
	.unlink = costs_boost_unlink,
	.close = costs_boost_close,
	.costs = costs,
	.count = sizeof(costs) / sizeof(costs[0]),
	.duels = duels,
	.duel_count = sizeof(duels) / sizeof(duels[0]),
};

#else

const struct costs_group costs_boost = { .name = NAME, .missing = NO_BOOST };

#endif
