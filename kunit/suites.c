// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Registers the suites: a module may do so only once.
 */
#include "suites.h"

kunit_test_suites(&rpcrdma_wire_suite,
		  &rpcrdma_wire_enc_suite,
		  &rpcrdma_answers_suite,
		  &rpcrdma_cm_private_suite,
		  &rpcrdma_plan_suite,
		  &rpcrdma_layout_suite,
		  &rpcrdma_plan_queues_suite,
		  &rpcrdma_send_slots_suite,
		  &rpcrdma_negotiate_suite);
