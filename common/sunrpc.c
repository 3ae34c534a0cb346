// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Helpers that both sides need of sunrpc. No other file of this folder calls them.
 */

#include <linux/slab.h>
#include <linux/sunrpc/addr.h>
#include <linux/sunrpc/clnt.h>
#include <linux/sunrpc/sched.h>
#include <linux/sunrpc/xprt.h>

#include "rpcrdma/endpoint.h"

/**
 * rpcrdma_rpc_fail - complete an RPC with an error
 * @rqst: waits for its Reply, and is pinned or was just looked up
 * @err: negative errno that its caller gets
 *
 * The answer may be here before the task that sent the Call is asleep, or even
 * back from sending. tk_status would be overwritten then, and a Call without bytes
 * of a Reply is sent again, for the same answer; tk_rpc_status ends the task at its
 * next step, wherever it is. A task that is being released ends for a reason of its
 * own. (A task that ended without a Reply and is restarted by its owner at that very
 * moment may see the error.)
 *
 * Context: the queue_lock of its rpc_xprt is held; softirqs stay on.
 */
void rpcrdma_rpc_fail(struct rpc_rqst *rqst, int err)
{
	struct rpc_task *task = rqst->rq_task;

	if (test_bit(RPC_TASK_NEED_RECV, &task->tk_runstate) &&
	    !test_bit(RPC_TASK_MSG_PIN_WAIT, &task->tk_runstate))
		cmpxchg(&task->tk_rpc_status, 0, err);
	xprt_complete_rqst(task, 0);
}

/**
 * rpcrdma_rpc_unsendable - a Call can never be sent
 * @rqst: Call that sunrpc is sending, and has pinned
 * @err: negative errno that its caller gets
 *
 * The task that holds the send lock transmits for all waiters. An error from
 * ->send_request would fail that task instead of the owner of the bad Call, and the
 * bad Call would stay at the head of the queue.
 *
 * Context: process; takes the queue_lock.
 *
 * Return: the value for ->send_request: 0, as if it were sent, so that it leaves the
 * queue; @err if no Reply is expected, so that nothing else would end it.
 */
int rpcrdma_rpc_unsendable(struct rpc_rqst *rqst, int err)
{
	struct rpc_xprt *xprt = rqst->rq_xprt;

	if (!test_bit(RPC_TASK_NEED_RECV, &rqst->rq_task->tk_runstate))
		return err;
	spin_lock(&xprt->queue_lock);
	rpcrdma_rpc_fail(rqst, err);
	spin_unlock(&xprt->queue_lock);
	return 0;
}

/**
 * rpcrdma_rpc_write_space - wake the tasks that wait for the Send Queue
 * @xprt: transport
 *
 * sunrpc takes the send lock for the first waiter, and releases it without a wake-up
 * if there is none. xprt_destroy() may wait for that lock in between, and nothing
 * else would wake it.
 *
 * Context: process; takes the transport_lock, for which softirqs stay on.
 */
void rpcrdma_rpc_write_space(struct rpc_xprt *xprt)
{
	xprt_write_space(xprt);
	/* Clear the bit before looking for waiters */
	smp_mb();
	wake_up_bit(&xprt->state, XPRT_LOCKED);
}

/**
 * rpcrdma_rpc_wake_sender - credits came otherwise than by an RPC's end
 * @xprt: may have them
 *
 * When an RPC returns its credit sunrpc wakes the next task. For credits that come
 * otherwise this wakes the first waiter, which wakes the next.
 *
 * Context: process; takes the transport_lock, for which softirqs stay on.
 */
void rpcrdma_rpc_wake_sender(struct rpc_xprt *xprt)
{
	bool room;

	spin_lock(&xprt->transport_lock);
	room = xprt->cwnd > xprt->cong &&
	       test_and_clear_bit(XPRT_CWND_WAIT, &xprt->state);
	spin_unlock(&xprt->transport_lock);
	if (!room)
		return;
	/* Senders are woken as if the Send Queue had been full */
	xprt_wait_for_buffer_space(xprt);
	rpcrdma_rpc_write_space(xprt);
}

static void rpcrdma_rpc_set_string(struct rpc_xprt *xprt,
				   enum rpc_display_format_t which, char *string)
{
	kfree(xprt->address_strings[which]);
	xprt->address_strings[which] = string;
}

/**
 * rpcrdma_rpc_set_port - format the port of a transport
 * @xprt: transport
 * @port: its new port
 */
void rpcrdma_rpc_set_port(struct rpc_xprt *xprt, unsigned short port)
{
	rpcrdma_rpc_set_string(xprt, RPC_DISPLAY_PORT,
			       kasprintf(GFP_KERNEL, "%u", port));
	rpcrdma_rpc_set_string(xprt, RPC_DISPLAY_HEX_PORT,
			       kasprintf(GFP_KERNEL, "%4hx", port));
}

/**
 * rpcrdma_rpc_set_addresses - format the address of a transport
 * @xprt: transport whose address is set
 *
 * sunrpc shows a string that lacks memory as "(null)".
 *
 * Return: 0 or -EAFNOSUPPORT.
 */
int rpcrdma_rpc_set_addresses(struct rpc_xprt *xprt)
{
	struct sockaddr *sap = (struct sockaddr *)&xprt->addr;
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)sap;
	struct sockaddr_in *sin = (struct sockaddr_in *)sap;
	bool ipv6 = sap->sa_family == AF_INET6;
	char addr[RPCRDMA_ADDRSTRLEN];

	if (!ipv6 && sap->sa_family != AF_INET)
		return -EAFNOSUPPORT;
	rpc_ntop(sap, addr, sizeof(addr));
	rpcrdma_rpc_set_string(xprt, RPC_DISPLAY_ADDR, kstrdup(addr, GFP_KERNEL));
	rpcrdma_rpc_set_string(xprt, RPC_DISPLAY_HEX_ADDR, ipv6 ?
			       kasprintf(GFP_KERNEL, "%pi6", &sin6->sin6_addr) :
			       kasprintf(GFP_KERNEL, "%4phN", &sin->sin_addr));
	rpcrdma_rpc_set_port(xprt, rpc_get_port(sap));
	xprt->address_strings[RPC_DISPLAY_PROTO] = "rdma";
	xprt->address_strings[RPC_DISPLAY_NETID] = ipv6 ? "rdma6" : "rdma";
	return 0;
}

/**
 * rpcrdma_rpc_free_addresses - undo rpcrdma_rpc_set_addresses()
 * @xprt: transport that is being freed
 */
void rpcrdma_rpc_free_addresses(struct rpc_xprt *xprt)
{
	kfree(xprt->address_strings[RPC_DISPLAY_ADDR]);
	kfree(xprt->address_strings[RPC_DISPLAY_PORT]);
	kfree(xprt->address_strings[RPC_DISPLAY_HEX_ADDR]);
	kfree(xprt->address_strings[RPC_DISPLAY_HEX_PORT]);
}
