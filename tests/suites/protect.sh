# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# What the peer may do with our memory, and how long (RFC 8166, section 8.1):
# the registrations and invalidations of the client's device, as its driver
# sees them. The work request is the second argument of rxe_reg_fast_mr(): key
# at octet 32 of it, access at 36.

REGS=/sys/kernel/tracing

regs_probe() {
	echo 'p:reg rxe_reg_fast_mr wqe=%si:x64 key=+32(%si):x32 access=+36(%si):u32' >>$REGS/kprobe_events
	echo 'r:regret rxe_reg_fast_mr ret=$retval:s32' >>$REGS/kprobe_events
	echo 'p:inv rxe_invalidate_mr key=%si:x32' >>$REGS/kprobe_events
	echo 'r:invret rxe_invalidate_mr ret=$retval:s32' >>$REGS/kprobe_events
	echo 'p:complete xprt_complete_rqst octets=%si:s32' >>$REGS/kprobe_events
	echo 16384 >$REGS/buffer_size_kb
	regs_forget
	echo 1 >$REGS/events/kprobes/enable
}
regs_unprobe() {
	echo 0 >$REGS/events/kprobes/enable
	echo >$REGS/kprobe_events
}
regs_forget() { echo >$REGS/trace; }

# regs_access BITS MIN: since the last regs_forget at least MIN registrations had
# this access, and none another than REMOTE_READ alone (4), or REMOTE_WRITE with
# the LOCAL_WRITE that it needs (3).
regs_access() {
	local all these strange
	all=$(grep -c ' reg: ' $REGS/trace || :)
	these=$(grep ' reg: ' $REGS/trace | grep -c "access=$1\$" || :)
	strange=$(grep ' reg: ' $REGS/trace | grep -cv 'access=[34]$' || :)
	echo "$all registrations, $these with access $1, $strange with neither 3 nor 4"
	[ "$these" -ge "$2" ] && [ "$strange" = 0 ]
}

# Each registration of an MR has another key than the one before it
regs_keys() {
	awk '
	/ reg: / {
		split($0, w, /key=| access=/)
		mr = substr(w[2], 1, length(w[2]) - 2)
		if (mr in last && last[mr] == w[2])
			same++
		again += mr in last
		last[mr] = w[2]
	}
	END {
		printf "%d MRs used again, %d with the same key\n", again, same
		exit !(again > 0 && !same)
	}' $REGS/trace
}

# Whenever an RPC completes, whatever was registered has been invalidated, under the same
# key: there is one RPC at a time. The device did all it was told.
regs_in_order() {
	awk '
	/ reg: / { split($0, w, /key=| access=/); valid[w[2]] = 1; n++ }
	/ inv: / { split($0, w, "key="); delete valid[w[2]] }
	/ (reg|inv)ret: / && !/ret=0$/ { failed++ }
	/ complete: / {
		done++
		for (key in valid)
			early++
	}
	END {
		for (key in valid)
			left++
		printf "%d registrations, %d RPCs; %d MRs valid when one completed, %d at the end; %d failures\n", n, done, early, left, failed
		exit !(n > 0 && done > 0 && !early && !left && !failed)
	}' $REGS/trace
}

# A list of 80 entries is too long for the Call to go inline then
PROTECT_INLINE=/proc/sys/sunrpc/rdma_max_inline_write
protect_mount() {
	local before
	before=$(cat $PROTECT_INLINE)
	echo 1024 >$PROTECT_INLINE
	mount_nfs vers=3
	echo "$before" >$PROTECT_INLINE
}
protect_write() { regs_forget; iocheck write -l 2m -b 64k -d $MNT/protect; regs_access 4 32; }
protect_read() { regs_forget; iocheck verify -l 2m -b 64k -d $MNT/protect; regs_access 3 32; }
protect_zero() {
	: >$MNT/protect.acl
	regs_forget
	sizes_acl_entries | setfacl -M - $MNT/protect.acl
	regs_access 4 1
}
protect_reply() {
	drop_caches
	regs_forget
	[ "$(ls $MNT/protect.d/many | wc -l)" = 600 ]
	regs_access 3 1
}
# One process, one RPC after the other. Chunks of READDIR have several MRs, of which the
# server invalidates one: the others are left to the client.
protect_invalid() {
	local before
	drop_caches
	regs_forget
	before=$(mountstats_local_inv)
	iocheck write -l 1m -b 16k -d $MNT/protect
	iocheck read -l 1m -b 16k -d $MNT/protect
	[ "$(ls $MNT/protect.d/many | wc -l)" = 600 ]
	echo "LOCAL_INVs $before -> $(mountstats_local_inv)"
	[ $(($(mountstats_local_inv) - before)) -ge 4 ]
	regs_in_order
}

suite_protect() {
	on_server "EXPORT=$EXPORT/protect.d sizes_make_many" >/dev/null
	check "kprobe on registrations" regs_probe
	check "mount protect vers=3" protect_mount
	check "Read chunks grant REMOTE_READ only" protect_write
	check "Write chunks grant REMOTE_WRITE only" protect_read
	check "Position-Zero Read chunks grant REMOTE_READ only" protect_zero
	check "Reply chunks grant REMOTE_WRITE only" protect_reply
	check "no MR outlives its RPC" protect_invalid
	check "each registration has a new key" regs_keys
	regs_unprobe
	check "umount protect vers=3" umount_nfs
}
