/* SPDX-License-Identifier: ISC */
/* Windows, as this port uses it: documented calls of Windows 8 and later. */
#ifndef HANDOFF_SYSTEM_H
#define HANDOFF_SYSTEM_H

#undef _WIN32_WINNT
#define _WIN32_WINNT 0x0602
#undef WINVER
#define WINVER _WIN32_WINNT
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif

#include <windows.h>

#endif
