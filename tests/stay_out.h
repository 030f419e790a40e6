/* SPDX-License-Identifier: ISC */
/* A part that no longer enters the system. */
#ifndef TESTS_STAY_OUT_H
#define TESTS_STAY_OUT_H

#include "sanitized.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __linux__
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#if defined(__linux__) && defined(SECCOMP_RET_KILL_PROCESS) && \
    !defined(SANITIZED)
/* From now on the process is killed when it enters the system for anything
 * but to end, or to say something. */
static inline bool stay_out(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { sizeof filter / sizeof *filter, filter };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
#else
static inline bool stay_out(void)
{
	return false;
}
#endif

#endif
