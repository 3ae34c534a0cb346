# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Memory is short, in one place at a time: each place of the module that may fail
# for lack of it and is reached by loading, listening, or mount + write + read +
# callback + unmount fails once, on the client and then on the server. What was
# asked for succeeds all the same or ends in an error, in bounded time; asked for
# again it succeeds. Then the queue pair of a connection with I/O under way cannot
# be ended. That nothing is left behind pair.sh sees at the end.
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
	# nfsd's first callback: the reverse direction. It may be what fails
	on_server "wait_for 3 callback_up" >/dev/null || :
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

alloc_io_on() {
	local side=$1 before after site
	before=$(alloc_on "$side" alloc_hits)
	check "alloc: nothing fails, $side" alloc_io
	after=$(alloc_on "$side" alloc_hits)
	for site in $(alloc_reached "$before" "$after"); do
		info "reached on the $side: $site"
		check "alloc fails, $side: $site" alloc_case "$side" "$site" alloc_io
		! mountpoint -q $MNT || umount_nfs || :
	done
	check "alloc: nothing fails any more, $side" alloc_io
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

# A queue pair cannot be ended with RPCs under way: what was posted comes back all
# the same, to be sent again on the next connection.
alloc_cut_one() {
	local side=$1 site=$2 rc=0
	mount_nfs vers=4.2,timeo=100 || return
	alloc_on "$side" alloc_arm "$site"
	cut_one cut_by_sysfs || rc=$?
	umount_nfs || rc=$?
	alloc_on "$side" alloc_failed "$site" || { echo "it was not reached"; return 1; }
	return $rc
}
alloc_cut() {
	local side site
	for side in client server; do
		site=$(alloc_on "$side" alloc_hits | tr ' ' '\n' | sed -n 's/=.*//; /:rpcrdma_ep_drain:/p')
		check "alloc: the queue pair cannot be ended, $side" alloc_cut_one "$side" "$site"
	done
}

suite_allocfail() {
	local side
	for side in ${ALLOC_SIDES:-load client listen server cut}; do
		case $side in
		load) alloc_loading ;;
		listen) alloc_listening ;;
		cut) alloc_cut ;;
		*) alloc_io_on "$side" ;;
		esac
	done
}
