/* SPDX-License-Identifier: ISC */
/*
 * Peers, continued: pipes, queues and counters of the kernel.
 *
 *	pipe         two pipes, passed over a Unix socket, a byte for each turn
 *	posix-mq     two message queues, a byte for each turn
 *	eventfd      two event counters, passed over a Unix socket (Linux)
 *	unix-stream  a Unix stream socket, a byte for each turn
 */
#define _GNU_SOURCE 1
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#ifdef HAVE_MQUEUE_H
#include <mqueue.h>
#endif
#ifdef HAVE_SYS_EVENTFD_H
#include <sys/eventfd.h>
#endif

#include "bench.h"
#include "via.h"

/* ---- unix-stream ------------------------------------------------------- */

#define SOCKET "socket"

/* Part 0 listens and part 1 connects; part 0 accepts before its first turn,
 * when the name is gone already. */
struct stream {
	int listener; /* of part 0, until it has accepted */
	int socket;
	int out, in;   /* of eventfd and pipe */
	int others[2]; /* part 1's out and in, until it has them: of pipe */
};

static void stream_address(struct sockaddr_un *address, const char *base)
{
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	via_path(address->sun_path, sizeof(address->sun_path), base, SOCKET);
}

static int listen_at(const struct sockaddr_un *address, int fd)
{
	if (bind(fd, (const struct sockaddr *)address, sizeof(*address)) != 0)
		return errno;
	if (chmod(address->sun_path, 0600) != 0 || listen(fd, 1) != 0)
		return errno;
	return 0;
}

static int stream_open(struct via_side *side)
{
	struct stream *s = calloc(1, sizeof(*s));
	struct sockaddr_un address;
	int fd;

	if (!s)
		return ENOMEM;
	side->own = s;
	s->listener = s->socket = s->out = s->in = -1;
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (fd < 0)
		return errno;
	stream_address(&address, side->base);
	if (side->part == 0) {
		s->listener = fd;
		return listen_at(&address, fd);
	}
	s->socket = fd;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		return errno;
	return 0;
}

static int stream_begin(struct via_side *side)
{
	struct stream *s = side->own;

	do {
		s->socket = accept(s->listener, NULL, NULL);
	} while (s->socket < 0 && errno == EINTR);
	if (s->socket < 0)
		return errno;
	close(s->listener);
	s->listener = -1;
	return 0;
}

static void stream_close(struct via_side *side)
{
	struct stream *s = side->own;

	if (s->listener >= 0)
		close(s->listener);
	close(s->socket);
	free(s);
}

static void stream_unlink(const char *base)
{
	struct sockaddr_un address;

	stream_address(&address, base);
	unlink(address.sun_path);
}

static int stream_put(int fd)
{
	while (send(fd, "", 1, MSG_NOSIGNAL) != 1)
		if (errno != EINTR)
			return errno;
	return 0;
}

static int stream_call(struct via_side *side, uint64_t rounds)
{
	struct stream *s = side->own;
	int e = 0;

	for (; rounds > 0 && e == 0; rounds--) {
		e = stream_put(s->socket);
		if (e == 0)
			e = via_get_byte(s->socket);
	}
	return e;
}

static int stream_serve(struct via_side *side)
{
	struct stream *s = side->own;
	bool last = false;
	int e = 0;

	while (e == 0 && !last) {
		e = via_get_byte(s->socket);
		last = via_last(side);
		if (e == 0)
			e = stream_put(s->socket);
	}
	return e;
}

/* ---- descriptors, passed over the stream ------------------------------ */

/* A message of one byte with two descriptors. */
struct parcel {
	char byte;
	struct iovec data;
	struct msghdr message;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))];
};

static void parcel_init(struct parcel *p)
{
	memset(p, 0, sizeof(*p));
	p->data.iov_base = &p->byte;
	p->data.iov_len = 1;
	p->message.msg_iov = &p->data;
	p->message.msg_iovlen = 1;
	p->message.msg_control = p->control;
	p->message.msg_controllen = sizeof(p->control);
}

static int send_pair(int fd, const int pair[2])
{
	struct parcel p;
	struct cmsghdr *head;

	parcel_init(&p);
	head = CMSG_FIRSTHDR(&p.message);
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(2 * sizeof(int));
	memcpy(CMSG_DATA(head), pair, 2 * sizeof(int));
	while (sendmsg(fd, &p.message, MSG_NOSIGNAL) != 1)
		if (errno != EINTR)
			return errno;
	return 0;
}

static int receive_pair(int fd, int pair[2])
{
	struct parcel p;
	struct cmsghdr *head;
	ssize_t n;

	parcel_init(&p);
	do {
		n = recvmsg(fd, &p.message, 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno;
	head = CMSG_FIRSTHDR(&p.message);
	if (n != 1 || !head || head->cmsg_type != SCM_RIGHTS ||
	    head->cmsg_len != CMSG_LEN(2 * sizeof(int)))
		return EPIPE;
	memcpy(pair, CMSG_DATA(head), 2 * sizeof(int));
	return 0;
}

/* Part 1, before its first turn. */
static int receive_ends(struct stream *s)
{
	int pair[2], e;

	if (s->out >= 0)
		return 0;
	e = receive_pair(s->socket, pair);
	if (e != 0)
		return e;
	s->out = pair[0];
	s->in = pair[1];
	return 0;
}

static void close_ends(struct via_side *side)
{
	struct stream *s = side->own;

	close(s->out);
	close(s->in);
	stream_close(side);
}

/* ---- pipe -------------------------------------------------------------- */

/* A part that is left alone reads the end, or is told so when it writes. */
static int pipes_open(struct via_side *side)
{
	int e = stream_open(side), there[2], back[2];
	struct stream *s = side->own;

	signal(SIGPIPE, SIG_IGN);
	if (e != 0 || side->part != 0)
		return e;
	if (pipe(there) != 0 || pipe(back) != 0)
		return errno;
	s->out = there[1];
	s->in = back[0];
	s->others[0] = back[1];
	s->others[1] = there[0];
	return 0;
}

static int pipes_begin(struct via_side *side)
{
	struct stream *s = side->own;
	int e = stream_begin(side);

	if (e == 0)
		e = send_pair(s->socket, s->others);
	close(s->others[0]);
	close(s->others[1]);
	return e;
}

static int pipes_call(struct via_side *side, uint64_t rounds)
{
	struct stream *s = side->own;
	int e = 0;

	for (; rounds > 0 && e == 0; rounds--) {
		e = via_put_byte(s->out);
		if (e == 0)
			e = via_get_byte(s->in);
	}
	return e;
}

static int pipes_serve(struct via_side *side)
{
	struct stream *s = side->own;
	int e = receive_ends(s);
	bool last = false;

	while (e == 0 && !last) {
		e = via_get_byte(s->in);
		last = via_last(side);
		if (e == 0)
			e = via_put_byte(s->out);
	}
	return e;
}

/* ---- eventfd ----------------------------------------------------------- */

#ifdef HAVE_SYS_EVENTFD_H

static int eventfd_open(struct via_side *side)
{
	int e = stream_open(side);
	struct stream *s = side->own;

	if (e != 0 || side->part != 0)
		return e;
	s->out = eventfd(0, EFD_CLOEXEC);
	s->in = s->out < 0 ? -1 : eventfd(0, EFD_CLOEXEC);
	return s->in < 0 ? errno : 0;
}

static int eventfd_begin(struct via_side *side)
{
	struct stream *s = side->own;
	int e = stream_begin(side);
	int pair[2] = { s->in, s->out };

	return e != 0 ? e : send_pair(s->socket, pair);
}

static int count_up(int fd)
{
	const uint64_t one = 1;

	while (write(fd, &one, sizeof(one)) != (ssize_t)sizeof(one))
		if (errno != EINTR)
			return errno;
	return 0;
}

static int await_count(int fd)
{
	uint64_t count;

	while (read(fd, &count, sizeof(count)) != (ssize_t)sizeof(count))
		if (errno != EINTR)
			return errno;
	return 0;
}

static int eventfd_call(struct via_side *side, uint64_t rounds)
{
	struct stream *s = side->own;
	int e = 0;

	for (; rounds > 0 && e == 0; rounds--) {
		e = count_up(s->out);
		if (e == 0)
			e = await_count(s->in);
	}
	return e;
}

static int eventfd_serve(struct via_side *side)
{
	struct stream *s = side->own;
	int e = receive_ends(s);
	bool last = false;

	while (e == 0 && !last) {
		e = await_count(s->in);
		last = via_last(side);
		if (e == 0)
			e = count_up(s->out);
	}
	return e;
}

#define EVENTFD                                                             \
	.open = eventfd_open, .begin = eventfd_begin, .call = eventfd_call, \
	.serve = eventfd_serve, .close = close_ends, .unlink = stream_unlink

#else

static const char *eventfd_missing(void)
{
	return "this system has no eventfd()";
}

#define EVENTFD .missing = eventfd_missing

#endif

/* ---- posix-mq ---------------------------------------------------------- */

#ifdef HAVE_MQUEUE_H

struct queues {
	mqd_t there;
	mqd_t back;
};

typedef char queue_name[BENCH_NAME_MAX + 16];

static int queue_open(mqd_t *queue, const char *base, const char *suffix,
    int flags)
{
	struct mq_attr one = { .mq_maxmsg = 1, .mq_msgsize = 1 };
	queue_name name;

	snprintf(name, sizeof(name), "/%s.%s", base, suffix);
	*queue = mq_open(name, flags, 0600, &one);
	return *queue == (mqd_t)-1 ? errno : 0;
}

static int queues_open(struct via_side *side)
{
	struct queues *q = calloc(1, sizeof(*q));
	int flags = O_RDWR | (side->part == 0 ? O_CREAT | O_EXCL : 0);
	int e;

	if (!q)
		return ENOMEM;
	side->own = q;
	q->there = q->back = (mqd_t)-1;
	e = queue_open(&q->there, side->base, "there", flags);
	return e != 0 ? e : queue_open(&q->back, side->base, "back", flags);
}

static void queues_close(struct via_side *side)
{
	struct queues *q = side->own;

	mq_close(q->there);
	mq_close(q->back);
	free(q);
}

static void queues_unlink(const char *base)
{
	queue_name name;

	snprintf(name, sizeof(name), "/%s.there", base);
	mq_unlink(name);
	snprintf(name, sizeof(name), "/%s.back", base);
	mq_unlink(name);
}

/* The kernel limits how many queues there are, and each user's bytes. */
static const char *queues_missing(void)
{
	static char reason[128];
	struct via_side side = { .part = 0 };
	char name[BENCH_NAME_MAX];
	const char *why;
	int e;

	bench_name(name, 0);
	side.base = name;
	e = queues_open(&side);
	queues_unlink(name);
	if (side.own)
		queues_close(&side);
	if (e == 0)
		return NULL;
	why = strerror(e);
	if (e == EMFILE)
		why = "the limit of their bytes is reached (ulimit -q)";
	if (e == ENOSPC)
		why = "the limit of their number is reached";
	snprintf(reason, sizeof(reason), "no message queues: %s", why);
	return reason;
}

static int queue_send(mqd_t queue)
{
	while (mq_send(queue, "", 1, 0) != 0)
		if (errno != EINTR)
			return errno;
	return 0;
}

static int queue_receive(mqd_t queue)
{
	char byte;
	ssize_t n;

	while ((n = mq_receive(queue, &byte, 1, NULL)) != 1) {
		if (n >= 0)
			return EBADMSG;
		if (errno != EINTR)
			return errno;
	}
	return 0;
}

static int queues_call(struct via_side *side, uint64_t rounds)
{
	struct queues *q = side->own;
	int e = 0;

	for (; rounds > 0 && e == 0; rounds--) {
		e = queue_send(q->there);
		if (e == 0)
			e = queue_receive(q->back);
	}
	return e;
}

static int queues_serve(struct via_side *side)
{
	struct queues *q = side->own;
	bool last = false;
	int e = 0;

	while (e == 0 && !last) {
		e = queue_receive(q->there);
		last = via_last(side);
		if (e == 0)
			e = queue_send(q->back);
	}
	return e;
}

#define QUEUES                                                               \
	.missing = queues_missing, .open = queues_open, .call = queues_call, \
	.serve = queues_serve, .close = queues_close, .unlink = queues_unlink

#else

static const char *queues_missing(void)
{
	return "this system has no mq_open()";
}

#define QUEUES .missing = queues_missing

#endif

const struct via via_kernel[] = {
	{
	    .name = "pipe",
	    .group = VIA_PEERS,
	    .open = pipes_open,
	    .begin = pipes_begin,
	    .call = pipes_call,
	    .serve = pipes_serve,
	    .close = close_ends,
	    .unlink = stream_unlink,
	},
	{ .name = "posix-mq", .group = VIA_PEERS, QUEUES },
	{ .name = "eventfd", .group = VIA_PEERS, EVENTFD },
	{
	    .name = "unix-stream",
	    .group = VIA_PEERS,
	    .open = stream_open,
	    .begin = stream_begin,
	    .call = stream_call,
	    .serve = stream_serve,
	    .close = stream_close,
	    .unlink = stream_unlink,
	},
};
const size_t via_kernel_count = sizeof(via_kernel) / sizeof(via_kernel[0]);
