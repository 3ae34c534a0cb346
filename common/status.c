// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What users read: /proc/net/rpcrdma/{connections,listeners}, in each network
 * namespace. One line per object, key=value fields; new fields are only ever
 * appended.
 */

#include <linux/inet.h>
#include <linux/jiffies.h>
#include <linux/proc_fs.h>

#include "rpcrdma/endpoint.h"
#include "rpcrdma/status.h"

/* Protects both lists; held while a line is shown, so that objects stay */
static DEFINE_MUTEX(rpcrdma_status_lock);
static LIST_HEAD(rpcrdma_eps);
static LIST_HEAD(rpcrdma_listeners);

/**
 * rpcrdma_status_add_ep - show an endpoint
 * @ep: endpoint whose names are known
 *
 * Context: process, may sleep.
 */
void rpcrdma_status_add_ep(struct rpcrdma_ep *ep)
{
	mutex_lock(&rpcrdma_status_lock);
	list_add_tail(&ep->all, &rpcrdma_eps);
	mutex_unlock(&rpcrdma_status_lock);
}

/**
 * rpcrdma_status_del_ep - show an endpoint no more
 * @ep: endpoint, possibly never shown
 *
 * Context: process, may sleep. On return nobody is showing it.
 */
void rpcrdma_status_del_ep(struct rpcrdma_ep *ep)
{
	mutex_lock(&rpcrdma_status_lock);
	list_del_init(&ep->all);
	mutex_unlock(&rpcrdma_status_lock);
}

/**
 * rpcrdma_status_each_ep - do something with every endpoint
 * @what: what; does not wait for the end of one
 *
 * Context: process, may sleep.
 */
void rpcrdma_status_each_ep(void (*what)(struct rpcrdma_ep *ep))
{
	struct rpcrdma_ep *ep;

	mutex_lock(&rpcrdma_status_lock);
	list_for_each_entry(ep, &rpcrdma_eps, all)
		what(ep);
	mutex_unlock(&rpcrdma_status_lock);
}

/**
 * rpcrdma_status_add_listener - show a listener
 * @listener: filled in by the caller, who keeps it
 *
 * Context: process, may sleep.
 */
void rpcrdma_status_add_listener(struct rpcrdma_listener *listener)
{
	mutex_lock(&rpcrdma_status_lock);
	list_add_tail(&listener->list, &rpcrdma_listeners);
	mutex_unlock(&rpcrdma_status_lock);
}

/**
 * rpcrdma_status_del_listener - show a listener no more
 * @listener: what rpcrdma_status_add_listener() was given
 *
 * Context: process, may sleep.
 */
void rpcrdma_status_del_listener(struct rpcrdma_listener *listener)
{
	mutex_lock(&rpcrdma_status_lock);
	list_del_init(&listener->list);
	mutex_unlock(&rpcrdma_status_lock);
}

/**
 * rpcrdma_status_set_device - show another device with a listener
 * @listener: listener, shown or not; its owner does not do this twice at a time
 * @name: the device's, "*" for any, "-" for none at the moment
 *
 * Context: process, may sleep.
 */
void rpcrdma_status_set_device(struct rpcrdma_listener *listener,
			       const char *name)
{
	mutex_lock(&rpcrdma_status_lock);
	strscpy(listener->dev_name, name, sizeof(listener->dev_name));
	mutex_unlock(&rpcrdma_status_lock);
}

/**
 * rpcrdma_format_addr - an address and its port as people write them
 * @buf: where to, RPCRDMA_ADDRSTRLEN octets do for every address
 * @size: octets there
 * @sap: IPv4 or IPv6 address
 *
 * Context: any.
 */
void rpcrdma_format_addr(char *buf, size_t size, const struct sockaddr *sap)
{
	snprintf(buf, size, "%pISpc", sap);
}

static void rpcrdma_show_ep(struct seq_file *seq, struct rpcrdma_ep *ep)
{
	const struct rpcrdma_ep_counters *c = &ep->count;

	seq_printf(seq, "id=%u side=%s state=%s local=%s peer=%s device=%s",
		   ep->number, ep->ops->side, rpcrdma_ep_state_name(ep->state),
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
	struct net *net = seq_file_single_net(seq);
	struct rpcrdma_ep *ep;

	mutex_lock(&rpcrdma_status_lock);
	list_for_each_entry(ep, &rpcrdma_eps, all)
		if (net_eq(ep->net, net))
			rpcrdma_show_ep(seq, ep);
	mutex_unlock(&rpcrdma_status_lock);
	return 0;
}

static int rpcrdma_listeners_show(struct seq_file *seq, void *unused)
{
	struct net *net = seq_file_single_net(seq);
	struct rpcrdma_listener *l;

	mutex_lock(&rpcrdma_status_lock);
	list_for_each_entry(l, &rpcrdma_listeners, list) {
		if (!net_eq(l->net, net))
			continue;
		seq_printf(seq, "address=%s device=%s accepted=%d refused=%d\n",
			   l->name, l->dev_name, atomic_read(&l->accepted),
			   atomic_read(&l->refused));
	}
	mutex_unlock(&rpcrdma_status_lock);
	return 0;
}

static int __net_init rpcrdma_status_net_init(struct net *net)
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

static void __net_exit rpcrdma_status_net_exit(struct net *net)
{
	remove_proc_subtree("rpcrdma", net->proc_net);
}

static struct pernet_operations rpcrdma_status_net_ops = {
	.init	= rpcrdma_status_net_init,
	.exit	= rpcrdma_status_net_exit,
};

/**
 * rpcrdma_status_init - create the status tree in every namespace
 *
 * Context: module init.
 *
 * Return: 0 or a negative errno.
 */
int rpcrdma_status_init(void)
{
	return register_pernet_subsys(&rpcrdma_status_net_ops);
}

/**
 * rpcrdma_status_exit - remove the status tree
 *
 * Context: module exit.
 */
void rpcrdma_status_exit(void)
{
	unregister_pernet_subsys(&rpcrdma_status_net_ops);
}
