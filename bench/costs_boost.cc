/* SPDX-License-Identifier: ISC */
/*
 * What Boost.Interprocess's named_mutex costs.
 */
#include "costs_boost.h"

#include <memory>
#include <string>
#include <boost/interprocess/permissions.hpp>
#include <boost/interprocess/sync/named_mutex.hpp>

#include "costs.h"
#include "via_boost.h"

namespace ipc = boost::interprocess;

namespace
{

struct mutexes {
	std::unique_ptr<ipc::named_mutex> each[COSTS_EACH];
};

mutexes *mutexes_of(void *objects)
{
	return static_cast<mutexes *>(objects);
}

std::string name_of(const char *name, unsigned i)
{
	return std::string(name) + "." + std::to_string(i);
}

} // namespace

int costs_boost_open(void **objects, const char *name)
{
	return via_boost_guard([=] {
		std::unique_ptr<mutexes> m(new mutexes());

		for (unsigned i = 0; i < COSTS_EACH; i++)
			m->each[i].reset(new ipc::named_mutex(ipc::create_only,
			    name_of(name, i).c_str(), ipc::permissions(0600)));
		*objects = m.release();
		return 0;
	});
}

int costs_boost_join(void **objects, const char *name)
{
	return via_boost_guard([=] {
		std::unique_ptr<mutexes> m(new mutexes());

		for (unsigned i = 0; i < COSTS_EACH; i++)
			m->each[i].reset(new ipc::named_mutex(ipc::open_only,
			    name_of(name, i).c_str()));
		*objects = m.release();
		return 0;
	});
}

void costs_boost_unlink(const char *name)
{
	via_boost_guard([=] {
		for (unsigned i = 0; i < COSTS_EACH; i++)
			ipc::named_mutex::remove(name_of(name, i).c_str());
		return 0;
	});
}

void costs_boost_close(void *objects)
{
	delete mutexes_of(objects);
}

int costs_boost_batch(void *objects, unsigned n)
{
	return via_boost_guard([=] {
		ipc::named_mutex &mutex = *mutexes_of(objects)->each[0];

		for (unsigned left = n; left > 0; left--) {
			mutex.lock();
			mutex.unlock();
		}
		return 0;
	});
}

int costs_boost_acquire(void *objects)
{
	return via_boost_guard([=] {
		for (auto &mutex : mutexes_of(objects)->each)
			mutex->lock();
		return 0;
	});
}

int costs_boost_release(void *objects)
{
	return via_boost_guard([=] {
		for (auto &mutex : mutexes_of(objects)->each)
			mutex->unlock();
		return 0;
	});
}

int costs_boost_lock(void *objects)
{
	return via_boost_guard([=] {
		mutexes_of(objects)->each[0]->lock();
		return 0;
	});
}

int costs_boost_unlock(void *objects)
{
	return via_boost_guard([=] {
		mutexes_of(objects)->each[0]->unlock();
		return 0;
	});
}
