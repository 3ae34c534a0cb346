// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * DMA: the only file that maps memory for a device. Each endpoint counts its
 * mappings, which are all undone in its teardown.
 */

#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include <linux/kmemleak.h>
#include <linux/slab.h>

#include "rpcrdma/endpoint.h"

/**
 * rpcrdma_alloc_exact - allocate pages in one piece
 * @size: bytes
 * @node: where, or NUMA_NO_NODE
 * @gfp: how to allocate
 *
 * Like alloc_pages_exact(), but on a node. To be freed by free_pages_exact().
 *
 * Return: the memory, or NULL.
 */
void *rpcrdma_alloc_exact(size_t size, int node, gfp_t gfp)
{
	unsigned int order = get_order(size), i;
	struct page *page;

	page = alloc_pages_node(node, gfp, order);
	if (!page)
		return NULL;
	split_page(page, order);
	for (i = DIV_ROUND_UP(size, PAGE_SIZE); i < 1U << order; i++)
		__free_page(page + i);
	return page_address(page);
}

/**
 * rpcrdma_dmabuf_alloc - allocate linear memory, not mapped yet
 * @buf: to be filled in
 * @size: bytes
 * @dir: how the device will use it
 * @node: where, or NUMA_NO_NODE
 * @gfp: how to allocate
 *
 * More than a page takes as many pages as it needs: the slabs would round five up
 * to eight.
 *
 * Return: 0 or -ENOMEM.
 */
int rpcrdma_dmabuf_alloc(struct rpcrdma_dmabuf *buf, u32 size,
			 enum dma_data_direction dir, int node, gfp_t gfp)
{
	if (size > PAGE_SIZE)
		buf->data = rpcrdma_alloc_exact(size, node, gfp);
	else
		buf->data = kmalloc_node(size, gfp, node);
	if (!buf->data)
		return -ENOMEM;
	/* kmemleak does not know of pages by itself */
	if (size > PAGE_SIZE)
		kmemleak_alloc(buf->data, size, 1, gfp);
	buf->size = size;
	buf->dir = dir;
	buf->ep = NULL;
	buf->addr = 0;
	return 0;
}

/**
 * rpcrdma_dmabuf_free - unmap and free
 * @buf: buffer, possibly never allocated (all zeroes)
 */
void rpcrdma_dmabuf_free(struct rpcrdma_dmabuf *buf)
{
	rpcrdma_dmabuf_unmap(buf);
	if (buf->data && buf->size > PAGE_SIZE) {
		kmemleak_free(buf->data);
		free_pages_exact(buf->data, buf->size);
	} else {
		kfree(buf->data);
	}
	buf->data = NULL;
}

/**
 * rpcrdma_dmabuf_map - map a buffer, until rpcrdma_dmabuf_unmap()
 * @ep: endpoint
 * @buf: buffer; nothing happens when it is mapped for @ep already
 *
 * The caller sees to it that @buf is not mapped for another endpoint, and
 * unmaps it in rpcrdma_ep_ops.release at the latest.
 *
 * Return: 0 or -EIO.
 */
int rpcrdma_dmabuf_map(struct rpcrdma_ep *ep, struct rpcrdma_dmabuf *buf)
{
	if (buf->ep == ep)
		return 0;
	if (WARN_ON_ONCE(buf->ep))
		return -EIO;
	buf->addr = ib_dma_map_single(ep->device, buf->data, buf->size,
				      buf->dir);
	if (ib_dma_mapping_error(ep->device, buf->addr))
		return -EIO;
	/* rxe and siw have no DMA, and ask no device */
	buf->sync = !ib_uses_virt_dma(ep->device) &&
		    dma_need_sync(ep->device->dma_device, buf->addr);
	buf->ep = ep;
	atomic_inc(&ep->maps);
	return 0;
}

/**
 * rpcrdma_dmabuf_unmap - undo rpcrdma_dmabuf_map()
 * @buf: buffer that the device no longer uses; or one that is not mapped
 */
void rpcrdma_dmabuf_unmap(struct rpcrdma_dmabuf *buf)
{
	struct rpcrdma_ep *ep = buf->ep;

	if (!ep)
		return;
	/*
	 * The reader of a received message has synchronized it, and may still be
	 * at work in it: RPCSEC_GSS deciphers it in place, and nfsd goes on with a
	 * Call whose connection is lost. The bytes from the device must not come
	 * back over that, neither from a bounce buffer nor by dropping cache lines.
	 */
	if (!ib_uses_virt_dma(ep->device))
		dma_unmap_single_attrs(ep->device->dma_device, buf->addr, buf->size,
				       buf->dir, DMA_ATTR_SKIP_CPU_SYNC);
	buf->ep = NULL;
	atomic_inc(&ep->unmaps);
}

/**
 * rpcrdma_dmabuf_sync_for_device - the CPU is done, the device is next
 * @buf: mapped buffer
 * @offset: first byte
 * @len: bytes
 */
void rpcrdma_dmabuf_sync_for_device(struct rpcrdma_dmabuf *buf, u32 offset,
				    u32 len)
{
	if (buf->sync)
		ib_dma_sync_single_for_device(buf->ep->device,
					      buf->addr + offset, len, buf->dir);
}

/* The device has written, the CPU will read */
void rpcrdma_dmabuf_sync_for_cpu(struct rpcrdma_dmabuf *buf, u32 offset,
				 u32 len)
{
	if (buf->sync)
		ib_dma_sync_single_for_cpu(buf->ep->device, buf->addr + offset,
					   len, buf->dir);
}

/**
 * rpcrdma_dmabuf_sge - describe a range of a mapped buffer
 * @buf: mapped buffer
 * @sge: to be filled in
 * @offset: first byte
 * @len: bytes
 */
void rpcrdma_dmabuf_sge(const struct rpcrdma_dmabuf *buf, struct ib_sge *sge,
			u32 offset, u32 len)
{
	sge->addr = buf->addr + offset;
	sge->length = len;
	sge->lkey = buf->ep->pd->local_dma_lkey;
}

/**
 * rpcrdma_map_page - map a range of a page and describe it
 * @ep: endpoint
 * @sge: to be filled in; keep it for rpcrdma_unmap_page()
 * @page: page, which the caller keeps until it is unmapped
 * @offset: first byte in it
 * @len: bytes
 * @dir: how the device will use it
 *
 * Return: 0 or -EIO.
 */
int rpcrdma_map_page(struct rpcrdma_ep *ep, struct ib_sge *sge,
		     struct page *page, u32 offset, u32 len,
		     enum dma_data_direction dir)
{
	u64 addr = ib_dma_map_page(ep->device, page, offset, len, dir);

	if (ib_dma_mapping_error(ep->device, addr))
		return -EIO;
	sge->addr = addr;
	sge->length = len;
	sge->lkey = ep->pd->local_dma_lkey;
	atomic_inc(&ep->maps);
	return 0;
}

/**
 * rpcrdma_unmap_page - undo rpcrdma_map_page()
 * @ep: endpoint
 * @sge: filled in by rpcrdma_map_page()
 * @dir: the same direction
 */
void rpcrdma_unmap_page(struct rpcrdma_ep *ep, const struct ib_sge *sge,
			enum dma_data_direction dir)
{
	ib_dma_unmap_page(ep->device, sge->addr, sge->length, dir);
	atomic_inc(&ep->unmaps);
}

/**
 * rpcrdma_max_segment - how long may an entry of a scatterlist be?
 * @ep: endpoint that is to map it; its device is known
 *
 * Return: bytes, at least a page.
 */
u32 rpcrdma_max_segment(const struct rpcrdma_ep *ep)
{
	size_t max = ib_dma_max_seg_size(ep->device);

	/* A bounce buffer may be smaller than the device's limit */
	if (!ib_uses_virt_dma(ep->device))
		max = min(max, dma_max_mapping_size(ep->device->dma_device));
	return max;
}

/**
 * rpcrdma_map_sg - map a scatterlist for registration
 * @ep: endpoint
 * @sgl: scatterlist
 * @nents: entries
 * @dir: how the device will use it
 *
 * Return: number of mapped entries, 0 on failure.
 */
int rpcrdma_map_sg(struct rpcrdma_ep *ep, struct scatterlist *sgl,
		   unsigned int nents, enum dma_data_direction dir)
{
	int mapped = ib_dma_map_sg(ep->device, sgl, nents, dir);

	if (mapped > 0)
		atomic_inc(&ep->maps);
	return max(mapped, 0);
}

/**
 * rpcrdma_unmap_sg - undo rpcrdma_map_sg()
 * @ep: endpoint
 * @sgl: the same scatterlist, of an MR that is invalid
 * @nents: the number of entries given to rpcrdma_map_sg()
 * @dir: the same direction
 */
void rpcrdma_unmap_sg(struct rpcrdma_ep *ep, struct scatterlist *sgl,
		      unsigned int nents, enum dma_data_direction dir)
{
	ib_dma_unmap_sg(ep->device, sgl, nents, dir);
	atomic_inc(&ep->unmaps);
}
