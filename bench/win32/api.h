/* SPDX-License-Identifier: ISC */
/*
 * Windows, as the bench uses it: documented calls of Windows 8 and later.
 */
#ifndef BENCH_API_H
#define BENCH_API_H

#undef _WIN32_WINNT
#define _WIN32_WINNT 0x0602
#undef WINVER
#define WINVER _WIN32_WINNT
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif

#include <windows.h>

/* For the last call that failed: an errno value. */
int api_error(void);

#endif
