/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rpcrdma

#if !defined(RPCRDMA_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RPCRDMA_TRACE_H

#include <linux/tracepoint.h>

#include "rpcrdma/endpoint.h"

TRACE_EVENT(rpcrdma_state,
	TP_PROTO(const struct rpcrdma_ep *ep, unsigned int next),
	TP_ARGS(ep, next),
	TP_STRUCT__entry(
		__field(u32, number)
		__field(u32, prev)
		__field(u32, next)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->number = ep->number;
		__entry->prev = ep->state;
		__entry->next = next;
		__entry->error = ep->error;
	),
	TP_printk("ep=%u state %u -> %u error=%d", __entry->number,
		  __entry->prev, __entry->next, __entry->error)
);

TRACE_EVENT(rpcrdma_cm_event,
	TP_PROTO(const struct rpcrdma_ep *ep, int event, int status),
	TP_ARGS(ep, event, status),
	TP_STRUCT__entry(
		__field(u32, number)
		__field(int, event)
		__field(int, status)
	),
	TP_fast_assign(
		__entry->number = ep->number;
		__entry->event = event;
		__entry->status = status;
	),
	TP_printk("ep=%u event=%d status=%d", __entry->number,
		  __entry->event, __entry->status)
);

TRACE_EVENT(rpcrdma_post,
	TP_PROTO(const struct rpcrdma_ep *ep,
		 const struct rpcrdma_chain *chain),
	TP_ARGS(ep, chain),
	TP_STRUCT__entry(
		__field(u32, number)
		__field(u32, slots)
		__field(u64, seq)
		__field(u32, opcode)
		__field(bool, signalled)
	),
	TP_fast_assign(
		__entry->number = ep->number;
		__entry->slots = chain->slots;
		__entry->seq = chain->seq;
		__entry->opcode = chain->last->opcode;
		__entry->signalled = chain->last->send_flags & IB_SEND_SIGNALED;
	),
	TP_printk("ep=%u slots=%u seq=%llu last_opcode=%u signalled=%d",
		  __entry->number, __entry->slots, __entry->seq,
		  __entry->opcode, __entry->signalled)
);

TRACE_EVENT(rpcrdma_recv,
	TP_PROTO(const struct rpcrdma_ep *ep, const struct rpcrdma_recv *recv),
	TP_ARGS(ep, recv),
	TP_STRUCT__entry(
		__field(u32, number)
		__field(u32, len)
		__field(bool, invalidated)
		__field(u32, rkey)
	),
	TP_fast_assign(
		__entry->number = ep->number;
		__entry->len = recv->len;
		__entry->invalidated = recv->invalidated;
		__entry->rkey = recv->inv_rkey;
	),
	TP_printk("ep=%u len=%u invalidated=%d rkey=0x%08x", __entry->number,
		  __entry->len, __entry->invalidated, __entry->rkey)
);

#endif /* RPCRDMA_TRACE_H */

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH rpcrdma
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
