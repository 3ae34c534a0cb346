/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What administrators see of connections and listeners: /proc/net/rpcrdma.
 */
#ifndef RPCRDMA_STATUS_H
#define RPCRDMA_STATUS_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/socket.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>

#include "endpoint.h"

/**
 * struct rpcrdma_listener - what the status tree shows of a listener
 * @list: in the status list
 * @net: its namespace
 * @name: address and port
 * @dev_name: device it is bound to, "*" for any, "-" while that is away
 * @accepted: connections accepted
 * @refused: Connect Requests turned away
 */
struct rpcrdma_listener {
	struct list_head list;
	struct net *net;
	char name[RPCRDMA_ADDRSTRLEN];
	char dev_name[IB_DEVICE_NAME_MAX];
	atomic_t accepted;
	atomic_t refused;
};

/* status.c */
void rpcrdma_status_add_ep(struct rpcrdma_ep *ep);
void rpcrdma_status_del_ep(struct rpcrdma_ep *ep);
void rpcrdma_status_each_ep(void (*what)(struct rpcrdma_ep *ep));
void rpcrdma_status_add_listener(struct rpcrdma_listener *listener);
void rpcrdma_status_del_listener(struct rpcrdma_listener *listener);
void rpcrdma_status_set_device(struct rpcrdma_listener *listener,
			       const char *name);
void rpcrdma_format_addr(char *buf, size_t size, const struct sockaddr *sap);
int rpcrdma_status_init(void);
void rpcrdma_status_exit(void);

#endif /* RPCRDMA_STATUS_H */
