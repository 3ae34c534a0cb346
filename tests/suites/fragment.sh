# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A server whose free memory is cut up: it has no 64 KiB in one piece. A Call of a
# megabyte that nfsd must find in one range is answered all the same, and so is a client
# that connects.
#
# The server needs a module built with CONFIG_RPCRDMA_FAULT=y.

FRAGMENT=/sys/module/rpcrdma/parameters/fragment

# Blocks of 64 KiB and more that are free
fragment_blocks() { awk '/Node 0, zone +(DMA32|Normal)/ { for (i = 9; i <= NF; i++) n += $i } END { print n + 0 }' /proc/buddyinfo; }
fragment_none() {
	echo "$(fragment_blocks) blocks, $(sed -n 's/^MemFree: *//p' /proc/meminfo) free"
	[ "$(fragment_blocks)" -le 16 ]
}
fragment_take() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
	echo Y >$FRAGMENT
	fragment_none
}
fragment_peer() {
	# shellcheck disable=SC2046
	peer_case /test/peer/client/position-zero-writes-large.peer $(peer_handles) -D xid=$((RANDOM << 8)) \
		-D payload="$(on_server "cat /proc/fs/nfsd/max_block_size")"
}
fragment_io() {
	mount_nfs vers=4.2
	iocheck write -l 1m -b 256k -s 7 -d $MNT/fragment
	iocheck verify -l 1m -b 256k -s 7 -d $MNT/fragment
	umount_nfs
}

# Guests: CONFIG_RPCRDMA_FAULT=y -m 1024 -a "$TESTS/peer=/test/peer"
suite_fragment() {
	check "files for peers" on_server peer_files
	check "I/O before" fragment_io
	check "free memory is cut up" on_server fragment_take
	check "a Call of most of a megabyte in cut up memory" fragment_peer
	check "a mount in cut up memory" fragment_io
	check "free memory is still cut up" on_server fragment_none
	on_server "echo N >$FRAGMENT" >/dev/null
}
