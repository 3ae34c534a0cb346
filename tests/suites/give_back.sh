# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A burst leaves a client with many slots, which have buffers, and memory regions. While the
# kernel looks for memory, those that were not needed for a while go back, below I/O that goes
# on, and come again with the next burst.

# READs of 1 MiB by 64 processes, of which NFSv4.1 sends about thirty at a time. A server of
# eight threads, however slow, grants credits for them from the first.
give_back_burst() { rpcops read1m $MNT 256 64; }

give_back_has() { echo "$(client_field slots) slots, $(client_field mrs) MRs"; }
give_back_many() {
	give_back_has
	[ "$(client_field slots)" -ge 24 ]
	[ "$(client_field mrs)" -ge 20 ]
}

# Four slots; one RPC may need six regions, and four are kept ready. The Replies show that
# the device needs the buffers no more. drop_caches asks each shrinker.
give_back_few() {
	drop_caches
	rpcops getattr $MNT 1 1
	[ "$(client_field slots)" -le 4 ] && [ "$(client_field mrs)" -le 10 ]
}
give_back() { wait_for "${GIVE_BACK_LIMIT:-90}" give_back_few; give_back_has; }

# As long as a file is there, verified I/O of one process, which leaves others nothing to do
give_back_io() {
	local i=0
	while [ -e /run/give_back ]; do
		i=$((i + 1))
		iocheck write -l 2m -b 1m -s $i -d $MNT/give_back
		iocheck verify -l 2m -b 64k -s $i -d $MNT/give_back
	done
	echo "$i rounds"
	[ $i -ge 2 ]
}
give_back_below() {
	local job
	touch /run/give_back
	give_back_io >/run/give_back.io 2>&1 &
	job=$!
	wait_for "${GIVE_BACK_LIMIT:-90}" give_back_most
	give_back_has
	rm /run/give_back
	wait_job $job || { cat /run/give_back.io; return 1; }
	cat /run/give_back.io
}
give_back_most() {
	drop_caches
	[ "$(client_field slots)" -le 8 ] && [ "$(client_field mrs)" -le 12 ]
}

suite_give_back() {
	local v=${GIVE_BACK_VERSION:-4.2}
	on_server "dd if=/dev/zero of=$EXPORT/bench bs=1M count=16 status=none" >/dev/null
	on_server "peer_first_requests 64" >/dev/null
	check "mount give back vers=$v" mount_nfs "vers=$v"
	check "a burst" give_back_burst
	check "it leaves slots and MRs" give_back_many
	check "they go back" give_back
	check "another burst" give_back_burst
	check "it has its own" give_back_many
	check "they go back below I/O" give_back_below
	check "a burst after that" give_back_burst
	check "umount give back" umount_nfs
	on_server peer_first_requests >/dev/null
}
