// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * For users: /proc/net/rpcrdma/{connections,listeners}, in each network
 * namespace. One line per object, key=value fields; new fields are only ever
 * appended.
 */

#include <linux/inet.h>
#include <linux/jiffies.h>
#include <linux/proc_fs.h>

#include "rpcrdma/endpoint.h"

/* Held while a line is shown, so that listeners stay */
static DEFINE_MUTEX(rpcrdma_listeners_lock);
static LIST_HEAD(rpcrdma_listeners);

/**
 * rpcrdma_proc_add_listener - show a listener
 * @listener: filled in by the caller, and kept by it
 */
void rpcrdma_proc_add_listener(struct rpcrdma_listener *listener)
{
	mutex_lock(&rpcrdma_listeners_lock);
	list_add_tail(&listener->list, &rpcrdma_listeners);
	mutex_unlock(&rpcrdma_listeners_lock);
}

/**
 * rpcrdma_proc_del_listener - stop showing a listener
 * @listener: was given to rpcrdma_proc_add_listener()
 */
void rpcrdma_proc_del_listener(struct rpcrdma_listener *listener)
{
	mutex_lock(&rpcrdma_listeners_lock);
	list_del_init(&listener->list);
	mutex_unlock(&rpcrdma_listeners_lock);
}

/**
 * rpcrdma_proc_set_device - show another device with a listener
 * @listener: listener, shown or not; its owner does not do this twice at a time
 * @name: the device's, "*" for any, "-" for none at the moment
 */
void rpcrdma_proc_set_device(struct rpcrdma_listener *listener,
			     const char *name)
{
	mutex_lock(&rpcrdma_listeners_lock);
	strscpy(listener->dev_name, name, sizeof(listener->dev_name));
	mutex_unlock(&rpcrdma_listeners_lock);
}

static void rpcrdma_show_ep(struct rpcrdma_ep *ep, void *arg)
{
	const struct rpcrdma_ep_counters *c = &ep->count;
	struct seq_file *seq = arg;

	if (!net_eq(ep->net, seq_file_single_net(seq)))
		return;
	seq_printf(seq, "id=%u side=%s state=%s local=%s peer=%s device=%s",
		   ep->number, ep->ops->side, rpcrdma_ep_state_names[ep->state],
		   ep->local_name, ep->peer_name,
		   READ_ONCE(ep->device) ? ep->dev_name : "-");
	seq_printf(seq, " version=%u private_data=%s inline_send=%u inline_recv=%u remote_inv=%s",
		   READ_ONCE(ep->version), ep->peer.present ? "yes" : "no",
		   ep->prop.inline_send, ep->prop.inline_recv,
		   ep->prop.remote_inv ? "yes" : "no");
	seq_printf(seq, " credits=%u bc_credits=%u sq_depth=%u rq_depth=%u send_sge=%u mr_pages=%u",
		   ep->sizes.credits, ep->sizes.bc_credits,
		   ep->sizes.sq_depth, ep->sizes.rq_depth,
		   ep->sizes.send_sge, ep->sizes.mr_pages);
	seq_printf(seq, " age=%lu recvs=%llu recv_octets=%llu doorbells=%llu sends=%llu sends_inv=%llu reads=%llu writes=%llu reg_mrs=%llu local_invs=%llu remote_invs=%llu sendq_waits=%llu bad_headers=%llu",
		   ep->created ? (jiffies - ep->created) / HZ : 0,
		   c->recvs, c->recv_octets, c->doorbells,
		   c->wrs[RPCRDMA_WR_SEND], c->wrs[RPCRDMA_WR_SEND_INV],
		   c->wrs[RPCRDMA_WR_READ], c->wrs[RPCRDMA_WR_WRITE],
		   c->wrs[RPCRDMA_WR_REG_MR], c->wrs[RPCRDMA_WR_LOCAL_INV],
		   c->remote_invs, c->sendq_waits, c->bad_headers);
	if (ep->ops->show)
		ep->ops->show(ep, seq);
	seq_putc(seq, '\n');
}

static int rpcrdma_connections_show(struct seq_file *seq, void *unused)
{
	rpcrdma_ep_walk(rpcrdma_show_ep, seq);
	return 0;
}

static int rpcrdma_listeners_show(struct seq_file *seq, void *unused)
{
	struct net *net = seq_file_single_net(seq);
	struct rpcrdma_listener *l;

	mutex_lock(&rpcrdma_listeners_lock);
	list_for_each_entry(l, &rpcrdma_listeners, list) {
		if (!net_eq(l->net, net))
			continue;
		seq_printf(seq, "address=%s device=%s accepted=%d refused=%d\n",
			   l->name, l->dev_name, atomic_read(&l->accepted),
			   atomic_read(&l->refused));
	}
	mutex_unlock(&rpcrdma_listeners_lock);
	return 0;
}

static int __net_init rpcrdma_proc_net_init(struct net *net)
{
	struct proc_dir_entry *dir;

	dir = proc_net_mkdir(net, "rpcrdma", net->proc_net);
	if (!dir)
		return -ENOMEM;
	if (proc_create_net_single("connections", 0444, dir,
				   rpcrdma_connections_show, NULL) &&
	    proc_create_net_single("listeners", 0444, dir,
				   rpcrdma_listeners_show, NULL))
		return 0;
	remove_proc_subtree("rpcrdma", net->proc_net);
	return -ENOMEM;
}

static void __net_exit rpcrdma_proc_net_exit(struct net *net)
{
	remove_proc_subtree("rpcrdma", net->proc_net);
}

struct pernet_operations rpcrdma_proc_ops = {
	.init	= rpcrdma_proc_net_init,
	.exit	= rpcrdma_proc_net_exit,
};
