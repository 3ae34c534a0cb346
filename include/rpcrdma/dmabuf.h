/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Linear memory that the device reads or writes, as long as it is mapped.
 */
#ifndef RPCRDMA_DMABUF_H
#define RPCRDMA_DMABUF_H

#include <linux/dma-direction.h>
#include <linux/types.h>

struct rpcrdma_ep;

/**
 * struct rpcrdma_dmabuf - linear memory that the device reads or writes
 * @data: the memory
 * @size: octets
 * @dir: direction
 * @ep: the endpoint it is mapped for, or NULL
 * @addr: its DMA address while mapped
 * @sync: CPU and device see each other's octets only when they are told to look, as
 *	without coherence or with bounce buffers; while mapped
 *
 * Survives endpoints: map it anew for the next one.
 */
struct rpcrdma_dmabuf {
	void *data;
	u32 size;
	enum dma_data_direction dir;
	struct rpcrdma_ep *ep;
	u64 addr;
	bool sync;
};

int rpcrdma_dmabuf_alloc(struct rpcrdma_dmabuf *buf, u32 size,
			 enum dma_data_direction dir, gfp_t gfp);
void rpcrdma_dmabuf_free(struct rpcrdma_dmabuf *buf);
int rpcrdma_dmabuf_map(struct rpcrdma_ep *ep, struct rpcrdma_dmabuf *buf);
void rpcrdma_dmabuf_unmap(struct rpcrdma_dmabuf *buf);
void __rpcrdma_dmabuf_sync(struct rpcrdma_dmabuf *buf, u32 offset, u32 len,
			   bool for_device);

/**
 * rpcrdma_dmabuf_sync_for_device - the CPU is done, the device is next
 * @buf: mapped buffer
 * @offset: first octet
 * @len: octets
 *
 * Context: any.
 */
static inline void rpcrdma_dmabuf_sync_for_device(struct rpcrdma_dmabuf *buf,
						  u32 offset, u32 len)
{
	if (unlikely(buf->sync))
		__rpcrdma_dmabuf_sync(buf, offset, len, true);
}

/**
 * rpcrdma_dmabuf_sync_for_cpu - the device has written, the CPU will read
 * @buf: mapped buffer
 * @offset: first octet
 * @len: octets
 *
 * Context: any.
 */
static inline void rpcrdma_dmabuf_sync_for_cpu(struct rpcrdma_dmabuf *buf,
					       u32 offset, u32 len)
{
	if (unlikely(buf->sync))
		__rpcrdma_dmabuf_sync(buf, offset, len, false);
}

#endif /* RPCRDMA_DMABUF_H */
