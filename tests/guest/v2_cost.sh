#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Guests: -a "$TESTS/bench/events.sh=/test/events.sh"
#
# Version two adds no doorbell, no WR, no allocation and no wake-up to an RPC: the
# same RPCs in both versions, in one guest that is client and server, counted.
#
#	make test T=guest/v2_cost KERNEL=6.1
#
# Each operation is done $FEW times and $MANY times: the difference has nothing of what
# comes once. A line "info OPERATION EVENT ONE TWO" has the counts of version one
# and two, of all operations together.
. /test/guest.sh
. /test/events.sh

FEW=${FEW:-25}
MANY=${MANY:-225}
OPS=${OPS:-getattr read4k write4k readdir}
OPERATIONS=$((MANY - FEW))
# What may come and go by itself: Receives refilled a message later, or two Replies
# met by one poll. One more an operation is far more.
SLACK=$((OPERATIONS / 20))
# In the whole guest others allocate as well, more or less of it. The guest's own
# wake-ups (wake, switch) depend on who sleeps just then: shown, and not judged.
guest_slack() { echo $((OPERATIONS / 2 + $1 / 100)); }

cost_version() {
	cat /proc/net/rpcrdma/connections
	[ "$(sed -n 's/.* state=live.* version=\([0-9]*\).*/\1/p' /proc/net/rpcrdma/connections | sort -u)" = "$1" ]
}

# cost_count VERSION: into /run/cost.VERSION.OPERATION
cost_count() {
	local v=$1 op
	for op in $OPS; do
		rpcops "$op" $MNT 20
		events_of /run/few rpcops "$op" $MNT "$FEW"
		events_of /run/many rpcops "$op" $MNT "$MANY"
		awk 'NR == FNR { n[$1] = $2; next } { print $1, $2 - n[$1] }' /run/few /run/many >"/run/cost.$v.$op"
	done
}

cost_measure() {
	echo "$1" >/proc/sys/sunrpc/rdma_max_version
	echo "$1" >/proc/sys/sunrpc/svc_rdma/max_version
	check "mount in version $1" events_of "/run/cost.$1.mount" mount_nfs vers=3,actimeo=0,lookupcache=none
	check "allocations by the module are seen in version $1" cost_allocations "$1"
	check "version $1 is spoken" cost_version "$1"
	check "operations in version $1" cost_count "$1"
	check "umount in version $1" umount_nfs
}

cost_of() { awk -v event="$3" '$1 == event { n = $2 } END { print n + 0 }' "/run/cost.$1.$2"; }

# cost_compare OPERATION LEAST SLACK EVENT…: version two has not more, and both have
# at least LEAST an operation: what is not seen at all is not counted. Counts are
# differences of two runs, so that of what there is none there may be somewhat less.
cost_compare() {
	local op=$1 least=$2 slack=$3 event one two
	shift 3
	for event; do
		one=$(cost_of 1 "$op" "$event") two=$(cost_of 2 "$op" "$event")
		echo "$event: $one in version one, $two in version two, of $OPERATIONS operations"
		if [ "$least" -gt 0 ]; then
			[ "$one" -ge $((OPERATIONS * least)) ]
			[ "$two" -ge $((OPERATIONS * least)) ]
		fi
		[ "$slack" != guest ] || slack=$(guest_slack "$one")
		[ "$two" -le $((one + slack)) ]
	done
}

# A connection has at least its buffers
cost_allocations() {
	local n
	n=$(cost_of "$1" mount alloc_module)
	echo "$n allocations for a mount"
	[ "$n" -ge 10 ]
}

# A Call and its Reply, in either version
cost_sends() {
	local v n
	for v in 1 2; do
		n=$(($(cost_of $v "$1" wr.2) + $(cost_of $v "$1" wr.9)))
		echo "$n Sends in version $v, of $OPERATIONS operations"
		[ $n -ge $((OPERATIONS * 2)) ]
	done
}

cost_report() {
	local event
	for event in $(cut -d' ' -f1 /run/cost.[12]."$1" | sort -u); do
		info "$1 $event $(cost_of 1 "$1" "$event") $(cost_of 2 "$1" "$event")"
	done
}

one_guest_veth
load_transport
# So that 4 KiB travel in a chunk
echo 4096 >/proc/sys/sunrpc/rdma_max_inline_read
echo 4096 >/proc/sys/sunrpc/rdma_max_inline_write
NFSD_THREADS=8 server_up
check "files" rpcops_files 200
events_on
cost_measure 1
cost_measure 2
for op in $OPS; do
	cost_report "$op"
	# A Call and its Reply, at least
	check "$op: no doorbell added" cost_compare "$op" 2 $SLACK post_send
	check "$op: no doorbell added for Receives" cost_compare "$op" 0 $SLACK post_recv
	check "$op: Sends are seen" cost_sends "$op"
	check "$op: no WR added" cost_compare "$op" 0 $SLACK wr.0 wr.2 wr.4 wr.7 wr.9 wr.32
	check "$op: no completion added" cost_compare "$op" 2 $SLACK completion
	check "$op: no allocation added by the module" cost_compare "$op" 0 $SLACK alloc_module
	check "$op: no wake-up added by the module" cost_compare "$op" 1 $SLACK wake_module
	check "$op: no allocation added in the guest" cost_compare "$op" 1 guest alloc
done
server_down
unload_transport
check_rdma_clean
check_log_clean
finish
