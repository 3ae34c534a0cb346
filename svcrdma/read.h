/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The RDMA Reads of Calls with Read chunks, and Calls that wait for those of others.
 */
#ifndef SVCRDMA_READ_H
#define SVCRDMA_READ_H

#include "svc_rdma.h"

int svc_rdma_begin_reads(struct svc_rqst *rqstp, struct svc_rdma_call *call);
int svc_rdma_resume_reads(struct svc_rqst *rqstp, struct svc_rdma_call *call);
struct svc_rdma_call *svc_rdma_take_waiting(struct svc_rdma_conn *conn);
void svc_rdma_drop_waiting(struct svc_rdma_conn *conn);

/**
 * svc_rdma_may_read - may the first Call that waits begin its RDMA Reads?
 * @conn: connection
 *
 * Context: process; the caller holds conn->lock.
 *
 * Return: false also when none waits.
 */
static inline bool svc_rdma_may_read(const struct svc_rdma_conn *conn)
{
	return unlikely(conn->waiting) && !conn->starved &&
	       svc_rdma_budget_fits(&conn->reads, conn->waiting->wanted);
}

/**
 * svc_rdma_serve_waiting - let an nfsd thread begin RDMA Reads that may begin
 * @conn: connection; less is in flight than before, or one more waits
 *
 * Context: process; the caller holds conn->lock.
 */
static inline void svc_rdma_serve_waiting(struct svc_rdma_conn *conn)
{
	if (svc_rdma_may_read(conn))
		svc_rdma_make_ready(conn);
}

#endif /* SVCRDMA_READ_H */
