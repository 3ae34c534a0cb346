# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Operations of NFSv4.2 that are long in their own way: extended attributes, whose Calls
# and Replies are not DDP-eligible however long they are (RFC 8267, section 4.2 names what
# is), so that they travel as a chunk as a whole, and COPY and CLONE, which have long
# Replies for nothing but their time.

NFS42=/nfs42

# ---- on the server: a file system with attributes of 64 KiB -----------------------

nfs42_disk() {
	modprobe -a loop ext4
	truncate -s 128M /run/nfs42.img
	losetup /dev/loop1 /run/nfs42.img
	mke2fs -q -F -t ext4 -b 4096 -O ea_inode,^has_journal /dev/loop1
	mkdir $NFS42
	mount -t ext4 /dev/loop1 $NFS42
	chmod 777 $NFS42
	exportfs -o rw,no_root_squash,insecure,no_subtree_check,fsid=42 "*:$NFS42"
}
nfs42_undisk() {
	exportfs -u "*:$NFS42"
	# nfsd keeps files open for some seconds
	wait_for 30 umount $NFS42
	losetup -d /dev/loop1
	rmdir $NFS42
	rm /run/nfs42.img
}

# ---- on the client ----------------------------------------------------------------

# How often an operation was sent
nfs42_ops() { awk -v op="$1:" '$1 == op { s += $2 } END { print s + 0 }' /proc/self/mountstats; }

# N LENGTH: set, and read back by a mount that has nothing cached
nfs42_xattrs() {
	local file=$MNT/xattr-$1-$2
	: >"$file"
	fileops setxattrs "$file" "$1" "$2"
	drop_caches
	fileops checkxattrs "$file" "$1" "$2"
	[ "$(nfs42_ops SETXATTR)" -ge "$1" ]
	[ "$(nfs42_ops GETXATTR)" -ge "$1" ]
	[ "$(nfs42_ops LISTXATTRS)" -ge 1 ]
}

# What no threshold has room for goes in Read and Reply chunks of its own
nfs42_long() {
	local before
	before=$(connection_sum reg_mrs)
	nfs42_xattrs 4 65536
	echo "REG_MRs: $before before, $(connection_sum reg_mrs) after"
	[ "$(connection_sum reg_mrs)" -ge $((before + 8)) ]
}

nfs42_copy() {
	local before
	before=$(nfs42_ops COPY)
	iocheck write -t -y -l 3000001 -b 1m -s 5 $MNT/from
	fileops copy $MNT/from $MNT/to
	drop_caches
	iocheck verify -l 3000001 -b 1m -s 5 $MNT/to
	[ "$(nfs42_ops COPY)" -gt "$before" ]
}

# The server's file system cannot: it says so, and the connection is none the worse
nfs42_clone() {
	local before out
	before=$(nfs42_ops CLONE)
	if out=$(fileops clone $MNT/from $MNT/clone 2>&1); then
		echo "cloned, of all things"
		return 1
	fi
	echo "$out"
	[[ $out == *"Operation not supported"* ]]
	[ "$(nfs42_ops CLONE)" -gt "$before" ]
}

nfs42_mounted() {
	local of="with a threshold of $1" before
	EXPORT=$NFS42 check "mount NFSv4.2 $of" mount_nfs vers=4.2
	mountpoint -q $MNT || return 0
	before=$(connects)
	check "extended attributes $of" nfs42_xattrs 25 20
	check "extended attributes of 64 KiB $of" nfs42_long
	check "COPY $of" nfs42_copy
	check "CLONE where the server cannot $of" nfs42_clone
	check "one connection did $of" [ "$(connects)" = "$before" ]
	check "umount $of" umount_nfs
}

suite_nfs42() {
	local limit
	check "a file system with extended attributes" on_server nfs42_disk
	for limit in ${NFS42_THRESHOLDS:-1024 default}; do
		inline_sizes "${limit#default}"
		nfs42_mounted "$limit"
	done
	inline_sizes
	check "the file system is free again" on_server nfs42_undisk
}
