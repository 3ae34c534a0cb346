# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Version two of the protocol: what a client asks for, what becomes of it with
# servers of both versions, and how long that is remembered. Each suite leaves the
# client at version one. How often version two was refused counts the host, in the
# capture.

VERSION=/proc/sys/sunrpc/rdma_max_version
VERSION_SERVER=/proc/sys/sunrpc/svc_rdma/max_version

# The highest version that our server takes; the stock server has no such sysctl
version_server() { [ ! -e $VERSION_SERVER ] || echo "$1" >$VERSION_SERVER; }

# V2_INLINE: inline thresholds meanwhile
version_two_client() {
	echo 2 >$VERSION
	inline_sizes "${V2_INLINE:-}"
}
version_two() {
	on_server version_server 2 >/dev/null
	version_two_client
}
version_one() {
	on_server version_server 1 >/dev/null
	echo 1 >$VERSION
	inline_sizes
}

# client_field KEY, server_field KEY: of live connections; not the first keys
side_field() {
	sed -n "s/.*side=$1 state=live.* $2=\([^ ]*\).*/\1/p" /proc/net/rpcrdma/connections | sort -u | tr '\n' ' ' | sed 's/ $//'
}
client_field() { side_field client "$1"; }
server_field() { side_field server "$1"; }
client_is() { [ "$(client_field "$1")" = "$2" ]; }

version_mount() {
	mount_nfs "$1"
	mountpoint -q $MNT
}

# What is expected of the connection: version, option
version_is() {
	cat /proc/net/rpcrdma/connections
	[ "$(client_field version)" = "$1" ]
	[ "$(client_field inv_option)" = "$2" ]
}
version_of_server() { [ "$(on_server "server_field version")" = "$1" ]; }

# The connection that there is was the only one
version_one_connection() {
	echo "connects: $(connects)"
	[ "$(connects)" = 1 ]
}

# More than one megabyte each way, so that there are chunks of all kinds
version_io() {
	local before after
	before=$(connection_sum remote_invs)
	matrix_io
	after=$(connection_sum remote_invs)
	echo "remote invalidations: $before, then $after"
	[ $((after - before)) -ge "$1" ]
}

version_limits() {
	echo 0 >$VERSION 2>/dev/null && return 1
	echo 3 >$VERSION 2>/dev/null && return 1
	[ "$(cat $VERSION)" = 1 ]
}

# Neither side speaks version two by default. If both are set to it, our client gets it
# from our server. V2_MATRIX overrides the versions of NFS.
suite_v2() {
	local v
	check "rdma_max_version is 1 and takes 1 and 2 alone" version_limits
	check "svc_rdma/max_version is 1" on_server "[ \$(cat $VERSION_SERVER) = 1 ]"
	check "mount unasked" version_mount vers=3
	check "version one unasked" version_is 1 no
	check "umount unasked" umount_nfs
	version_two
	for v in ${V2_MATRIX:-3 4.0 4.1 4.2}; do
		check "mount v2 vers=$v" version_mount "vers=$v"
		mountpoint -q $MNT || continue
		check "version two on the client vers=$v" version_is 2 yes
		check "version two on the server vers=$v" version_of_server 2
		check "one connection vers=$v" version_one_connection
		check "verified I/O v2 vers=$v" version_io 4
		check "umount v2 vers=$v" umount_nfs
	done
	version_one
}

# Small thresholds bind version one; version two has 4096 octets all the same
suite_v2_thresholds() {
	version_two
	inline_sizes 1024
	check "mount v2 thresholds" version_mount vers=3
	check "version two thresholds" version_is 2 yes
	check "small READs go inline" version_inline
	check "umount v2 thresholds" umount_nfs
	version_one
}

# READs of 2048 octets: no chunk, so that no memory is registered for them
version_inline() {
	local before
	iocheck write -l 64k -b 2k -d $MNT/small
	before=$(connection_sum reg_mrs)
	iocheck read -l 64k -b 2k -d $MNT/small
	echo "REG_MRs: $before, then $(connection_sum reg_mrs)"
	[ "$(connection_sum reg_mrs)" = "$before" ]
	rm $MNT/small
}

suite_v2_callback() {
	version_two
	suite_callback
	version_one
}

# The connection is given up and made anew
version_reconnect() {
	local before
	before=$(connects)
	cut_by_sysfs
	wait_for 60 touch $MNT/again
	wait_for 60 reconnected "$before"
}

# A server of version one refuses once, on the first connection of a transport,
# whatever its module. Version one goes on there, and is remembered for a time.
version_refused() {
	version_two_client
	check "mount refused $1" version_mount vers=3
	check "version one after the refusal $1" version_is 1 no
	check "the server is remembered $1" client_is v1_server yes
	check "one connection after the refusal $1" version_one_connection
	check "verified I/O after the refusal $1" matrix_io
	check "another connection $1" version_reconnect
	check "version one again $1" version_is 1 no
	# Two seconds are shorter than the way to the next connection
	echo 1 >/proc/sys/sunrpc/rdma_version_memory
	sleep 2
	check "a connection after the memory's end $1" version_reconnect
	check "version one once more $1" version_is 1 no
	echo 600 >/proc/sys/sunrpc/rdma_version_memory
	check "umount refused $1" umount_nfs
	version_one
}

# For the host, which counts two refusals: of the first connection and the third
# Guests: server=stock
suite_v2_stock() { version_refused stock; }

suite_v2_max1() {
	version_refused "max_version 1"
}

# The first message of a connection is received, and not answered in time: the
# server's disk stands still. The next connection is of version one.
version_silence() {
	local job
	echo 1 >/proc/sys/vm/drop_caches
	trap 'on_server abandon_resume >/dev/null' EXIT
	cut_by_sysfs
	wait_for 60 none_live
	on_server abandon_stall >/dev/null
	cat $MNT/big >/dev/null &
	job=$!
	wait_for 60 client_is v1_server yes
	wait_for 60 client_is version 1
	on_server abandon_resume >/dev/null
	trap - EXIT
	wait_job $job
}

# Without a GETATTR when a file is opened, the READ is the first message
version_mount_slow() { EXPORT=$SLOW mount_nfs "vers=3,actimeo=600,nocto"; }
version_read_slow() { [ "$(cat $MNT/big | wc -c)" = 1048576 ]; }

suite_v2_silent() {
	on_server abandon_disk >/dev/null
	on_server "dd if=/dev/urandom of=$SLOW/big bs=64k count=16 && chmod 666 $SLOW/big" >/dev/null
	version_two
	echo 2 >/proc/sys/sunrpc/rdma_version_timeout
	check "mount silent" version_mount_slow
	check "content before the silence" version_read_slow
	check "version two before the silence" version_is 2 yes
	check "silence is version one" version_silence
	check "umount silent" umount_nfs
	echo 10 >/proc/sys/sunrpc/rdma_version_timeout
	version_one
	on_server abandon_undisk >/dev/null
}

# version_first write|read BYTES: does the first RPC of a new connection register memory?
# Names, attributes and access are cached, so that the WRITE or READ is the first.
version_first() {
	local op=$1 n=$2
	cut_by_sysfs
	wait_for 20 none_live
	if [ "$op" = write ]; then
		iocheck write -l "$n" -b 8k -s "$n" -d $MNT/first
		on_server "iocheck read -l $n -s $n $EXPORT/first" >/dev/null
	else
		iocheck read -l "$n" -b 8k -s 1 -d $MNT/first.read
	fi
	[ "$(client_field version)" = 2 ]
	version_first_mrs=$(connection_sum reg_mrs)
}
# version_first_limit write|read INLINE CHUNK: finds the longest payload without a chunk, between
# one that has none and one that has. XDR pads payloads, so that it is a multiple of four.
version_first_limit() {
	local op=$1 low=$2 high=$3 n
	version_first "$op" "$low"
	[ "$version_first_mrs" = 0 ]
	version_first "$op" "$high"
	[ "$version_first_mrs" = 1 ]
	while [ $((high - low)) -gt 1 ]; do
		n=$(((low + high) / 2))
		version_first "$op" "$n"
		case $version_first_mrs in 0) low=$n ;; 1) high=$n ;; *) return 1 ;; esac
	done
	echo "a $op of $low bytes has no chunk, of $high bytes it has one"
	[ $((low % 4)) = 0 ]
}

# The first Call of a connection has up to 1024 bytes, its Reply up to 4096: the capture shows a
# Call of 1024 bytes, and Replies of more
suite_v2_first() {
	version_two
	on_server "iocheck write -l 8k $EXPORT/first.read" >/dev/null
	check "mount v2 first" version_mount vers=3,nocto,actimeo=600
	iocheck write -l 4 -d $MNT/first
	iocheck read -l 4 -d $MNT/first.read
	check "first WRITEs around 1024 bytes" version_first_limit write 600 1024
	check "first READs around 4096 bytes" version_first_limit read 3000 4096
	check "umount v2 first" umount_nfs
	version_one
}

# The sizes of data, as in version one
suite_v2_sizes() {
	version_two
	suite_sizes
	version_one
}
