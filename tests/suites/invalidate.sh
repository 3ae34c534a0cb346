# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Who invalidates: chunk-bearing Replies come as Send With Invalidate, and the
# client posts no LOCAL_INV. Three witnesses: our own counters, a kprobe on the
# device driver, and the capture, which the host counts.

PROBES=/sys/kernel/tracing

invalidate_probe() {
	modprobe -a rdma_rxe
	echo 'p:rxeinv rxe_invalidate_mr caller=+0($stack):symbol' >$PROBES/kprobe_events
	echo 4096 >$PROBES/buffer_size_kb
	echo 1 >$PROBES/events/kprobes/rxeinv/enable
}

# Invalidations the driver made since the probe, on behalf of a LOCAL_INV (it
# runs in the QP's requester) or of a peer's Send (in its responder).
invalidate_seen() {
	case $1 in
	local) grep -cE 'rxeinv:.*caller=(rxe_requester|rxe_do_local_ops)' $PROBES/trace || : ;;
	remote) grep 'rxeinv:' $PROBES/trace | grep -cvE 'caller=(rxe_requester|rxe_do_local_ops)' || : ;;
	esac
}

# connection_sum KEY: over all connections of this guest
connection_sum() {
	tr ' ' '\n' </proc/net/rpcrdma/connections | awk -F= -v k="$1" '$1 == k { s += $2 } END { print s + 0 }'
}

# Column "local_inv_needed" of the xprt: line in mountstats
mountstats_local_inv() { awk '/xprt:.*rdma/ { s += $27 } END { print s + 0 }' /proc/self/mountstats; }

# The counters do not move while COMMAND runs, but for remote invalidations,
# of which there are at least MIN.
invalidate_only_remote() {
	local min=$1 local0 remote0 stat0 driver0
	shift
	driver0=$(invalidate_seen local)
	local0=$(connection_sum local_invs) remote0=$(connection_sum remote_invs) stat0=$(mountstats_local_inv)
	"$@"
	echo "local $local0 -> $(connection_sum local_invs), remote $remote0 -> $(connection_sum remote_invs)"
	echo "in the driver: local $driver0 -> $(invalidate_seen local)"
	[ "$(invalidate_seen local)" = "$driver0" ]
	[ "$(connection_sum local_invs)" = "$local0" ]
	[ "$(mountstats_local_inv)" = "$stat0" ]
	[ $(($(connection_sum remote_invs) - remote0)) -ge "$min" ]
}

# No memory is registered for the 64 RPCs of COMMAND; what opens the file may offer a
# Reply chunk
invalidate_inline() {
	local before
	before=$(connection_sum reg_mrs)
	"$@"
	echo "REG_MRs: $before, then $(connection_sum reg_mrs)"
	[ $(($(connection_sum reg_mrs) - before)) -le 2 ]
}

# On a device that needs no MRs for it head, pages and tail of a Reply go by one RDMA Write to
# each segment, and the client offers one for the head and one for the pages
invalidate_names() {
	local i
	mkdir -p $EXPORT/inv-names
	for i in {1..300}; do : >"$EXPORT/inv-names/a-name-of-some-length-for-a-file-$i"; done
}
invalidate_one_write() { invalidate_writes || invalidate_writes; }
# A probe for Replies that were not signalled is an RDMA Write, too, and comes once in 15 s
invalidate_writes() {
	local writes replies
	drop_caches
	writes=$(on_server connection_sum writes) replies=$(on_server connection_sum sends_inv)
	[ "$(ls $MNT/inv-names | wc -l)" = 300 ] || return
	writes=$(($(on_server connection_sum writes) - writes))
	replies=$(($(on_server connection_sum sends_inv) - replies))
	echo "$writes RDMA Writes, $replies Replies with chunks"
	[ $writes -gt 0 ] && [ $writes -le $((2 * replies)) ]
}

# Before the device is used for anything
suite_invalidate_probe() { check "kprobe on the driver" invalidate_probe; }

# Guests: -e EARLY_SUITES=invalidate_probe -e SUITES="invalidate invalidate_report"
suite_invalidate() {
	local v
	on_server invalidate_names >/dev/null
	for v in ${INVALIDATE_VERSIONS:-3 4.2}; do
		check "mount invalidate vers=$v" mount_nfs "vers=$v,rsize=524288,wsize=524288"
		mountpoint -q $MNT || return 0
		check "prepare vers=$v" iocheck write -l 4m -b 512k -d $MNT/inv
		check "4 KiB WRITE travels inline vers=$v" \
			invalidate_inline iocheck write -l 256k -b 4k -d $MNT/inv
		check "4 KiB READ travels inline vers=$v" \
			invalidate_inline iocheck read -l 256k -b 4k -d $MNT/inv
		check "8 KiB WRITE posts no LOCAL_INV vers=$v" \
			invalidate_only_remote 64 iocheck write -l 512k -b 8k -d $MNT/inv
		check "8 KiB READ posts no LOCAL_INV vers=$v" \
			invalidate_only_remote 64 iocheck read -l 512k -b 8k -d $MNT/inv
		check "512 KiB READ posts no LOCAL_INV vers=$v" \
			invalidate_only_remote 8 iocheck read -l 4m -b 512k -d $MNT/inv
		# Other Replies of version 4 may have chunks, too
		[ "$v" != 3 ] ||
			check "READDIR takes one RDMA Write for each segment vers=$v" invalidate_one_write
		check "umount invalidate vers=$v" umount_nfs
	done
}

# After the last traffic. The host compares "remote" with the capture.
suite_invalidate_report() {
	local remote
	remote=$(invalidate_seen remote)
	echo "$remote" >/run/remote_invalidations
	save_file /run/remote_invalidations
	info "the driver saw $(invalidate_seen local) local and $remote remote invalidations"
	check "the driver saw remote invalidations" test "$remote" -gt 0
}
