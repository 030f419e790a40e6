/* SPDX-License-Identifier: ISC */
/*
 * What Boost.Interprocess's named_mutex costs.  Functions of struct costs_group
 * and its parts, written in C++; no exception leaves them.
 */
#ifndef BENCH_COSTS_BOOST_H
#define BENCH_COSTS_BOOST_H

#ifdef __cplusplus
extern "C" {
#endif

int costs_boost_open(void **objects, const char *name);
int costs_boost_join(void **objects, const char *name);
void costs_boost_unlink(const char *name);
void costs_boost_close(void *objects);

int costs_boost_batch(void *objects, unsigned n);
int costs_boost_acquire(void *objects);
int costs_boost_release(void *objects);
int costs_boost_lock(void *objects);
int costs_boost_unlock(void *objects);

#ifdef __cplusplus
}
#endif

#endif
