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

# nosleep_while COUNTER COMMAND…: the client no longer hears the server; COMMAND
# makes the server's COUNTER move, which then waits for an answer.
nosleep_while() {
	local counter=$1 job before
	shift
	before=$(nosleep_sum "$counter")
	wire_down
	"$@" &
	job=$!
	wait_for 20 nosleep_reached "$counter" "$before" ||
		{ echo "$counter stays at $before"; wire_up; return 1; }
	nosleep_others || { echo "nobody else is served"; wire_up; return 1; }
	wire_up
	wait_job $job
}

nosleep_read() { nosleep_while reads iocheck write -l 64k -b 64k -d $MNT/nosleep; }
nosleep_send() { nosleep_while sends_inv iocheck read -l 64k -b 64k -d $MNT/nosleep; }

suite_nosleep() {
	mkdir -p $TCP
	check "mount nosleep" mount_nfs vers=3,timeo=150,actimeo=600,nocto
	check "mount over TCP" mount_nfs proto=tcp,vers=3 $TCP
	check "prepare nosleep" iocheck write -l 64k -b 64k -d -t $MNT/nosleep
	on_server "echo 1 >/proc/fs/nfsd/threads" >/dev/null
	check "the only nfsd thread does not sleep for an RDMA Read" nosleep_read
	check "content after the RDMA Read" iocheck verify -l 64k -b 64k -d $MNT/nosleep
	check "the only nfsd thread does not sleep for a Send" nosleep_send
	on_server "echo 8 >/proc/fs/nfsd/threads" >/dev/null
	check "umount TCP" umount_nfs $TCP
	check "umount nosleep" umount_nfs
}
