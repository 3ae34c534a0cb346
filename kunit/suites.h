/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The KUnit suites, one for each pure file.
 */
#ifndef RPCRDMA_KUNIT_SUITES_H
#define RPCRDMA_KUNIT_SUITES_H

#include <kunit/test.h>

extern struct kunit_suite rpcrdma_wire_suite;
extern struct kunit_suite rpcrdma_wire_enc_suite;
extern struct kunit_suite rpcrdma_answers_suite;
extern struct kunit_suite rpcrdma_cm_private_suite;
extern struct kunit_suite rpcrdma_plan_suite;
extern struct kunit_suite rpcrdma_layout_suite;
extern struct kunit_suite rpcrdma_plan_queues_suite;
extern struct kunit_suite rpcrdma_send_slots_suite;
extern struct kunit_suite rpcrdma_negotiate_suite;

#endif /* RPCRDMA_KUNIT_SUITES_H */
