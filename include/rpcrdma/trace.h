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
		 const struct rpcrdma_chain *chain,
		 const struct ib_send_wr *last, u32 slots),
	TP_ARGS(ep, chain, last, slots),
	TP_STRUCT__entry(
		__field(u32, number)
		__field(u32, slots)
		__field(u64, seq)
		__field(u32, opcode)
		__field(bool, signalled)
	),
	TP_fast_assign(
		__entry->number = ep->number;
		__entry->slots = slots;
		__entry->seq = chain->seq;
		__entry->opcode = last->opcode;
		__entry->signalled = last->send_flags & IB_SEND_SIGNALED;
	),
	TP_printk("ep=%u slots=%u seq=%llu last_opcode=%u signalled=%d",
		  __entry->number, __entry->slots, __entry->seq,
		  __entry->opcode, __entry->signalled)
);

DECLARE_EVENT_CLASS(rpcrdma_message,
	TP_PROTO(const struct rpcrdma_ep *ep, const struct rpcrdma_recv *recv),
	TP_ARGS(ep, recv),
	TP_STRUCT__entry(
		__field(u32, number)
		__field(u32, xid)
		__field(u32, len)
		__field(u32, vers)
		__field(u32, proc)
		__field(u32, credits)
		__field(u32, body)
		__field(u32, read_segs)
		__field(u32, write_segs)
		__field(u32, reply_segs)
		__field(u64, read_bytes)
		__field(u64, write_bytes)
		__field(u64, reply_bytes)
		__field(u32, rkey)
	),
	TP_fast_assign(
		__entry->number = ep->number;
		__entry->xid = recv->hdr.xid;
		__entry->len = recv->len;
		__entry->vers = recv->hdr.vers;
		__entry->proc = recv->hdr.proc;
		__entry->credits = recv->hdr.credits;
		__entry->body = recv->hdr.body_len;
		__entry->read_segs = recv->hdr.read_segs;
		__entry->write_segs = recv->hdr.write_segs;
		__entry->reply_segs = recv->hdr.reply_segs;
		__entry->read_bytes = recv->hdr.read_bytes + recv->hdr.pzrc_bytes;
		__entry->write_bytes = recv->hdr.write_bytes;
		__entry->reply_bytes = recv->hdr.reply_bytes;
		__entry->rkey = recv->inv_rkey;
	),
	TP_printk("ep=%u xid=0x%08x len=%u vers=%u proc=%u credits=%u inline=%u read=%u/%llu write=%u/%llu reply=%u/%llu inv_rkey=0x%08x",
		  __entry->number, __entry->xid, __entry->len, __entry->vers,
		  __entry->proc, __entry->credits, __entry->body,
		  __entry->read_segs, __entry->read_bytes,
		  __entry->write_segs, __entry->write_bytes,
		  __entry->reply_segs, __entry->reply_bytes, __entry->rkey)
);
DEFINE_EVENT(rpcrdma_message, xprtrdma_reply,
	TP_PROTO(const struct rpcrdma_ep *ep, const struct rpcrdma_recv *recv),
	TP_ARGS(ep, recv));
DEFINE_EVENT(rpcrdma_message, svcrdma_decode_rqst,
	TP_PROTO(const struct rpcrdma_ep *ep, const struct rpcrdma_recv *recv),
	TP_ARGS(ep, recv));

DECLARE_EVENT_CLASS(rpcrdma_trouble,
	TP_PROTO(const struct rpcrdma_ep *ep, u32 xid, const char *why),
	TP_ARGS(ep, xid, why),
	TP_STRUCT__entry(
		__field(u32, number)
		__field(u32, xid)
		__array(char, why, 64)
	),
	TP_fast_assign(
		__entry->number = ep->number;
		__entry->xid = xid;
		strscpy(__entry->why, why, sizeof(__entry->why));
	),
	TP_printk("ep=%u xid=0x%08x %s", __entry->number, __entry->xid,
		  __entry->why)
);
#define RPCRDMA_TROUBLE(name)						\
DEFINE_EVENT(rpcrdma_trouble, name,					\
	TP_PROTO(const struct rpcrdma_ep *ep, u32 xid, const char *why), \
	TP_ARGS(ep, xid, why))
RPCRDMA_TROUBLE(xprtrdma_decode_err);
RPCRDMA_TROUBLE(svcrdma_decode_err);
RPCRDMA_TROUBLE(svcrdma_reject);

TRACE_EVENT(xprtrdma_marshal,
	TP_PROTO(const struct rpcrdma_ep *ep, u32 xid, u32 hdr, u32 len,
		 int read_segs, int write_segs, int reply_segs),
	TP_ARGS(ep, xid, hdr, len, read_segs, write_segs, reply_segs),
	TP_STRUCT__entry(
		__field(u32, number)
		__field(u32, xid)
		__field(u32, hdr)
		__field(u32, len)
		__field(int, read_segs)
		__field(int, write_segs)
		__field(int, reply_segs)
	),
	TP_fast_assign(
		__entry->number = ep->number;
		__entry->xid = xid;
		__entry->hdr = hdr;
		__entry->len = len;
		__entry->read_segs = read_segs;
		__entry->write_segs = write_segs;
		__entry->reply_segs = reply_segs;
	),
	TP_printk("ep=%u xid=0x%08x header=%u inline=%u read=%d write=%d reply=%d",
		  __entry->number, __entry->xid, __entry->hdr,
		  __entry->len - __entry->hdr, __entry->read_segs,
		  __entry->write_segs, __entry->reply_segs)
);

DECLARE_EVENT_CLASS(xprtrdma_mr,
	TP_PROTO(const struct rpcrdma_ep *ep, u32 xid, const struct ib_mr *mr),
	TP_ARGS(ep, xid, mr),
	TP_STRUCT__entry(
		__field(u32, number)
		__field(u32, xid)
		__field(u32, rkey)
		__field(u64, length)
		__field(u64, iova)
	),
	TP_fast_assign(
		__entry->number = ep->number;
		__entry->xid = xid;
		__entry->rkey = mr->rkey;
		__entry->length = mr->length;
		__entry->iova = mr->iova;
	),
	TP_printk("ep=%u xid=0x%08x rkey=0x%08x %llu@0x%016llx",
		  __entry->number, __entry->xid, __entry->rkey,
		  __entry->length, __entry->iova)
);
#define RPCRDMA_MR(name)						\
DEFINE_EVENT(xprtrdma_mr, name,						\
	TP_PROTO(const struct rpcrdma_ep *ep, u32 xid, const struct ib_mr *mr), \
	TP_ARGS(ep, xid, mr))
RPCRDMA_MR(xprtrdma_mr_map);
RPCRDMA_MR(xprtrdma_mr_unmap);
RPCRDMA_MR(xprtrdma_mr_localinv);
RPCRDMA_MR(xprtrdma_mr_reminv);

/* A number, of an RPC or (xid 0) of the connection */
DECLARE_EVENT_CLASS(rpcrdma_count,
	TP_PROTO(const struct rpcrdma_ep *ep, u32 xid, u32 n),
	TP_ARGS(ep, xid, n),
	TP_STRUCT__entry(
		__field(u32, number)
		__field(u32, xid)
		__field(u32, n)
	),
	TP_fast_assign(
		__entry->number = ep->number;
		__entry->xid = xid;
		__entry->n = n;
	),
	TP_printk("ep=%u xid=0x%08x slots=%u", __entry->number, __entry->xid,
		  __entry->n)
);
#define RPCRDMA_SLOTS(name)						\
DEFINE_EVENT(rpcrdma_count, name,					\
	TP_PROTO(const struct rpcrdma_ep *ep, u32 xid, u32 n),		\
	TP_ARGS(ep, xid, n))
#define RPCRDMA_COUNT(name, text)					\
DEFINE_EVENT_PRINT(rpcrdma_count, name,					\
	TP_PROTO(const struct rpcrdma_ep *ep, u32 xid, u32 n),		\
	TP_ARGS(ep, xid, n),						\
	TP_printk("ep=%u xid=0x%08x " text "=%u", __entry->number,	\
		  __entry->xid, __entry->n))
RPCRDMA_SLOTS(rpcrdma_sendq_wait);
RPCRDMA_SLOTS(svcrdma_post_reads);
RPCRDMA_COUNT(xprtrdma_nomrs, "mrs");
RPCRDMA_COUNT(xprtrdma_credits, "granted");
RPCRDMA_COUNT(svcrdma_read_finished, "status");
RPCRDMA_COUNT(svcrdma_read_wait, "pages");
RPCRDMA_COUNT(svcrdma_reply_wait, "pages");
RPCRDMA_COUNT(svcrdma_wc_send, "status");

TRACE_EVENT(svcrdma_post_send,
	TP_PROTO(const struct rpcrdma_ep *ep, u32 xid, u32 len, u32 sges,
		 u32 write_slots, u32 rkey),
	TP_ARGS(ep, xid, len, sges, write_slots, rkey),
	TP_STRUCT__entry(
		__field(u32, number)
		__field(u32, xid)
		__field(u32, len)
		__field(u32, sges)
		__field(u32, write_slots)
		__field(u32, rkey)
	),
	TP_fast_assign(
		__entry->number = ep->number;
		__entry->xid = xid;
		__entry->len = len;
		__entry->sges = sges;
		__entry->write_slots = write_slots;
		__entry->rkey = rkey;
	),
	TP_printk("ep=%u xid=0x%08x copied=%u sges=%u write_slots=%u inv_rkey=0x%08x",
		  __entry->number, __entry->xid, __entry->len, __entry->sges,
		  __entry->write_slots, __entry->rkey)
);

TRACE_EVENT(rpcrdma_wc_failed,
	TP_PROTO(const struct rpcrdma_ep *ep, const struct ib_wc *wc,
		 const char *wr),
	TP_ARGS(ep, wc, wr),
	TP_STRUCT__entry(
		__field(u32, number)
		__field(u32, status)
		__field(u32, vendor_err)
		__array(char, wr, 16)
	),
	TP_fast_assign(
		__entry->number = ep->number;
		__entry->status = wc->status;
		__entry->vendor_err = wc->vendor_err;
		strscpy(__entry->wr, wr, sizeof(__entry->wr));
	),
	TP_printk("ep=%u %s: %s (%u) vendor_err=0x%x", __entry->number,
		  __entry->wr, ib_wc_status_msg(__entry->status),
		  __entry->status, __entry->vendor_err)
);

#endif /* RPCRDMA_TRACE_H */

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH rpcrdma
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
