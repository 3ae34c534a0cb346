# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Servers that register what they RDMA Read into: on iWARP devices they must
# (RDMA_TYPE=siw), with ib_core.force_mr=1 others do as well.

# read_mrs_count KEY: over all of this side's live connections
read_mrs_count() {
	sed -n "s/.* state=live .* $1=\([0-9]*\).*/\1/p" /proc/net/rpcrdma/connections |
		awk '{ n += $1 } END { print n + 0 }'
}

read_mrs_line() { grep "side=server state=live .* device=${RDMA_TYPE:-rxe}0 " /proc/net/rpcrdma/connections; }

# The server's line tells of nothing but its own WRs. With force_mr it registers what it
# writes from as well; on iWARP it has no need to. On rxe a Read that needs no MR follows the
# Reads of a Call (svcrdma/read.c: build_fence()).
read_mrs_used() {
	local reads writes=0 mrs
	reads=$(on_server read_mrs_count reads)
	if [ "${RDMA_TYPE:-rxe}" != siw ]; then
		reads=$((reads / 2))
		writes=$(on_server read_mrs_count writes)
	fi
	mrs=$(on_server read_mrs_count reg_mrs)
	echo "$reads RDMA Reads into MRs, $writes RDMA Writes, $mrs registrations"
	[ "$reads" -ge 3 ]
	[ "$mrs" -ge $((reads + writes)) ]
}

# Whoever shares the protection domain could invalidate what is read into, and write there
# on iWARP
read_mrs_domains() {
	local connections domains
	connections=$(grep -c "side=server state=live " /proc/net/rpcrdma/connections)
	domains=$(rdma resource show pd | grep -c 'comm \[rpcrdma\]')
	echo "$connections connections, $domains protection domains"
	[ "$connections" -ge 2 ]
	[ "$domains" = "$connections" ]
}

# Guests: -A ib_core.force_mr=1
suite_read_mrs() {
	check "mount read_mrs" mount_nfs vers=4.2
	mountpoint -q $MNT || return 0
	check "the device is the one that was asked for" on_server read_mrs_line
	check "verified I/O read_mrs" matrix_io
	check "the server registers what it reads into" read_mrs_used
	check "umount read_mrs" umount_nfs
	check "mount read_mrs nconnect" mount_nfs vers=3,nconnect=2
	mountpoint -q $MNT || return 0
	check "verified I/O read_mrs nconnect" matrix_io
	check "a protection domain for each connection, with MRs" on_server read_mrs_domains
	check "umount read_mrs nconnect" umount_nfs
}
suite_domains() {
	check "mount domains" mount_nfs vers=3,nconnect=2
	mountpoint -q $MNT || return 0
	check "I/O on each connection" matrix_io
	check "a protection domain for each connection" on_server read_mrs_domains
	check "umount domains" umount_nfs
}
