# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Memory is short, in one place at a time: each place of the module that may fail
# for lack of it and is reached by loading, listening, or mount + write + read +
# unmount fails once, on the client and then on the server. So do those that only other
# things reach: a recall, IPv6, an ACL in a Long Call, messages that are large and inline,
# a peer with two Read chunks. What was asked for succeeds all the same or ends in an
# error, in bounded time; asked for again it succeeds. Then the queue pair of a
# connection with I/O under way cannot be ended or flushed, and one is not to be had with
# all credits. That nothing is left behind pair.sh sees at the end; that no place is left
# out tests/soak.
#
# Both guests need a module built with CONFIG_RPCRDMA_FAULT=y. ALLOC_ONLY is an
# expression for the places to try, ALLOC_SIDES says on which side.

ALLOC_SITES=/sys/kernel/debug/rpcrdma/sites
ALLOC_ARM=/sys/module/rpcrdma/parameters/fail_site

# Run on either side. Each prints one line, for on_server.
alloc_hits() { awk '{ printf "%s=%s ", $1, substr($2, 6) }' $ALLOC_SITES; }
alloc_arm() { echo "$1" >$ALLOC_ARM; }
alloc_failed() { grep -q "^$1 hits=[0-9]* failed=[1-9]" $ALLOC_SITES; }
alloc_listen() { echo "rdma $1" >/proc/fs/nfsd/portlist; }

# on SIDE FUNCTION ARGUMENTS
alloc_on() {
	if [ "$1" = server ]; then on_server "${*:2}"; else "${@:2}"; fi
}

# Places with more hits in the second snapshot than in the first, one a line
alloc_reached() {
	printf '%s\n%s\n' "$1" "$2" | awk -v only="${ALLOC_ONLY:-.}" '
		NR == 1 { for (i = 1; i <= NF; i++) old[$i] }
		NR == 2 { for (i = 1; i <= NF; i++) if (!($i in old)) {
			sub(/=[0-9]+$/, "", $i)
			if ($i ~ only) print $i
		} }'
}

alloc_io() {
	local rc=0
	mount_nfs vers=4.2,timeo=100 || return
	{
		timeout -k 5 60 iocheck write -l 1m -b 256k -d -t $MNT/alloc &&
			timeout -k 5 60 iocheck write -l 5001 -y -t $MNT/odd &&
			drop_caches &&
			timeout -k 5 60 iocheck verify -l 1m -b 256k -d $MNT/alloc &&
			timeout -k 5 60 iocheck verify -l 5001 $MNT/odd
	} || rc=$?
	# The reverse direction. It may be what fails
	on_server "wait_for 3 callback_up" >/dev/null || :
	umount_nfs || rc=$?
	return $rc
}

# A callback. The local open waits for it. Where its connection is lost nfsd of Linux 6.12
# recalls again; that of 6.1 forgets it, and takes the delegation away when it has not been
# given back for the lease time, 90 s; so it does with the stock module.
alloc_recall() {
	local rc=0
	on_server "rm -f $EXPORT/deleg; echo original >$EXPORT/deleg; chmod 666 $EXPORT/deleg" >/dev/null
	mount_nfs vers=4.2,timeo=100 || return
	on_server "wait_for 20 callback_up" >/dev/null || rc=$?
	exec 9<$MNT/deleg
	callback_granted || rc=$?
	ON_SERVER_LIMIT=160 on_server "timeout 150 bash -c 'echo changed >$EXPORT/deleg'" || rc=$?
	exec 9<&-
	# Until it hears that its delegation is gone, the client may use its cache
	[ $rc != 0 ] || wait_for 60 callback_content || rc=$?
	umount_nfs || rc=$?
	return $rc
}

alloc_ipv6() {
	local rc=0
	mount_nfs proto=rdma6,port=20049,vers=4.2,timeo=100 $MNT $SERVER6 || return
	timeout -k 5 60 iocheck write -l 64k -d -t $MNT/alloc || rc=$?
	on_server "wait_for 3 callback_up" >/dev/null || :
	umount_nfs || rc=$?
	return $rc
}

# SETACL is a Long Call with so low a threshold; GETACL has the transport allocate pages
alloc_acl() {
	local rc=0 n limit=/proc/sys/sunrpc/rdma_max_inline_write old
	old=$(cat $limit)
	echo 1024 >$limit
	mount_nfs vers=3,timeo=100 || rc=$?
	echo "$old" >$limit
	[ $rc = 0 ] || return $rc
	: >$MNT/acl
	sizes_acl_entries | timeout -k 5 60 setfacl -M - $MNT/acl || rc=$?
	drop_caches
	n=$(timeout -k 5 60 getfacl -n $MNT/acl 2>/dev/null | grep -c '^user:20[0-7][0-9]:rw-')
	echo "$n entries"
	[ $rc != 0 ] || [ "$n" = 80 ] || rc=1
	umount_nfs || rc=$?
	return $rc
}

# So much goes inline that it is mapped rather than copied, in either direction
alloc_inline() {
	local rc=0
	inline_sizes 65536
	on_server "module_sysctl svc_rdma/max_req_size 65536" >/dev/null
	mount_nfs vers=4.2,timeo=100 || rc=$?
	on_server "module_sysctl svc_rdma/max_req_size" >/dev/null
	inline_sizes
	[ $rc = 0 ] || return $rc
	timeout -k 5 60 iocheck write -l 24k -b 24k -d -t $MNT/inline &&
		timeout -k 5 60 iocheck verify -l 24k -b 24k -d $MNT/inline || rc=$?
	umount_nfs || rc=$?
	return $rc
}

# Two Read chunks: what nfsd gets in one range of virtual memory. Each time other XIDs
alloc_chunks() {
	local rc=0 turn
	turn=$(($(cat /run/alloc_turn) + 1))
	echo $turn >/run/alloc_turn
	on_server peer_files >/dev/null
	# nfsd knows of no file before
	mount_nfs vers=4.2,timeo=100 || return
	# shellcheck disable=SC2046
	peer_case /test/peer/client/read-two-chunks.peer $(peer_handles) -D xid=$((turn << 20)) \
		-D payload="$(on_server "cat /proc/fs/nfsd/max_block_size")" || rc=$?
	umount_nfs || rc=$?
	return $rc
}

# alloc_case SIDE PLACE COMMAND…: COMMAND with PLACE failing once
alloc_case() {
	local side=$1 site=$2 rc=0 t0=$SECONDS
	shift 2
	alloc_on "$side" alloc_arm "$site"
	"$@" || rc=$?
	echo "status $rc after $((SECONDS - t0)) s; then:"
	alloc_on "$side" alloc_failed "$site" || { echo "it was not reached"; return 1; }
	[ $rc != 124 ] && [ $rc != 137 ] || { echo "it took too long"; return 1; }
	[ $rc = 0 ] || "$@"
}

# alloc_each SIDE COMMAND: places of a side that COMMAND reaches, and no COMMAND before
alloc_each() {
	local side=$1 command=$2 before after site
	before=$(alloc_on "$side" alloc_hits)
	check "alloc: nothing fails, $side: $command" "$command"
	after=$(alloc_on "$side" alloc_hits)
	for site in $(alloc_reached "$before" "$after"); do
		! grep -qxF "$side $site" /run/alloc_tried || continue
		echo "$side $site" >>/run/alloc_tried
		info "reached on the $side: $site"
		check "alloc fails, $side: $site" alloc_case "$side" "$site" "$command"
		! mountpoint -q $MNT || umount_nfs || :
	done
	check "alloc: nothing fails any more, $side: $command" "$command"
}

alloc_side() {
	local command
	for command in alloc_io alloc_recall alloc_ipv6 alloc_acl alloc_inline alloc_chunks; do
		alloc_each "$1" $command
	done
}

# Each time another port, since a listener is there to stay
alloc_port=20100
alloc_new_listener() {
	local port=$alloc_port
	on_server alloc_listen "$port"
}
alloc_listening() {
	local before after site
	before=$(on_server alloc_hits)
	check "alloc: a listener" alloc_new_listener
	after=$(on_server alloc_hits)
	for site in $(ALLOC_ONLY=listen alloc_reached "$before" "$after"); do
		info "reached on the server: $site"
		alloc_port=$((alloc_port + 1))
		check "alloc fails, listener: $site" alloc_case server "$site" alloc_new_listener
	done
}

# The module is loaded with each place of its own init failing
alloc_load() {
	local rc=0
	wait_for 20 rmmod rpcrdma
	modprobe rpcrdma fail_site="$1" || rc=$?
	[ $rc != 0 ] || alloc_failed "$1" || { echo "it was not reached"; return 1; }
	[ $rc != 0 ] || rmmod rpcrdma
	fails grep -q '^rpcrdma ' /proc/modules
	load_transport
	echo "modprobe: status $rc"
}
alloc_loading() {
	local site
	wait_for 20 rmmod rpcrdma
	load_transport
	for site in $(alloc_reached "" "$(alloc_hits)"); do
		info "reached when loaded: $site"
		check "alloc fails, load: $site" alloc_load "$site"
	done
}

# A device refuses once to end a queue pair with RPCs under way, or does not flush it in
# time: what was posted comes back all the same, to be sent again on the next connection.
alloc_unflushed() { dmesg | grep -c 'device did not flush its queues' || :; }
# alloc_cut_one SIDE PLACE LINES: and so many lines about it
alloc_cut_one() {
	local side=$1 site=$2 rc=0 before after
	before=$(alloc_on "$side" alloc_unflushed)
	mount_nfs vers=4.2,timeo=100 || return
	alloc_on "$side" alloc_arm "$site"
	try cut_one cut_by_sysfs
	rc=$STATUS
	umount_nfs || rc=$?
	alloc_on "$side" alloc_failed "$site" || { echo "it was not reached"; return 1; }
	after=$(alloc_on "$side" alloc_unflushed)
	echo "status $rc, log lines: $before before, $after now"
	[ $rc = 0 ] && [ $((after - before)) = "$3" ]
}
# The two places are in the order of their lines
alloc_cut() {
	local side site sites lines
	check "alloc: a mount before" alloc_io
	for side in client server; do
		sites=$(alloc_on "$side" alloc_hits | tr ' ' '\n' | sed -n 's/=.*//; /:rpcrdma_ep_drain:/p' | sort)
		check "alloc: places where a queue pair ends, $side" [ "$(wc -w <<<"$sites")" = 2 ]
		lines=0
		for site in $sites; do
			check "alloc: the queue pair cannot be ended, $side: $site" alloc_cut_one "$side" "$site" $lines
			lines=1
		done
	done
}

# A device that refuses what it said it could do is asked for fewer credits, and each mount
# again; the log has that once.
alloc_credits_lines() { dmesg | grep -c "rpcrdma: $1 .*device supports only" || :; }
alloc_credits_one() {
	local side=$1 site=$2 before after i
	before=$(alloc_on "$side" alloc_credits_lines "$side")
	for i in 1 2 3; do
		alloc_on "$side" alloc_arm "$site"
		mount_nfs vers=4.2,timeo=100 || return
		umount_nfs || return
		alloc_on "$side" alloc_failed "$site" || { echo "it was not reached"; return 1; }
	done
	after=$(alloc_on "$side" alloc_credits_lines "$side")
	echo "lines: $before before, $after now"
	[ "$after" -ge 1 ]
	[ "$after" -le $((before + 1)) ]
}
alloc_credits() {
	local side site
	check "alloc: a mount before" alloc_io
	for side in client server; do
		site=$(alloc_on "$side" alloc_hits | tr ' ' '\n' | sed -n 's/=.*//; /:rpcrdma_ep_create_qp:/p')
		check "alloc: the device refuses credits, $side" alloc_credits_one "$side" "$site"
	done
}

# Guests: CONFIG_RPCRDMA_FAULT=y -t 3000 -a "$TESTS/peer=/test/peer"
suite_allocfail() {
	local side
	: >/run/alloc_tried
	echo 0 >/run/alloc_turn
	for side in ${ALLOC_SIDES:-load client listen server cut credits}; do
		case $side in
		load) alloc_loading ;;
		listen) alloc_listening ;;
		cut) alloc_cut ;;
		credits) alloc_credits ;;
		*) alloc_side "$side" ;;
		esac
	done
}
