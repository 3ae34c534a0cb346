#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Two guests that swap the module together: how much gets through. The client
# drives. TURNS: modules, one after the other; SECONDS_EACH for each of OPS with
# each number of THREADS, up to 8 with latencies. With TRACE, packets and switches meanwhile,
# of either guest: trace.TURN.MODULE. See rates and path.
. /test/guest.sh

MODULE=swapped

TRACING=/sys/kernel/tracing

rates_trace() {
	local event
	[ -n "${TRACE:-}" ] || return 0
	echo 16384 >$TRACING/buffer_size_kb
	for event in sched/sched_switch sched/sched_waking net/netif_receive_skb net/net_dev_start_xmit; do
		echo 1 >$TRACING/events/$event/enable
	done
	echo >$TRACING/trace
	echo 1 >$TRACING/tracing_on
}
rates_traced() {
	[ -n "${TRACE:-}" ] || return 0
	echo 0 >$TRACING/tracing_on
	cat $TRACING/trace >"/run/$1"
	save_file "/run/$1"
}

rates_load() { insmod "/test/$1/rpcrdma.ko"; }

rates_measure() {
	local turn=$1 module=$2 op threads done
	for threads in $THREADS; do
		for op in $OPS; do
			[ "$threads" -gt 8 ] || export LATENCY=y
			done=$(rpcops "$op" $MNT "${SECONDS_EACH}s" "$threads")
			unset LATENCY
			echo "$turn $module $op $threads ${done/$'\n'/ }" >>/run/rates
		done
	done
}

rates_client() {
	local turn=0 module
	for module in $TURNS; do
		turn=$((turn + 1))
		rates_load "$module"
		peer_signal "turn.$turn" "$module"
		peer_wait "up.$turn" >/dev/null
		check "mount $module" mount_nfs vers=4.1,actimeo=0,lookupcache=none
		rates_trace
		check "operations $module" rates_measure $turn "$module"
		rates_traced "trace.$turn.$module"
		check "umount $module" umount_nfs
		unload_transport
		peer_signal "down.$turn"
		peer_wait "gone.$turn" >/dev/null
	done
	peer_signal "turn.$((turn + 1))" none
	save_file /run/rates
}

rates_server() {
	local turn=0 module
	while :; do
		turn=$((turn + 1))
		module=$(peer_wait "turn.$turn" "$LIMIT")
		[ "$module" != none ] || return 0
		rates_load "$module"
		NFSD_BLOCK=1048576 NFSD_THREADS=16 server_up 4.1
		[ -e $EXPORT/bench ] || iocheck write -l 16m -b 1m -t $EXPORT/bench
		rates_trace
		peer_signal "up.$turn"
		peer_wait "down.$turn" "$LIMIT" >/dev/null
		rates_traced "trace.$turn.$module"
		server_down
		unload_transport
		peer_signal "gone.$turn"
	done
}

rxe_up
modprobe -a sunrpc rdma_cm ib_core nfsv4 nfsd
"rates_$ROLE"
finish
