// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Peers that take nothing of what is sent. The connection manager lets the client say how
 * long the server's device tries: with an RNR retry count of 7 for ever, and what was to be
 * sent would be kept for as long.
 */

#include <linux/workqueue.h>

#include "rpcrdma/endpoint.h"
#include "rpcrdma/status.h"
#include "rpcrdma/watch.h"

/* How often one looks, in seconds, and how often in a row nothing has moved */
#define WATCH_INTERVAL	15
#define WATCH_LOOKS	5

static struct delayed_work watch_work;

/* A server sends before it is LIVE, which the peer may never let it be */
static void watch_ep(struct rpcrdma_ep *ep)
{
	if (READ_ONCE(ep->sendq.open) && rpcrdma_sendq_still(ep) >= WATCH_LOOKS)
		rpcrdma_ep_fail_reason(ep, -ETIMEDOUT,
				       "the peer takes nothing of what is sent");
}

static void watch_again(void)
{
	queue_delayed_work(system_power_efficient_wq, &watch_work,
			   round_jiffies_relative(WATCH_INTERVAL * HZ));
}

static void watch(struct work_struct *work)
{
	rpcrdma_status_each_ep(watch_ep);
	watch_again();
}

/**
 * rpcrdma_watch_init - look after connections from now on
 *
 * Context: process.
 */
void rpcrdma_watch_init(void)
{
	INIT_DELAYED_WORK(&watch_work, watch);
	watch_again();
}

/**
 * rpcrdma_watch_exit - no more
 *
 * Context: process, may sleep.
 */
void rpcrdma_watch_exit(void)
{
	cancel_delayed_work_sync(&watch_work);
}
