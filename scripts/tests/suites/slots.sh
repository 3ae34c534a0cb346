# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Far more processes than slots: each gets its turn, and none is forgotten. With few
# slots every RPC waits for one; the first that waits is the first that is served, so
# that the slowest waits little longer than all others. SLOTS_RPCS says how many RPCs
# (10000), SLOTS_PROCESSES by how many processes (200).

SLOTS_ENTRIES=/proc/sys/sunrpc/rdma_slot_table_entries

# Median, P99 and longest, in microseconds
slots_run() {
	LATENCY=y timeout -k 5 "${SLOTS_LIMIT:-300}" rpcops "$1" $MNT "${SLOTS_RPCS:-10000}" "${SLOTS_PROCESSES:-200}" |
		tail -n 1 >/run/latency
	grep . /run/latency
}

# A wake-up that gets lost is made good by another RPC's end, or never
slots_even() {
	local median p99 most
	read -r median p99 most </run/latency
	echo "median $median us, P99 $p99, longest $most"
	[ "$p99" -le $((4 * median)) ] && [ "$most" -le $((20 * median)) ]
}

# slots_case OPERATION SLOTS [CHECK]: what must hold of the latencies
slots_case() {
	local op=$1 entries=$2 old
	old=$(cat $SLOTS_ENTRIES)
	echo "$entries" >$SLOTS_ENTRIES
	check "mount slots=$entries" mount_nfs vers=3,lookupcache=none,noac
	check "${SLOTS_RPCS:-10000} x $op slots=$entries" slots_run "$op"
	info "latency $op slots=$entries: $(cat /run/latency) us (median, p99, most)"
	[ -z "${3:-}" ] || check "nobody waits much longer than others: $op slots=$entries" "$3"
	check "umount slots=$entries" umount_nfs
	echo "$old" >$SLOTS_ENTRIES
}

suite_slots() {
	on_server "dd if=/dev/zero of=$EXPORT/bench bs=1M count=16 status=none" >/dev/null
	slots_case getattr 4 slots_even
	slots_case read4k 4 slots_even
	slots_case getattr 128 slots_even
}

# Each gets its turn. When, is the host's affair where a guest has more processors than
# the host has for it: one of them may stand still for long.
suite_slots_crowd() {
	on_server "dd if=/dev/zero of=$EXPORT/bench bs=1M count=16 status=none" >/dev/null
	slots_case getattr 4
	slots_case read4k 4
	slots_case getattr 128
}
