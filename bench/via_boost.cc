/* SPDX-License-Identifier: ISC */
/*
 * Boost.Interprocess: what has a name.
 */
#include "via_boost.h"

#include <cstddef>
#include <string>
#include <boost/interprocess/ipc/message_queue.hpp>
#include <boost/interprocess/permissions.hpp>
#include <boost/interprocess/sync/named_condition.hpp>
#include <boost/interprocess/sync/named_mutex.hpp>
#include <boost/interprocess/sync/scoped_lock.hpp>

namespace ipc = boost::interprocess;

namespace
{

/* Makes or opens the object of that name, which goes with this one. */
template <class Object, class... Arguments>
Object *make(const struct via_side *side, const char *suffix,
    Arguments... arguments)
{
	const std::string name = std::string(side->base) + suffix;

	if (side->part != 0)
		return new Object(ipc::open_only, name.c_str());
	return new Object(ipc::create_only, name.c_str(), arguments...,
	    ipc::permissions(0600));
}

template <class Object> void remove(const char *base, const char *suffix)
{
	via_boost_guard([=] {
		Object::remove((std::string(base) + suffix).c_str());
		return 0;
	});
}

} // namespace

/* ---- boost-named-cond, boost-late-named-cond --------------------------- */

#define MUTEX ".mutex"
#define CHANGED ".changed"
#define TURN ".turn"

namespace
{

struct named {
	ipc::named_mutex *mutex;
	ipc::named_condition *changed;
	ipc::scoped_lock<ipc::named_mutex> *lock;
	int *turn; /* under the mutex */
};

named *named_of(const struct via_side *side)
{
	return static_cast<named *>(side->own);
}

} // namespace

int via_boost_named_open(struct via_side *side)
{
	return via_boost_guard([=] {
		named *n = new named();
		void *memory;
		int e;

		side->own = n;
		n->mutex = make<ipc::named_mutex>(side, MUTEX);
		n->changed = make<ipc::named_condition>(side, CHANGED);
		n->lock = new ipc::scoped_lock<ipc::named_mutex>(*n->mutex,
		    ipc::defer_lock);
		e = via_memory_open(&memory, side, TURN, sizeof(int));
		if (e == 0)
			n->turn = static_cast<int *>(memory);
		return e;
	});
}

int via_boost_named_begin(struct via_side *side)
{
	return via_boost_guard([=] {
		named_of(side)->lock->lock();
		return 0;
	});
}

int via_boost_named_end(struct via_side *side)
{
	return via_boost_guard([=] {
		named_of(side)->lock->unlock();
		return 0;
	});
}

namespace
{

template <bool late> int named_call(struct via_side *side, uint64_t rounds)
{
	return via_boost_guard([=] {
		named *n = named_of(side);

		via_boost_call<late>(*n->lock, *n->changed, *n->turn, rounds);
		return 0;
	});
}

template <bool late> int named_serve(struct via_side *side)
{
	return via_boost_guard([=] {
		named *n = named_of(side);

		n->lock->lock();
		via_boost_serve<late>(*n->lock, *n->changed, *n->turn, side);
		n->lock->unlock();
		return 0;
	});
}

} // namespace

int via_boost_named_call(struct via_side *side, uint64_t rounds)
{
	return named_call<false>(side, rounds);
}

int via_boost_named_serve(struct via_side *side)
{
	return named_serve<false>(side);
}

int via_boost_late_call(struct via_side *side, uint64_t rounds)
{
	return named_call<true>(side, rounds);
}

int via_boost_late_serve(struct via_side *side)
{
	return named_serve<true>(side);
}

void via_boost_named_close(struct via_side *side)
{
	named *n = named_of(side);

	via_memory_close(n->turn, sizeof(int));
	delete n->lock;
	delete n->changed;
	delete n->mutex;
	delete n;
}

void via_boost_named_unlink(const char *base)
{
	remove<ipc::named_mutex>(base, MUTEX);
	remove<ipc::named_condition>(base, CHANGED);
	via_memory_unlink(base, TURN);
}

/* ---- boost-mq ---------------------------------------------------------- */

#define THERE ".there"
#define BACK ".back"

namespace
{

struct queues {
	ipc::message_queue *there;
	ipc::message_queue *back;
};

queues *queues_of(const struct via_side *side)
{
	return static_cast<queues *>(side->own);
}

void put(ipc::message_queue *queue)
{
	queue->send("", 1, 0);
}

void get(ipc::message_queue *queue)
{
	ipc::message_queue::size_type bytes;
	unsigned priority;
	char byte;

	queue->receive(&byte, 1, bytes, priority);
}

} // namespace

int via_boost_queue_open(struct via_side *side)
{
	return via_boost_guard([=] {
		const std::size_t one = 1; /* a message at a time, of a byte */
		queues *q = new queues();

		side->own = q;
		q->there = make<ipc::message_queue>(side, THERE, one, one);
		q->back = make<ipc::message_queue>(side, BACK, one, one);
		return 0;
	});
}

int via_boost_queue_call(struct via_side *side, uint64_t rounds)
{
	return via_boost_guard([=] {
		queues *q = queues_of(side);

		for (uint64_t left = rounds; left > 0; left--) {
			put(q->there);
			get(q->back);
		}
		return 0;
	});
}

int via_boost_queue_serve(struct via_side *side)
{
	return via_boost_guard([=] {
		queues *q = queues_of(side);

		for (bool last = false; !last;) {
			get(q->there);
			last = via_is_last(side);
			put(q->back);
		}
		return 0;
	});
}

void via_boost_queue_close(struct via_side *side)
{
	queues *q = queues_of(side);

	delete q->there;
	delete q->back;
	delete q;
}

void via_boost_queue_unlink(const char *base)
{
	remove<ipc::message_queue>(base, THERE);
	remove<ipc::message_queue>(base, BACK);
}
