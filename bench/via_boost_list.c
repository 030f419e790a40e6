/* SPDX-License-Identifier: ISC */
/*
 * Peers, continued: Boost.Interprocess.
 *
 *	boost-named-cond  named_mutex and named_condition as Boost makes them
 *	                  on this system
 *	boost-late-named-cond
 *	                  the same, but it unlocks before it signals
 *	boost-spin-cond   interprocess_mutex and interprocess_condition in
 *	                  shared memory, in the form that Boost has for
 *	                  systems which offer it nothing
 *	boost-spin-sem    two interprocess_semaphore of that form
 *	boost-mq          two message_queue, a byte for each turn
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "via_boost.h"

#ifdef HAVE_BOOST

#define WAY(way, turns)                                                       \
	.open = via_boost_##way##_open, .call = via_boost_##turns##_call,     \
	.serve = via_boost_##turns##_serve, .close = via_boost_##way##_close, \
	.unlink = via_boost_##way##_unlink
#define LOCKED(way) \
	.begin = via_boost_##way##_begin, .end = via_boost_##way##_end

#else

static const char *missing(void)
{
	return NO_BOOST;
}

#define WAY(way, turns) .missing = missing
#define LOCKED(way) .end = NULL

#endif

const struct via via_boost[] = {
	{
	    .name = "boost-named-cond",
	    .group = VIA_PEERS,
	    WAY(named, named),
	    LOCKED(named),
	},
	{
	    .name = "boost-late-named-cond",
	    .group = VIA_PEERS,
	    WAY(named, late),
	    LOCKED(named),
	},
	{
	    .name = "boost-spin-cond",
	    .group = VIA_PEERS,
	    WAY(spin_cond, spin_cond),
	    LOCKED(spin_cond),
	},
	{
	    .name = "boost-spin-sem",
	    .group = VIA_PEERS,
	    WAY(spin_sem, spin_sem),
	},
	{ .name = "boost-mq", .group = VIA_PEERS, WAY(queue, queue) },
};
const size_t via_boost_count = sizeof(via_boost) / sizeof(via_boost[0]);
