# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# What "make demo" shows, in words a person can read.

demo_who() { printf 'Linux %s, rpcrdma.ko %s' "$(uname -r)" "$(demo_module)"; }
demo_module() {
	case $MODULE in
	stock) echo "of the distribution" ;;
	*) echo "of this project" ;;
	esac
}

# demo_field KEY of the live connection of this guest
demo_field() {
	grep -m1 'state=live' /proc/net/rpcrdma/connections | tr ' ' '\n' | sed -n "s/^$1=//p"
}

demo_connection() {
	[ -e /proc/net/rpcrdma/connections ] || { echo "the stock module does not tell"; return; }
	printf '%s to %s on %s: inline thresholds %s octets to the peer and %s from it, remote invalidation %s, %s credits' \
		"$(demo_field local)" "$(demo_field peer)" "$(demo_field device)" \
		"$(demo_field inline_send)" "$(demo_field inline_recv)" \
		"$(demo_field remote_inv)" "$(demo_field credits)"
}
demo_counters() {
	[ -e /proc/net/rpcrdma/connections ] || { echo "the stock module does not tell"; return; }
	printf '%s doorbells; %s Sends, %s of them with invalidation; %s RDMA Reads, %s RDMA Writes; %s MRs registered, %s invalidated by the peer, %s by ourselves' \
		"$(demo_field doorbells)" "$(($(demo_field sends) + $(demo_field sends_inv)))" \
		"$(demo_field sends_inv)" "$(demo_field reads)" "$(demo_field writes)" \
		"$(demo_field reg_mrs)" "$(demo_field remote_invs)" "$(demo_field local_invs)"
}
demo_listener() {
	grep '^rdma' /proc/fs/nfsd/portlist | tr '\n' ' '
	[ ! -e /proc/net/rpcrdma/listeners ] || tr '\n' ' ' </proc/net/rpcrdma/listeners
}

# demo_copy FROM TO: copies and prints the rate
demo_copy() {
	local t0 t1 size
	size=$(stat -c %s "$1")
	t0=$EPOCHREALTIME
	dd if="$1" of="$2" bs=1M conv=fsync status=none
	t1=$EPOCHREALTIME
	awk -v s="$size" -v t0="$t0" -v t1="$t1" 'BEGIN {
		s /= 1048576
		printf "%.0f MiB in %.2f s: %.1f MiB/s (an emulated machine)", s, t1 - t0, s / (t1 - t0)
	}'
}
demo_sum() { sha256sum "$1" | cut -c1-64; }

suite_demo() {
	local here there
	info "server|$(on_server demo_who)"
	info "client|$(demo_who)"
	info "listener|$(on_server demo_listener)"
	check "mount" mount_nfs "${DEMO_OPTS:-vers=4.2}"
	info "mount|mount -t nfs -o proto=rdma,port=20049,${DEMO_OPTS:-vers=4.2} $SERVER:$EXPORT $MNT"
	info "mounted|$(grep " $MNT " /proc/mounts)"
	dd if=/dev/urandom of=/run/original bs=1M count=64 status=none
	info "to the server|$(demo_copy /run/original $MNT/copy)"
	drop_caches
	info "from the server|$(demo_copy $MNT/copy /run/back)"
	info "client's connection|$(demo_connection)"
	info "server's connection|$(on_server demo_connection)"
	info "client's counters|$(demo_counters)"
	info "server's counters|$(on_server demo_counters)"
	here=$(demo_sum /run/original) there=$(on_server "demo_sum $EXPORT/copy")
	info "checksum, original|$here"
	info "checksum, on server|$there"
	info "checksum, read back|$(demo_sum /run/back)"
	check "the three checksums are equal" test "$here $here" = "$there $(demo_sum /run/back)"
	check "unmount" umount_nfs
}
