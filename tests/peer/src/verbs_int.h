/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Between verbs.c and verbs_cm.c */
#ifndef PEER_VERBS_INT_H
#define PEER_VERBS_INT_H

/* Both return -1 */
int __attribute__((format(printf, 1, 2))) vb_fail(const char *fmt, ...);
int vb_fail_errno(const char *call);
int vb_ms_left(int64_t end);
struct rdma_cm_event *vb_cm_wait(struct rdma_event_channel *ch, int ms);

#endif /* PEER_VERBS_INT_H */
