/* SPDX-License-Identifier: ISC */
/*
 * Boost.Interprocess as vias.  Functions of struct via, written in C++; no
 * exception leaves them.
 */
#ifndef BENCH_VIA_BOOST_H
#define BENCH_VIA_BOOST_H

#include "via.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VIA_BOOST_TURNS(way)                                                \
	int via_boost_##way##_call(struct via_side *side, uint64_t rounds); \
	int via_boost_##way##_serve(struct via_side *side);

#define VIA_BOOST_WAY(way)                                   \
	int via_boost_##way##_open(struct via_side *side);   \
	void via_boost_##way##_close(struct via_side *side); \
	void via_boost_##way##_unlink(const char *base);     \
	VIA_BOOST_TURNS(way)

#define VIA_BOOST_LOCKED(way)                               \
	int via_boost_##way##_begin(struct via_side *side); \
	int via_boost_##way##_end(struct via_side *side);

VIA_BOOST_WAY(named)
VIA_BOOST_LOCKED(named)
VIA_BOOST_TURNS(late)
VIA_BOOST_WAY(queue)
VIA_BOOST_WAY(spin_cond)
VIA_BOOST_LOCKED(spin_cond)
VIA_BOOST_WAY(spin_sem)

#ifdef __cplusplus
}

#include <cerrno>
#include <exception>
#include <new>
#include <boost/interprocess/exceptions.hpp>

/* Returns what `work` returns, or an errno value for what it throws. */
template <class Work> int via_boost_guard(Work work) noexcept
{
	try {
		return work();
	} catch (const boost::interprocess::interprocess_exception &thrown) {
		int e = static_cast<int>(thrown.get_native_error());

		return e != 0 ? e : EIO;
	} catch (const std::bad_alloc &) {
		return ENOMEM;
	} catch (...) {
		return EIO;
	}
}

/* Late: unlocks first, then signals; as in via_peers.c. */
template <bool late, class Lock, class Condition>
void via_boost_give(Lock &lock, Condition &changed, int &turn, int whose)
{
	turn = whose;
	if (late)
		lock.unlock();
	changed.notify_one();
	if (late)
		lock.lock();
}

/* The handing over with a mutex and a condition, in the same loop as with the
 * library's and the system's. */
template <bool late = false, class Lock, class Condition>
void via_boost_call(Lock &lock, Condition &changed, int &turn, uint64_t rounds)
{
	for (; rounds > 0; rounds--) {
		via_boost_give<late>(lock, changed, turn, 1);
		while (turn != 0)
			changed.wait(lock);
	}
}

template <bool late = false, class Lock, class Condition>
void via_boost_serve(Lock &lock, Condition &changed, int &turn,
    const struct via_side *side)
{
	for (bool last = false; !last;) {
		while (turn != 1)
			changed.wait(lock);
		last = via_is_last(side);
		via_boost_give<late>(lock, changed, turn, 0);
	}
}
#endif

#endif
