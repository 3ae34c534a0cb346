# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The memory that all clients together can make a server hold. Forty of them have it read
# 640 MiB, and let no RDMA Read complete. The server has 1 GiB. It holds what
# max_total_size says, and one RPC for each connection; a mount beside them goes on; then
# the server closes the connections of the forty.

PINNED_PEERS=40

pinned_lines() { grep ' side=server .* peer=10\.0\.0\.2:' /proc/net/rpcrdma/connections; }
# pinned_sum FIELD
pinned_sum() { pinned_lines | sed -nE "s/.* $1=([0-9]+).*/\1/p" | awk '{ n += $1 } END { print n + 0 }'; }
# Connections of which Calls wait to read
pinned_waiting() { pinned_lines | grep -c ' read_waits=[1-9]'; }
pinned_all_wait() { [ "$(pinned_waiting)" -ge $PINNED_PEERS ]; }

pinned_lose() {
	peer_lose 13-16
	pinned_lines | wc -l >/run/pinned_before
}
# An eighth of the memory, 257 pages and what describes them for each connection, and the
# slack of a counter of each processor
pinned_bound() {
	local total sum limit
	wait_for 100 pinned_all_wait || :
	total=$(awk '/^MemTotal:/ { print int($2 / 4) }' /proc/meminfo)
	sum=$(($(pinned_sum read_pages) + $(pinned_sum reply_pages)))
	limit=$((total / 8 + PINNED_PEERS * 300 + 512))
	echo "$sum pages of at most $limit; $(awk '/^MemAvailable:/ { print int($2 / 4) }' /proc/meminfo) of $total available;" \
		"connections with waiting Calls: $(pinned_waiting)"
	pinned_all_wait
	[ "$sum" -le $limit ]
	# One RPC of each may go on
	[ "$sum" -ge $((PINNED_PEERS * 256)) ]
}
pinned_shown() {
	[ "$(pinned_lines | grep -cE ' total_pages=[1-9][0-9]* max_total_pages='$(($(cat /proc/sys/sunrpc/svc_rdma/max_total_size) / 4096))'( |$)')" -ge 1 ]
}
pinned_closed() { [ "$(pinned_lines | wc -l)" -le "$(cat /run/pinned_before)" ]; }
pinned_ended() {
	wait_for 240 pinned_closed
	nft delete table ip peer_hold
	pinned_lines | sed -E 's/.* (read_pages=[0-9]+) .* (total_pages=[0-9]+) .*/\1 \2/'
	[ "$(pinned_sum read_pages)" -le 64 ]
}
pinned_passes() { cat /run/bystander.passes; }
pinned_goes_on() {
	local before
	before=$(pinned_passes)
	wait_for 60 eval '[ "$(pinned_passes)" -ge '$((before + 3))' ]'
	echo "passes: $before, then $(pinned_passes)"
}
# The smallest limit: a connection has one RPC at a time
pinned_smallest() {
	on_server "cat /proc/sys/sunrpc/svc_rdma/max_total_size >/run/pinned_size; echo 1060864 >/proc/sys/sunrpc/svc_rdma/max_total_size"
	iocheck write -l 4m -b 1m -s 3 -d $MNT/pinned
	iocheck verify -l 4m -b 1m -s 3 -d $MNT/pinned
	on_server 'cat /run/pinned_size >/proc/sys/sunrpc/svc_rdma/max_total_size'
}

# Guests: -m 1024 -t 900 -a "$TESTS/peer=/test/peer"
suite_pinned() {
	local before
	check "files for peers" on_server peer_files
	check "mount beside forty clients" mount_nfs vers=4.2
	mountpoint -q $MNT || return 0
	before=$(connects)
	check "I/O with the smallest limit" pinned_smallest
	peer_bystander &
	# Each sends sixteen Calls at once
	on_server "peer_first_requests 64" >/dev/null
	check "no RDMA Read completes" on_server pinned_lose
	PEER_LIMIT=500 peer_case /test/peer/crowd/reads-held.peer -D xid=1048576 >/run/pinned.out 2>&1 &
	ON_SERVER_LIMIT=150 check "the server holds no more than it may" on_server pinned_bound
	check "/proc shows the limit of all connections" on_server pinned_shown
	check "the mount goes on beside them" pinned_goes_on
	ON_SERVER_LIMIT=260 check "their memory is free again" on_server pinned_ended
	check "the mount beside them was not disturbed" peer_undisturbed "$before"
	on_server peer_first_requests >/dev/null
	check "umount beside forty clients" umount_nfs
}
