/* SPDX-License-Identifier: ISC */
/*
 * Bench and part talk over a socket.
 */
#ifndef BENCH_SOCKET_H
#define BENCH_SOCKET_H

#define RUN_SOCKET 3 /* the part's descriptor */

#endif
