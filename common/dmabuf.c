// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory that the device reads or writes: linear buffers that stay mapped,
 * pages that are mapped for one Send, scatterlists that are mapped for one MR.
 * The only calls of ib_dma_*. Each mapping is counted, because rxe has no DMA
 * device that would miss one: the counts are equal at the end of a connection.
 */

#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include <linux/kmemleak.h>
#include <linux/slab.h>

#include "rpcrdma/endpoint.h"

/**
 * rpcrdma_dmabuf_alloc - allocate linear memory, not mapped yet
 * @buf: to be filled in
 * @size: octets
 * @dir: how the device will use it
 * @gfp: how to allocate
 *
 * More than a page takes as many pages as it needs: the slabs would round five up
 * to eight.
 *
 * Context: as @gfp allows.
 *
 * Return: 0 and the caller owns the memory, or -ENOMEM.
 */
int rpcrdma_dmabuf_alloc(struct rpcrdma_dmabuf *buf, u32 size,
			 enum dma_data_direction dir, gfp_t gfp)
{
	if (size > PAGE_SIZE)
		buf->data = alloc_pages_exact(size, gfp);
	else
		buf->data = kmalloc(size, gfp);
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
 *
 * Context: any.
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
 * rpcrdma_dmabuf_map - map a buffer for an endpoint's device
 * @ep: endpoint; its device is known
 * @buf: buffer; nothing happens when it is mapped for @ep already
 *
 * Context: any. The caller sees to it that @buf is not mapped for another
 * endpoint, and is unmapped in rpcrdma_ep_ops.release at the latest.
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
 * @buf: buffer; nothing happens when it is not mapped
 *
 * Context: any. The device no longer uses it.
 */
void rpcrdma_dmabuf_unmap(struct rpcrdma_dmabuf *buf)
{
	struct rpcrdma_ep *ep = buf->ep;

	if (!ep)
		return;
	/*
	 * Whoever looks at what was received has synchronized that, and may still be at work
	 * in it: RPCSEC_GSS deciphers it in place, and nfsd goes on with a Call whose
	 * connection is lost. What the device wrote must not come back over that, neither
	 * from a bounce buffer nor by dropping lines of a cache.
	 */
	if (!ib_uses_virt_dma(ep->device))
		dma_unmap_single_attrs(ep->device->dma_device, buf->addr, buf->size,
				       buf->dir, DMA_ATTR_SKIP_CPU_SYNC);
	buf->ep = NULL;
	atomic_inc(&ep->unmaps);
}

/**
 * __rpcrdma_dmabuf_sync - rpcrdma_dmabuf_sync_for_device(), and that for the CPU
 * @buf: mapped buffer that needs it
 * @offset: first octet
 * @len: octets
 * @for_device: who is next
 *
 * Context: any.
 */
void __rpcrdma_dmabuf_sync(struct rpcrdma_dmabuf *buf, u32 offset, u32 len,
			   bool for_device)
{
	struct ib_device *device = buf->ep->device;
	u64 addr = buf->addr + offset;

	if (for_device)
		ib_dma_sync_single_for_device(device, addr, len, buf->dir);
	else
		ib_dma_sync_single_for_cpu(device, addr, len, buf->dir);
}

/**
 * rpcrdma_map_page - map a range of a page and describe it
 * @ep: endpoint
 * @sge: to be filled in; keep it for rpcrdma_unmap_page()
 * @page: page
 * @offset: first octet in it
 * @len: octets
 * @dir: how the device will use it
 *
 * Context: any. The caller keeps the page until it is unmapped.
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
 * @sge: what rpcrdma_map_page() filled in
 * @dir: the same direction
 *
 * Context: any. The device no longer uses it.
 */
void rpcrdma_unmap_page(struct rpcrdma_ep *ep, const struct ib_sge *sge,
			enum dma_data_direction dir)
{
	ib_dma_unmap_page(ep->device, sge->addr, sge->length, dir);
	atomic_inc(&ep->unmaps);
}

/**
 * rpcrdma_sg_set_pages - describe whole pages
 * @sg: first entry
 * @page: first page
 * @nr: how many
 *
 * For a megabyte, in a handful of instructions for each page.
 *
 * Context: any.
 *
 * Return: the entry behind them.
 */
struct scatterlist *rpcrdma_sg_set_pages(struct scatterlist *sg,
					 struct page **page, unsigned int nr)
{
	for (; nr >= 4; nr -= 4, sg += 4, page += 4) {
		rpcrdma_sg_set(&sg[0], page[0], PAGE_SIZE, 0);
		rpcrdma_sg_set(&sg[1], page[1], PAGE_SIZE, 0);
		rpcrdma_sg_set(&sg[2], page[2], PAGE_SIZE, 0);
		rpcrdma_sg_set(&sg[3], page[3], PAGE_SIZE, 0);
	}
	for (; nr; nr--)
		rpcrdma_sg_set(sg++, *page++, PAGE_SIZE, 0);
	return sg;
}

/**
 * rpcrdma_map_sg - map a scatterlist for registration
 * @ep: endpoint
 * @sgl: scatterlist
 * @nents: entries
 * @dir: how the device will use it
 *
 * Context: any.
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
 * @sgl: the same scatterlist
 * @nents: the number of entries given to rpcrdma_map_sg()
 * @dir: the same direction
 *
 * Context: any. The MR is invalid.
 */
void rpcrdma_unmap_sg(struct rpcrdma_ep *ep, struct scatterlist *sgl,
		      unsigned int nents, enum dma_data_direction dir)
{
	ib_dma_unmap_sg(ep->device, sgl, nents, dir);
	atomic_inc(&ep->unmaps);
}
