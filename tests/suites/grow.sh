# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A slot's Send buffer is a page. A Call that is copied and finds no room in it gets a
# larger one, while the device may still have to send the Call before again: its
# acknowledgements are lost here. The debug kernel sees what it reads then.

GROW_TRACE=/sys/kernel/tracing
GROW_LENGTH=3060

# RDMA's header is behind that of UDP, and begins with the opcode
acks_lost() {
	nft add table inet acks
	nft add chain inet acks in '{ type filter hook input priority 0; }'
	nft add rule inet acks in udp dport 4791 @th,64,8 17 drop
}
acks_back() { nft delete table inet acks; }

sent_again() { cat /sys/class/infiniband/rxe0/ports/1/hw_counters/duplicate_request; }
grow_sent_again() { [ "$(on_server sent_again)" -gt "$1" ]; }

# With so small an inline threshold the Reply needs a chunk, and the room that the header is
# given with the data copied behind it is more than a page
grow_write() {
	local job before
	before=$(on_server sent_again)
	acks_lost
	fails test -e $MNT/nobody
	iocheck write -l $GROW_LENGTH -d -t $MNT/grow &
	job=$!
	wait_for 60 grow_sent_again "$before"
	acks_back
	wait_job $job
	iocheck verify -l $GROW_LENGTH -d $MNT/grow
}

# What grew is sent with a signal, once
grow_signalled() {
	local n
	n=$(grep -c 'rpcrdma_post: .* signalled=1' $GROW_TRACE/trace || :)
	echo "$n signalled"
	[ "$n" -ge 1 ]
}

suite_grow() {
	echo 1024 >/proc/sys/sunrpc/rdma_max_inline_read
	check "mount grow vers=4.2" mount_nfs vers=4.2
	mountpoint -q $MNT || return 0
	: >$GROW_TRACE/trace
	echo 1 >$GROW_TRACE/events/rpcrdma/rpcrdma_post/enable
	check "a Send buffer grows while the last Send is not acknowledged" grow_write
	echo 0 >$GROW_TRACE/events/rpcrdma/rpcrdma_post/enable
	check "the next Send is signalled for it" grow_signalled
	check "umount grow vers=4.2" umount_nfs
	echo 5120 >/proc/sys/sunrpc/rdma_max_inline_read
}
