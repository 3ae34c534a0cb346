/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The only file that knows a kernel version. Written for 6.12; what 6.1 lacks
 * or names differently is filled in here. Force-included before every file.
 *
 * An older kernel's difference is named by what it lacks, so that a reader of
 * the code that uses it sees the newer kernel's form only.
 */
#ifndef RPCRDMA_COMPAT_H
#define RPCRDMA_COMPAT_H

#ifndef pr_fmt
#define pr_fmt(fmt) "rpcrdma: " fmt
#endif

#include <linux/version.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#endif /* RPCRDMA_COMPAT_H */
