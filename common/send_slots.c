// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Arithmetic of the Send Queue. The caller serializes.
 */

#include "rpcrdma/queues.h"

/* @sq_depth: slots of the queue pair, one of which is the drain's */
void rpcrdma_slots_init(struct rpcrdma_send_slots *s, u32 sq_depth)
{
	memset(s, 0, sizeof(*s));
	s->depth = sq_depth - 1;
	s->batch = max_t(u32, s->depth / 4, 1);
	s->max_part = max_t(u32, s->depth - s->batch, 1);
}

/* A chain of @n slots, which fit, is posted. A signalled WR costs more than a Send. */
enum rpcrdma_signal rpcrdma_slots_post(struct rpcrdma_send_slots *s, u32 n,
				       enum rpcrdma_notify notify)
{
	s->posted += n;
	if (notify == RPCRDMA_NOTIFY_NOW ||
	    (notify == RPCRDMA_NOTIFY_LATER &&
	     s->unsignalled >= RPCRDMA_MAX_UNSIGNALLED)) {
		s->unsignalled = 0;
		return RPCRDMA_SIGNAL_CHAIN;
	}
	s->unsignalled += n;
	if ((s->unsignalled < s->batch && !s->asked) ||
	    s->nr_marks == RPCRDMA_SEND_MARKS)
		return RPCRDMA_SIGNAL_NONE;
	s->unsignalled = 0;
	s->asked = false;
	s->marks[(s->first_mark + s->nr_marks++) % RPCRDMA_SEND_MARKS] = s->posted;
	return RPCRDMA_SIGNAL_QUEUE;
}

/* The queue's completion came: the position that it stands for */
u64 rpcrdma_slots_mark(struct rpcrdma_send_slots *s)
{
	u64 seq;

	if (!s->nr_marks)
		return s->completed;
	seq = s->marks[s->first_mark];
	s->first_mark = (s->first_mark + 1) % RPCRDMA_SEND_MARKS;
	s->nr_marks--;
	return seq;
}

void rpcrdma_slots_complete(struct rpcrdma_send_slots *s, u64 seq)
{
	if (seq > s->completed)
		s->completed = seq;
}

/* Return: slots known to be complete. The next post will tell of all before it. */
u64 rpcrdma_slots_ask(struct rpcrdma_send_slots *s)
{
	s->asked = s->unsignalled;
	return s->completed;
}

/*
 * Called at regular times. A signalled WR that does not complete between two
 * checks makes no progress; nor does the oldest signalled chain, which ends at
 * @oldest (0: there is none), as an RDMA Read of iWARP behind which Sends complete.
 * A peer that lets one RDMA Read complete now and then would hold the memory of
 * all others, so the queue has stalled as well if the oldest chain is too old.
 */
bool rpcrdma_slots_stalled(struct rpcrdma_send_slots *s, u64 oldest)
{
	u64 *then = &s->seen_posted[s->checks++ % RPCRDMA_STALL_AGE];
	bool due = s->posted - s->completed > s->unsignalled;
	bool old = oldest && oldest <= *then;

	if ((due && s->seen == s->completed) ||
	    (oldest && s->seen_oldest == oldest)) {
		if (s->stalled < RPCRDMA_STALL_CHECKS)
			s->stalled++;
	} else {
		s->stalled = 0;
	}
	s->seen = s->completed;
	s->seen_oldest = oldest;
	*then = s->posted;
	return old || s->stalled == RPCRDMA_STALL_CHECKS;
}

/*
 * Called at regular times: is the device to find out whether the peer is there? It is
 * if there are unsignalled slots, or if nothing has been posted and received between
 * the last @checks of these times (0: never for that); but not as long as a signalled
 * WR is outstanding, which tells. @recvs: messages received so far. A probe is a post,
 * so the next may take as long.
 */
bool rpcrdma_slots_probe(struct rpcrdma_send_slots *s, u64 recvs, u32 checks)
{
	if (s->posted == s->idle_posted && recvs == s->idle_recvs)
		s->idle++;
	else
		s->idle = 0;
	s->idle_posted = s->posted;
	s->idle_recvs = recvs;
	return s->posted - s->completed <= s->unsignalled &&
	       (s->unsignalled || (checks && s->idle >= checks));
}
