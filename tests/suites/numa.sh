# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Memory of a connection is on the node of its device. The guests have two nodes: the
# processors are on the first, the network device on the second.
#
# The trace points of the kernel's allocators say for which node each function of the
# module asked, and which pages it got for Receive buffers.
#
# Guests: CONFIG_RPCRDMA_FAULT=y -N

NUMA_OF=/sys/module/rpcrdma/parameters/node_of
NUMA_TRACE=/sys/kernel/tracing

# They run before the device is known, or for the processor alone: slots, what a Call is
# marshalled into, an address as text
NUMA_ANYWHERE_CLIENT='rpcrdma_ep_create|xprt_rdma_req_create|xprt_rdma_xdr_buf_grow|rpcrdma_rpc_set_addresses'
# The transport of callbacks belongs to sunrpc
NUMA_ANYWHERE_SERVER='svc_rdma_bc_create|rpcrdma_rpc_set_addresses'
# Of each there must be a call
NUMA_CLIENT='rpcrdma_recvq_create rpcrdma_recvq_add xprt_rdma_mrs_add'
NUMA_SERVER='svc_rdma_conn_create rpcrdma_ep_create svc_rdma_queue_setup rpcrdma_recvq_create
	rpcrdma_recvq_add svc_rdma_call_get svc_rdma_call_own_pages send_alloc svc_rdma_send_own_pages'

# First page frame of the second node
numa_frame() { awk '/^Node/ { node = $2 + 0 } node == 1 && /start_pfn/ && $2 > 0 { print $2; exit }' /proc/zoneinfo; }

numa_begin() {
	[ "$(cat /sys/devices/system/node/online)" = 0-1 ]
	[ "$(numa_frame)" -gt 0 ]
	[ -d $NUMA_TRACE/events ] || mount -t tracefs none $NUMA_TRACE
	echo 20000 >$NUMA_TRACE/buffer_size_kb
	echo stacktrace >$NUMA_TRACE/events/kmem/mm_page_alloc/trigger
	echo 1 >$NUMA_TRACE/events/kmem/kmalloc/enable
	echo 1 >$NUMA_TRACE/events/kmem/mm_page_alloc/enable
	echo eth0 >$NUMA_OF
}
numa_end() {
	echo >$NUMA_OF
	echo 0 >$NUMA_TRACE/tracing_on
	cp $NUMA_TRACE/trace /run/numa.trace
	grep -qx 'overrun: 0' $NUMA_TRACE/per_cpu/cpu0/stats
}

# numa_asked ANYWHERE FUNCTION...: each of them asked for node 1, and all others that are not in
# ANYWHERE, whenever they asked
numa_asked() {
	local anywhere=$1 f
	shift
	sed -n 's/.*kmalloc: call_site=\([a-z_0-9]*\)[^ ]* \[rpcrdma\] .* \(node=[-0-9]*\).*/\1 \2/p' /run/numa.trace |
		sort | uniq -c >/run/numa.asked
	cat /run/numa.asked
	for f; do
		grep -q " $f node=1$" /run/numa.asked
	done
	fails grep -vE " ($anywhere) | node=1$" /run/numa.asked
}

# Those that rpcrdma_alloc_exact() took for rpcrdma_recvq_add(). An interrupt that allocates may
# come between an allocation and its stack trace: both have the same task and the same kind of context.
# The stack of an interrupt goes on with what it interrupted, so only those of process context count.
numa_pages() {
	awk '
		match($0, / \[[0-9]+\] [^ ]+/) {
			context = substr($0, 1, RSTART) substr($0, RSTART + RLENGTH - 3, 1)
			exact = 0
		}
		/mm_page_alloc:/ { pfn[context] = $0; sub(/.*pfn=/, "", pfn[context]); sub(/ .*/, "", pfn[context]) }
		/ => rpcrdma_alloc_exact/ { exact = context ~ /\.$/ }
		/ => rpcrdma_recvq_add/ && exact { print pfn[context]; exact = 0 }' /run/numa.trace >/run/numa.frames
	local pfn n=0
	while read -r pfn; do
		n=$((n + 1))
		[ $((pfn)) -ge "$(numa_frame)" ] || { echo "page $pfn, node 1 begins at $(numa_frame)"; return 1; }
	done </run/numa.frames
	echo "$n blocks"
	[ $n -gt 0 ]
}

# One large RPC after the other, then many at a time: more Receives
numa_io() {
	iocheck write -l 4m -b 1m -s 3 -d $MNT/numa
	iocheck verify -l 4m -b 1m -s 3 -d $MNT/numa
	seq 64 | xargs -P 16 -I N dd if=$MNT/numa of=/dev/null bs=64k count=16 iflag=direct status=none
}

suite_numa() {
	check "a device on the second node: server" on_server numa_begin
	check "a device on the second node: client" numa_begin
	check "mount numa vers=4.2" mount_nfs vers=4.2
	! mountpoint -q $MNT || check "I/O numa" numa_io
	check "umount numa" umount_nfs
	check "end of the trace: server" on_server numa_end
	check "end of the trace: client" numa_end
	# shellcheck disable=SC2086
	check "the server asks for the node" on_server numa_asked "'$NUMA_ANYWHERE_SERVER'" $NUMA_SERVER
	# shellcheck disable=SC2086
	check "the client asks for the node" numa_asked "$NUMA_ANYWHERE_CLIENT" $NUMA_CLIENT
	check "the server's Receives are on the node" on_server numa_pages
	check "the client's Receives are on the node" numa_pages
}
