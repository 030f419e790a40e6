/* SPDX-License-Identifier: ISC */
/*
 * Boost.Interprocess in the form that it has for systems which offer it
 * nothing: atomics and spin_wait, which pauses, yields and sleeps.
 */
#define BOOST_INTERPROCESS_FORCE_GENERIC_EMULATION

/* These classes are not those of via_boost.cc: two definitions under one name
 * would be linked as one. */
#define interprocess_mutex spin_interprocess_mutex
#define interprocess_condition spin_interprocess_condition
#define interprocess_semaphore spin_interprocess_semaphore

#include "via_boost.h"

#include <new>
#include <boost/interprocess/sync/interprocess_condition.hpp>
#include <boost/interprocess/sync/interprocess_mutex.hpp>
#include <boost/interprocess/sync/interprocess_semaphore.hpp>
#include <boost/interprocess/sync/scoped_lock.hpp>

namespace ipc = boost::interprocess;

static_assert(sizeof(ipc::interprocess_mutex) <= 8 &&
        sizeof(ipc::interprocess_semaphore) <= 8,
    "this Boost did not heed BOOST_INTERPROCESS_FORCE_GENERIC_EMULATION");

#define SPIN ".spin"

namespace
{

/* Opens memory for a T, which part 0 makes in it. */
template <class T> int open(T **object, const struct via_side *side)
{
	void *memory;
	int e = via_memory_open(&memory, side, SPIN, sizeof(T));

	if (e != 0)
		return e;
	*object = side->part == 0 ? new (memory) T() : static_cast<T *>(memory);
	return 0;
}

} // namespace

/* ---- boost-spin-cond --------------------------------------------------- */

namespace
{

struct shared {
	alignas(64) ipc::interprocess_mutex mutex;
	alignas(64) int turn = 0; /* under the mutex */
	alignas(64) ipc::interprocess_condition changed;
};

struct spin_cond {
	shared *memory;
	ipc::scoped_lock<ipc::interprocess_mutex> *lock;
};

spin_cond *cond_of(const struct via_side *side)
{
	return static_cast<spin_cond *>(side->own);
}

} // namespace

int via_boost_spin_cond_open(struct via_side *side)
{
	return via_boost_guard([=] {
		spin_cond *c = new spin_cond();
		int e = open(&c->memory, side);

		side->own = c;
		if (e == 0)
			c->lock = new ipc::scoped_lock<
			    ipc::interprocess_mutex>(c->memory->mutex,
			    ipc::defer_lock);
		return e;
	});
}

int via_boost_spin_cond_begin(struct via_side *side)
{
	return via_boost_guard([=] {
		cond_of(side)->lock->lock();
		return 0;
	});
}

int via_boost_spin_cond_end(struct via_side *side)
{
	return via_boost_guard([=] {
		cond_of(side)->lock->unlock();
		return 0;
	});
}

int via_boost_spin_cond_call(struct via_side *side, uint64_t rounds)
{
	return via_boost_guard([=] {
		spin_cond *c = cond_of(side);

		via_boost_call(*c->lock, c->memory->changed, c->memory->turn,
		    rounds);
		return 0;
	});
}

int via_boost_spin_cond_serve(struct via_side *side)
{
	return via_boost_guard([=] {
		spin_cond *c = cond_of(side);

		c->lock->lock();
		via_boost_serve(*c->lock, c->memory->changed, c->memory->turn,
		    side);
		c->lock->unlock();
		return 0;
	});
}

void via_boost_spin_cond_close(struct via_side *side)
{
	spin_cond *c = cond_of(side);

	delete c->lock;
	via_memory_close(c->memory, sizeof(shared));
	delete c;
}

void via_boost_spin_cond_unlink(const char *base)
{
	via_memory_unlink(base, SPIN);
}

/* ---- boost-spin-sem ---------------------------------------------------- */

namespace
{

struct spin_sems {
	alignas(64) ipc::interprocess_semaphore there{ 0 };
	alignas(64) ipc::interprocess_semaphore back{ 0 };
};

spin_sems *sems_of(const struct via_side *side)
{
	return static_cast<spin_sems *>(side->own);
}

} // namespace

int via_boost_spin_sem_open(struct via_side *side)
{
	return via_boost_guard([=] {
		spin_sems *s = nullptr;
		int e = open(&s, side);

		side->own = s;
		return e;
	});
}

int via_boost_spin_sem_call(struct via_side *side, uint64_t rounds)
{
	return via_boost_guard([=] {
		spin_sems *s = sems_of(side);

		for (uint64_t left = rounds; left > 0; left--) {
			s->there.post();
			s->back.wait();
		}
		return 0;
	});
}

int via_boost_spin_sem_serve(struct via_side *side)
{
	return via_boost_guard([=] {
		spin_sems *s = sems_of(side);

		for (bool last = false; !last;) {
			s->there.wait();
			last = via_is_last(side);
			s->back.post();
		}
		return 0;
	});
}

void via_boost_spin_sem_close(struct via_side *side)
{
	via_memory_close(side->own, sizeof(spin_sems));
}

void via_boost_spin_sem_unlink(const char *base)
{
	via_memory_unlink(base, SPIN);
}
