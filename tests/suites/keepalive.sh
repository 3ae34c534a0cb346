# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A client that has NFSv4 state vanishes without a word, as if it lost its power: the
# server notices, because it probes a connection that is idle.

KEEPALIVE=/proc/sys/sunrpc/svc_rdma/keepalive
# Number and RDMA Writes of the server's only connection
keepalive_of() { sed -nE "s/^id=([0-9]+) side=server state=live .* writes=([0-9]+) .*/\\$1/p" /proc/net/rpcrdma/connections; }
keepalive_probed() { [ "$(keepalive_of 2)" -gt "$1" ]; }
keepalive_is_gone() { ! grep -q "^id=$1 side=server " /proc/net/rpcrdma/connections; }

# Replies that no completion tells of: a probe soon does. Two checks are 15 s apart. If the
# last Reply was the eighth and had a completion, one more has none.
keepalive_unsignalled() {
	local writes
	on_server "echo 0 >$KEEPALIVE"
	writes=$(on_server keepalive_of 2)
	stat -f $MNT
	if ! ON_SERVER_LIMIT=60 on_server "wait_for 40 keepalive_probed $writes"; then
		stat -f $MNT
		ON_SERVER_LIMIT=60 on_server "wait_for 40 keepalive_probed $writes"
	fi
}
# For three checks. The lease may be renewed, and each of those Replies be probed for; so may
# one from before
keepalive_off() {
	local writes calls
	writes=$(on_server keepalive_of 2) calls=$(on_server connection_sum recvs)
	sleep 50
	calls=$(($(on_server connection_sum recvs) - calls)) writes=$(($(on_server keepalive_of 2) - writes))
	echo "$calls Calls, $writes probes"
	[ $writes -le $((calls + 1)) ]
}
# A message between two checks, such as one that renews the lease, puts the probe off
keepalive_idle() {
	local id writes
	id=$(on_server keepalive_of 1)
	writes=$(on_server keepalive_of 2)
	ON_SERVER_LIMIT=150 on_server "echo 15 >$KEEPALIVE; wait_for 120 keepalive_probed $writes"
	ON_SERVER_LIMIT=150 on_server "wait_for 120 keepalive_probed $((writes + 1))"
	[ "$(on_server keepalive_of 1)" = "$id" ]
}
# On both sides, so that not even a lease is renewed. What is dropped where it is sent is an
# error for rxe, also of the queue pair of the CM (Documentation/known-issues.rst).
keepalive_dead() {
	local id t0=$SECONDS
	id=$(on_server keepalive_of 1)
	[ -n "$id" ]
	on_server wire_down >/dev/null
	wire_down
	ON_SERVER_LIMIT=150 on_server "wait_for 120 keepalive_is_gone $id"
	echo "gone after $((SECONDS - t0)) s"
}

suite_keepalive() {
	local keepalive_file
	check "mount keepalive" mount_nfs vers=4.2,timeo=150
	mountpoint -q $MNT || return 0
	exec {keepalive_file}<>$MNT/keepalive
	echo kept >&"$keepalive_file"
	sync $MNT/keepalive
	check "Replies that were not signalled are probed for" keepalive_unsignalled
	check "keepalive 0: no probe of an idle client" keepalive_off
	check "an idle client is probed, and stays" keepalive_idle
	check "the connection of a client without power ends" keepalive_dead
	wire_up
	on_server "wire_up; echo 300 >$KEEPALIVE"
	check "the client comes back" wait_for 120 timeout 60 grep -q kept $MNT/keepalive
	exec {keepalive_file}>&-
	check "umount keepalive" umount_nfs
}

keepalive_live() { sed -nE 's/^id=([0-9]+) side=client state=live .*/\1/p' /proc/net/rpcrdma/connections; }
# The connection manager of Linux 6.0 and later reports UNREACHABLE when a neighbour changes.
# Devices retry for 3.8 s: seven times 4.096 us * 2^17
neighbour_io() {
	iocheck write -l 16m -b 64k -s 5 -d -t $MNT/neighbour
	drop_caches
	iocheck verify -l 16m -b 64k -s 5 $MNT/neighbour
}
neighbour_changes() {
	local mac before job
	mac=$(ip neigh show "$SERVER" dev eth0 | sed -n 's/.* lladdr \([0-9a-f:]*\) .*/\1/p')
	[ -n "$mac" ]
	before=$(keepalive_live)
	[ -n "$before" ]
	neighbour_io &
	job=$!
	wait_for 30 moved $(($(replies) + 20))
	ip neigh replace "$SERVER" lladdr 02:00:00:00:be:ef dev eth0 nud reachable
	sleep 1
	ip neigh replace "$SERVER" lladdr "$mac" dev eth0 nud reachable
	wait_job $job
	echo "connection $before -> $(keepalive_live)"
	[ "$(keepalive_live)" = "$before" ]
}
suite_neighbour() {
	check "mount neighbour" mount_nfs vers=4.2
	mountpoint -q $MNT || return 0
	check "a wrong link address for a second: the same connection goes on" neighbour_changes
	check "umount neighbour" umount_nfs
}
