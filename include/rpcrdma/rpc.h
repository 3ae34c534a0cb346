/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef RPCRDMA_RPC_H
#define RPCRDMA_RPC_H

#include <linux/sunrpc/clnt.h>
#include <linux/sunrpc/sched.h>
#include <linux/sunrpc/xprt.h>

/**
 * rpcrdma_rpc_fail - a Call has got its answer, and that is an error
 * @rqst: waits for its Reply, and is pinned or was just looked up
 * @err: negative errno that its caller gets
 *
 * The answer may be here before the task that sent the Call is asleep, or even back from
 * sending. What is in tk_status then is overwritten, and a Call without octets of a Reply goes
 * again, for the same answer; what is in tk_rpc_status ends the task at its next step,
 * wherever it is. One that is being released ends for a reason of its own. (One that has
 * ended without a Reply and is started again by its owner at that very moment may see the
 * error: nothing tells that from here.)
 *
 * Context: the queue_lock of its rpc_xprt is held; softirqs stay on.
 */
static inline void rpcrdma_rpc_fail(struct rpc_rqst *rqst, int err)
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
 * Whoever has a transport's send lock sends for all that wait, and what send_request
 * returns ends that task, whose Call it is not, while the one at fault stays first in the
 * queue and ends the next.
 *
 * Context: process; takes the queue_lock.
 *
 * Return: what send_request is to return: 0, as if it were sent, which has it leave the
 * queue; @err when no Reply is expected, so that nothing else would end it.
 */
static inline int rpcrdma_rpc_unsendable(struct rpc_rqst *rqst, int err)
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
 * rpcrdma_rpc_write_space - let those send who were told to wait
 * @xprt: transport
 *
 * sunrpc takes the send lock for the first that waits, and gives it back without a word
 * when none does. xprt_destroy() may have come between: it waits for that lock, and nobody
 * else would wake it.
 *
 * Context: process; takes the transport_lock, for which softirqs stay on.
 */
static inline void rpcrdma_rpc_write_space(struct rpc_xprt *xprt)
{
	xprt_write_space(xprt);
	/* The bit is clear before it is seen that nobody waits */
	smp_mb();
	wake_up_bit(&xprt->state, XPRT_LOCKED);
}

/**
 * rpcrdma_rpc_wake_sender - credits came otherwise than by an RPC's end
 * @xprt: may have them
 *
 * sunrpc wakes who waits for a credit when an RPC gives its own back. Of these the first
 * of those that wait is told, and the rest after it.
 *
 * Context: process; takes the transport_lock, for which softirqs stay on.
 */
static inline void rpcrdma_rpc_wake_sender(struct rpc_xprt *xprt)
{
	bool room;

	spin_lock(&xprt->transport_lock);
	room = xprt->cwnd > xprt->cong &&
	       test_and_clear_bit(XPRT_CWND_WAIT, &xprt->state);
	spin_unlock(&xprt->transport_lock);
	if (!room)
		return;
	/* As if the Send Queue had been full: this is what wakes senders */
	xprt_wait_for_buffer_space(xprt);
	rpcrdma_rpc_write_space(xprt);
}

#endif /* RPCRDMA_RPC_H */
