# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A swap file on the mount: a program under a memory limit, then one that wants more
# than the guest has left, find what they wrote. SWAP_VERSIONS overrides the versions
# of NFS.

SWAP_FILE=$MNT/swap.file

vmstat() { awk -v key="$1" '$1 == key { print $2 }' /proc/vmstat; }
meminfo() { awk -v key="$1:" '$1 == key { print $2 }' /proc/meminfo; }

# swap_on [MEGABYTES]
swap_on() {
	dd if=/dev/zero of=$SWAP_FILE bs=1M count="${1:-512}" status=none
	chmod 600 $SWAP_FILE
	mkswap $SWAP_FILE
	swapon $SWAP_FILE
	grep $SWAP_FILE /proc/swaps
}
swap_off() {
	swapoff $SWAP_FILE
	rm $SWAP_FILE
}

# COMMAND…: it is killed when it does not end, and must have used the swap file
swap_used() {
	local out0 in0 rc=0 t0=$SECONDS
	out0=$(vmstat pswpout)
	in0=$(vmstat pswpin)
	timeout -k 5 "${SWAP_LIMIT:-120}" "$@" || rc=$?
	echo "status $rc after $((SECONDS - t0)) s; pages written $(($(vmstat pswpout) - out0)), read $(($(vmstat pswpin) - in0))"
	[ $rc = 0 ] || return $rc
	[ $(($(vmstat pswpout) - out0)) -ge 2000 ]
	[ $(($(vmstat pswpin) - in0)) -ge 2000 ]
}

# A memory limit on one program; the rest of the guest has plenty
# LIMIT [FROM]: what has more than FROM has to wait until some of it is swapped out. Without,
# the kernel kills what meets LIMIT while all of it is on its way to the server
swap_cgroup() {
	mkdir -p /run/cgroup
	mountpoint -q /run/cgroup || mount -t cgroup2 none /run/cgroup
	[ -e /run/cgroup/memory.max ] || echo +memory >/run/cgroup/cgroup.subtree_control
	mkdir -p /run/cgroup/swap
	echo "$1" >/run/cgroup/swap/memory.max
	echo "${2:-max}" >/run/cgroup/swap/memory.high
}
swap_limited() {
	swap_cgroup 32M 24M
	# shellcheck disable=SC2016
	swap_used bash -c 'echo $$ >/run/cgroup/swap/cgroup.procs; exec iocheck memory -l 36m'
}

# A file of four times the memory that its writer may have: each page is dirty until the
# server has it, and goes before the next can come. It may have twice as much for a moment:
# without that it is killed if the server is slow. rxe may stall until an RPC times out, 60 s
# (Documentation/known-issues.rst)
swap_writeback() {
	local before
	swap_cgroup 96M 48M
	before=$(swap_limit_hits)
	timeout -k 5 240 bash -c "echo \$\$ >/run/cgroup/swap/cgroup.procs; exec iocheck write -l 192m -b 1m -s 9 -t $MNT/writeback"
	timeout -k 5 240 bash -c "echo \$\$ >/run/cgroup/swap/cgroup.procs; exec iocheck verify -l 192m -b 1m -s 9 $MNT/writeback"
	info "the limit was met $(($(swap_limit_hits) - before)) times"
	[ "$(swap_limit_hits)" -gt $((before + 100)) ]
	rm $MNT/writeback
}
swap_limit_hits() { awk '$1 == "high" { print $2 }' /run/cgroup/swap/memory.events; }

# All memory but some is taken away, from the device's driver as well
swap_short() {
	local left=64
	drop_caches
	echo 1 >/proc/sys/vm/compact_memory
	echo $((($(meminfo MemAvailable) / 1024 - left) / 2)) >/proc/sys/vm/nr_hugepages
	grep -E "MemAvailable|HugePages_Total" /proc/meminfo
	try swap_used iocheck memory -l 240m
	echo 0 >/proc/sys/vm/nr_hugepages
	return $STATUS
}

# Guests: -t 3000 -m 2048
suite_swap() {
	local v
	for v in ${SWAP_VERSIONS:-3 4.2}; do
		check "mount swap vers=$v" mount_nfs "vers=$v"
		mountpoint -q $MNT || continue
		check "swapon vers=$v" swap_on
		check "a program under a memory limit vers=$v" swap_limited
		check "memory runs short vers=$v" swap_short
		check "swapoff vers=$v" swap_off
		check "umount swap vers=$v" umount_nfs
	done
}

suite_writeback() {
	local v
	for v in ${SWAP_VERSIONS:-3 4.2}; do
		check "mount writeback vers=$v" mount_nfs "vers=$v"
		mountpoint -q $MNT || continue
		check "a writer under a memory limit vers=$v" swap_writeback
		check "umount writeback vers=$v" umount_nfs
	done
}
