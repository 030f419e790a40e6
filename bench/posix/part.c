/* SPDX-License-Identifier: ISC */
/*
 * What a part of a trial asks of a POSIX system.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "../part.h"
#include "socket.h"

void part_begin(void)
{
#ifdef __linux__
	prctl(PR_SET_NAME, BENCH_TOOL); /* as ps and pgrep show it */
#endif
}

void part_limit(const struct job *job)
{
	alarm(job->alarm_s);
}

bool part_follow(const struct job *job)
{
#ifdef __linux__
	prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
	return getppid() == job->bench;
}

bool part_receive(void *data, size_t bytes)
{
	ssize_t n;

	do {
		n = recv(RUN_SOCKET, data, bytes, MSG_WAITALL);
	} while (n < 0 && errno == EINTR);
	return n == (ssize_t)bytes;
}

bool part_transmit(const void *data, size_t bytes)
{
	const char *from = data;
	ssize_t n;

	while (bytes > 0) {
		n = send(RUN_SOCKET, from, bytes, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		from += n;
		bytes -= (size_t)n;
	}
	return true;
}

static uint64_t ns_of(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

void part_usage(struct usage *usage)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	usage->cpu_ns = ns_of(r.ru_utime) + ns_of(r.ru_stime);
	usage->blocked = (uint64_t)r.ru_nvcsw;
	usage->preempted = (uint64_t)r.ru_nivcsw;
}
