#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The bench's own test: mount, verified I/O, unmount, unload. The same script in
# both guests of a pair, or alone in one. Without a transport module (the debug
# kernel has none of its own) it goes over TCP and shows that the rest works.
. /test/guest.sh

VERSIONS=${VERSIONS:-3 4.2}
SIZE=${SIZE:-16m}

if [ "$MODULE" = none ]; then
	PROTO=proto=tcp,
	load_transport() { :; }
	unload_transport() { :; }
fi

server_part() {
	load_transport
	server_up
}

client_part() {
	local v
	for v in $VERSIONS; do
		check "mount vers=$v" mount_nfs "${PROTO:-}vers=$v"
		mountpoint -q $MNT || continue
		info "$(grep " $MNT " /proc/mounts)"
		check "write vers=$v" iocheck write -l "$SIZE" -b 1m -y -t $MNT/file
		echo 3 >/proc/sys/vm/drop_caches
		check "read vers=$v" iocheck verify -l "$SIZE" -b 1m $MNT/file
		check "odd direct vers=$v" odd_direct
		check "umount vers=$v" umount_nfs
	done
}

odd_direct() {
	iocheck write -o 3 -l 70001 -b 4097 -d -m 5 -t $MNT/odd
	iocheck read -o 3 -l 70001 -b 8191 -d -m 1 $MNT/odd
}

case $ROLE in
single)
	one_guest_veth
	server_part
	client_part
	server_down
	;;
server)
	rxe_up
	server_part
	peer_signal ready
	peer_wait finished 300 >/dev/null
	server_down
	;;
client)
	rxe_up
	load_transport
	peer_wait ready >/dev/null
	client_part
	;;
esac
unload_transport
[ "$ROLE" != client ] || peer_signal finished
check_rdma_clean
check_log_clean
finish
