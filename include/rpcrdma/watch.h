/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef RPCRDMA_WATCH_H
#define RPCRDMA_WATCH_H

void rpcrdma_watch_init(void);
void rpcrdma_watch_exit(void);

#endif /* RPCRDMA_WATCH_H */
