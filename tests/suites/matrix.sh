# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Every version: mount, verified I/O, unmount. MATRIX overrides the versions.

matrix_is_rdma() { grep " $MNT nfs4\? .*proto=${1:-rdma}" /proc/mounts; }

matrix_io() {
	iocheck write -l 3m -b 1m -y -t $MNT/file
	drop_caches
	iocheck verify -l 3m -b 256k $MNT/file
	mkdir $MNT/dir
	for i in 1 2 3 4 5 6 7 8; do echo "$i" >"$MNT/dir/$i"; done
	mv $MNT/dir/1 $MNT/dir/one
	ln $MNT/dir/2 $MNT/dir/two
	[ "$(cat $MNT/dir/one $MNT/dir/two | tr '\n' ' ')" = "1 2 " ]
	[ "$(ls $MNT/dir | wc -l)" = 9 ]
	rm -r $MNT/dir
	[ ! -e $MNT/dir ]
}

matrix_one() {
	local name=$1 opts=$2 proto=${3:-rdma} server=${4:-$SERVER}
	check "mount $name" mount_nfs "$opts" $MNT "$server"
	mountpoint -q $MNT || return 0
	check "mounted over $proto $name" matrix_is_rdma "$proto"
	check "verified I/O $name" matrix_io
	check "umount $name" umount_nfs
}

suite_matrix() {
	local v
	for v in ${MATRIX:-3 4.0 4.1 4.2}; do
		matrix_one "vers=$v" "vers=$v"
	done
}

suite_matrix6() {
	local v
	for v in 3 4.2; do
		matrix_one "IPv6 vers=$v" "proto=rdma6,port=20049,vers=$v" rdma6 $SERVER6
	done
}
