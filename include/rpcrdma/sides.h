/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The only thing module.c knows of the two sides.
 */
#ifndef RPCRDMA_SIDES_H
#define RPCRDMA_SIDES_H

int xprt_rdma_init(void);
void xprt_rdma_exit(void);
int svc_rdma_init(void);
void svc_rdma_exit(void);

#endif /* RPCRDMA_SIDES_H */
