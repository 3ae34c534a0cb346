# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Memory of a connection, client and server: what a mount over sixteen connections takes
# more than one over a single one, after the same I/O on each. Works with the stock
# module as well: Documentation/performance.rst has the figures of both. Not on 6.1,
# where a mount over RDMA has one connection, whatever nconnect says, with NFSv4, which
# this suite mounts.

MEMORY_MORE=15
# KiB of client and server: what was seen, and a fifth. The stock module has more.
MEMORY_LIMITS=${MEMORY_LIMITS:-560 300}

# Queue pairs of connections: a teardown may go on for a while
memory_qps() { [ "$(rdma resource show qp | grep -c 'type RC ')" = "$1" ]; }

# memory_free CONNECTIONS: what is free, in KiB. Free as well, but not in MemFree, are the
# pages in lists of each processor, and objects in slabs of which others are in use: either
# are megabytes, and more or fewer of them from one moment to the next.
memory_free() {
	wait_for 20 memory_qps "$1"
	sync
	echo 3 >/proc/sys/vm/drop_caches
	for cache in /sys/kernel/slab/*/shrink; do
		echo 1 >"$cache"
	done
	awk '/^MemFree:/ { free = $2 } $1 == "count:" { lists += $2 }
		END { print free + lists * 4 }' /proc/meminfo /proc/zoneinfo
}

# memory_mount CONNECTIONS: leaves what is free on either side in /run/memory.CONNECTIONS
memory_mount() {
	mount_nfs "vers=4.2,nconnect=$1"
	for ((i = 0; i < $1; i++)); do
		iocheck write -l 64k -b 4k -s "$i" -d $MNT/memory
		iocheck verify -l 64k -b 4k -s "$i" -d $MNT/memory
	done
	[ "$(grep -c '^.xprt:.rdma' /proc/self/mountstats)" = "$1" ]
	echo "$(memory_free "$1") $(on_server "memory_free $1")" | tee "/run/memory.$1"
	umount_nfs
}

memory_each() {
	local one many each limit
	read -r -a one </run/memory.1
	read -r -a many </run/memory.$((MEMORY_MORE + 1))
	echo $(((one[0] - many[0]) / MEMORY_MORE)) $(((one[1] - many[1]) / MEMORY_MORE)) | tee /run/memory
	read -r -a each </run/memory
	read -r -a limit <<<"$MEMORY_LIMITS"
	# Less than the buffers of its Receives is no measurement
	[ "${each[0]}" -gt 130 ]
	[ "${each[1]}" -gt 130 ]
	[ "${each[0]}" -le "${limit[0]}" ]
	[ "${each[1]}" -le "${limit[1]}" ]
}

suite_memory() {
	# The first mount of all allocates what stays
	check "mount memory" memory_mount 1
	check "one connection" memory_mount 1
	check "sixteen connections" memory_mount $((MEMORY_MORE + 1))
	check "memory of a connection" memory_each
	info "KiB of each connection, client and server: $(cat /run/memory)"
}
