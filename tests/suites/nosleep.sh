# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# One nfsd thread. While an RDMA Read, or the Send of a Reply, gets no answer
# from the peer, that thread serves somebody else (a mount over TCP).

TCP=/tcp

nosleep_sum() { on_server "connection_sum $1"; }
nosleep_reached() { [ "$(nosleep_sum "$1")" -gt "$2" ]; }
nosleep_others() {
	timeout 5 bash -c "echo served >$TCP/other && grep -q served $TCP/other && rm $TCP/other"
}

# nosleep_while COUNTER COMMAND…: COMMAND opens its file and calls nosleep_gate,
# which lets it go on when the client no longer hears the server. What it then
# sends makes the server's COUNTER move, and gets no further.
nosleep_while() {
	local counter=$1 job before rc=0
	shift
	rm -f /run/opened /run/go
	before=$(nosleep_sum "$counter")
	"$@" &
	job=$!
	wait_for 20 test -e /run/opened
	wire_down
	touch /run/go
	wait_for 20 nosleep_reached "$counter" "$before" || rc=1
	nosleep_others || rc=2
	wire_up
	echo "$counter was $before, $(nosleep_sum "$counter") now; $rc"
	wait_job $job
	[ $rc = 0 ]
}
nosleep_gate() {
	touch /run/opened
	wait_for 30 test -e /run/go
}

# No child may have the file open: its end would wait for the data
nosleep_put() {
	# What an open may ask the server is asked before
	dd if=/dev/null of=$MNT/nosleep conv=notrunc status=none
	nosleep_gate
	dd if=/run/pattern of=$MNT/nosleep bs=64k conv=notrunc oflag=direct status=none
}
nosleep_get() {
	nosleep_gate
	dd if=$MNT/nosleep of=/run/got bs=64k iflag=direct status=none
	cmp /run/got /run/pattern
}
nosleep_read() {
	iocheck write -l 64k -s 2 -t /run/pattern
	nosleep_while reads nosleep_put
}
nosleep_send() { nosleep_while sends_inv nosleep_get; }

suite_nosleep() {
	mkdir -p $TCP
	check "mount nosleep" mount_nfs vers=3,timeo=150,actimeo=600,nocto
	check "mount over TCP" mount_nfs proto=tcp,vers=3 $TCP
	check "prepare nosleep" iocheck write -l 64k -b 64k -d -t $MNT/nosleep
	on_server "echo 1 >/proc/fs/nfsd/threads" >/dev/null
	check "the only nfsd thread does not sleep for an RDMA Read" nosleep_read
	check "content after the RDMA Read" iocheck verify -l 64k -s 2 -b 64k -d $MNT/nosleep
	check "the only nfsd thread does not sleep for a Send" nosleep_send
	on_server "echo 8 >/proc/fs/nfsd/threads" >/dev/null
	check "umount TCP" umount_nfs $TCP
	check "umount nosleep" umount_nfs
}
