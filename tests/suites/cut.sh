# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The connection is cut in the middle of verified I/O, three ways, and the I/O
# completes correctly. And: a non-idempotent request whose Reply is lost is
# executed once.

connects() { awk '/xprt:.*rdma/ { s += $5 } END { print s + 0 }' /proc/self/mountstats; }
# A counter of the device's; several devices', where there are several
device_count() { cat /sys/class/infiniband/*/ports/1/hw_counters/"$1" | awk '{ s += $1 } END { print s + 0 }'; }
# Of either module: what the device says
live_qps() { rdma resource show qp | grep 'type RC' | grep 'state RTS' | sed 's/.*lqpn \([0-9]*\) .*/\1/'; }
live_connections() { live_qps | wc -l; }
replies() { awk '/xprt:.*rdma/ { s += $9 } END { print s + 0 }' /proc/self/mountstats; }
reconnected() { [ "$(connects)" -gt "$1" ]; }

wire_down() {
	nft add table inet cut
	nft add chain inet cut in '{ type filter hook input priority 0; }'
	nft add rule inet cut in udp dport 4791 drop
}
wire_up() { nft delete table inet cut; }

# Who writes there waits for sunrpc's lock on the transport, and is not woken when it
# is free (Documentation/known-issues.rst): he is killed, and another one tries. Each is a
# shell that runs already: the debug kernel takes long to start a program.
cut_try() {
	local tries pid
	rm -f /run/cut.done
	(echo "$SERVER" >"$1" && : >/run/cut.done) &
	pid=$!
	for ((tries = 0; tries < 10; tries++)); do
		[ ! -e /run/cut.done ] || break
		nap 0.1
	done
	kill -KILL $pid 2>/dev/null
	wait $pid 2>/dev/null
	[ -e /run/cut.done ]
}
cut_dstaddr() {
	local end=$((SECONDS + 120))
	until cut_try "$1"; do
		[ $SECONDS -lt $end ] || { echo "not cut: $1: $(cat "${1%/*}/xprt_state")"; return 1; }
	done
}
cut_by_sysfs() {
	local f rc=0
	for f in /sys/kernel/sunrpc/xprt-switches/*/xprt-*-rdma/dstaddr; do
		cut_dstaddr "$f" || rc=1
	done
	return $rc
}
none_live() { [ "$(live_connections)" = 0 ]; }
# On 6.1 rxe may fail without a word (Documentation/known-issues.rst, with the stock
# module as well): the RPC timeout (timeo below) ends the connection then.
cut_by_loss() {
	wire_down
	wait_for 90 none_live
	wire_up
}
cut_by_device() {
	on_server "rdma link delete rxe0; wait_for 20 none_live; rdma link add rxe0 type rxe netdev eth0; wait_for 10 rxe_active rxe0"
}

# I/O in the background, cut after it is known to be under way. With NFSv3 nothing else
# connects again, so that it goes on until that is seen.
cut_io() {
	local i=0
	while [ $i -lt 3 ] || [ ! -e /run/cut.seen ]; do
		i=$((i + 1))
		iocheck write -l 8m -b 64k -s "$i" -d -t $MNT/cut
		drop_caches
		iocheck verify -l 8m -b 64k -s "$i" $MNT/cut
	done
}
moved() { [ "$(replies)" -gt "$1" ]; }
cut_one() {
	local how=$1 before c0 job seen=1
	rm -f /run/cut.seen
	c0=$(connects)
	before=$(replies)
	cut_io &
	job=$!
	wait_for 30 moved $((before + 30))
	"$how"
	! wait_for 120 reconnected "$c0" || seen=0
	touch /run/cut.seen
	wait_job $job
	echo "connects $c0 -> $(connects)"
	return $seen
}

wait_job() {
	wait_for "${CUT_LIMIT:-120}" job_ended "$1"
	wait "$1"
}

# The Reply is lost, the connection with it; the request is sent again on the
# next one, and the duplicate request cache answers.
# Attributes are cached (actimeo), so that REMOVE is the first Call on the wire. Executed
# twice it would find no file, which unlink does not hide as rm -f may.
cut_remembered() { awk '$1 == "rc" { print $2 }' /proc/net/rpc/nfsd; }
cut_once() {
	local job before after
	echo x >$MNT/once
	ls -l $MNT/once
	before=$(on_server cut_remembered)
	wire_down
	unlink $MNT/once &
	job=$!
	on_server "wait_for 30 test ! -e $EXPORT/once"
	wait_for 90 none_live
	wire_up
	wait_job $job
	after=$(on_server cut_remembered)
	echo "answered from the duplicate request cache: $before -> $after"
	[ "$after" -gt "$before" ]
}

# sunrpc closes the connection for the new address: that is one close
CUT_EVENTS=/sys/kernel/tracing/instances/close
cut_event() { grep -c " xprt_disconnect_$1:" $CUT_EVENTS/trace; }
cut_closed_once() {
	local e
	mkdir $CUT_EVENTS
	trap 'rmdir $CUT_EVENTS' EXIT
	for e in auto done force; do
		echo 1 >"$CUT_EVENTS/events/sunrpc/xprt_disconnect_$e/enable"
	done
	cut_by_sysfs
	# The next connection
	ls $MNT
	cat $CUT_EVENTS/trace
	[ "$(cut_event auto)" = 1 ]
	[ "$(cut_event done)" = 1 ]
	[ "$(cut_event force)" = 1 ]
}

suite_once() {
	check "mount once vers=3" mount_nfs "vers=3,timeo=150,actimeo=600"
	check "REMOVE whose Reply is lost is executed once" cut_once
	check "a connection that sunrpc closes is closed once" cut_closed_once
	check "umount once vers=3" umount_nfs
}

suite_cut() {
	local v
	for v in ${CUT_VERSIONS:-3 4.2}; do
		check "mount cut vers=$v" mount_nfs "vers=$v,timeo=150"
		mountpoint -q $MNT || continue
		check "cut by reconnect vers=$v" cut_one cut_by_sysfs
		check "cut by packet loss vers=$v" cut_one cut_by_loss
		check "cut by device removal vers=$v" cut_one cut_by_device
		check "umount cut vers=$v" umount_nfs
	done
}
