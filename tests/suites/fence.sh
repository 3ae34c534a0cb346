# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The connection goes down while LOCAL_INVs are under way: they are flushed, which does not
# say that the server no longer reaches what they were to take from it. MRs are the RPC's
# until the queues are drained.
#
# LOCAL_INVs complete in order, behind the Send before them, whose acknowledgement is lost
# here. READLINK's Reply has a chunk of several MRs, of which the server invalidates one.

FENCE_PROBES=/sys/kernel/tracing/kprobe_events
# opcode_lost OPCODE: RDMA's header is behind that of UDP, and begins with it
opcode_lost() {
	nft add table inet acks
	nft add chain inet acks in '{ type filter hook input priority 0; }'
	nft add rule inet acks in udp dport 4791 @th,64,8 "$1" drop
}
acks_lost() { opcode_lost 17; }
acks_back() { nft delete table inet acks; }

FENCE_TRACE=/sys/kernel/tracing/instances/fence

fence_probe() {
	local e
	for e in 'p:fence/closing xprt_rdma_client_closing' \
		'p:fence/drained xprt_rdma_client_release' \
		'p:fence/reply xprt_rdma_inv_done status=%si:u32' \
		'p:fence/abandoned xprt_rdma_abort_done status=%si:u32' \
		'p:fence/put xprt_rdma_mrs_put head=%si:x64 first=+0(%si):x64'; do
		echo "$e" >>$FENCE_PROBES
	done
	mkdir $FENCE_TRACE
	echo 1 >$FENCE_TRACE/events/fence/enable
}
fence_unprobe() {
	local e
	[ ! -e $FENCE_TRACE ] || rmdir $FENCE_TRACE
	for e in closing drained reply abandoned put; do
		! grep -q ":fence/$e " $FENCE_PROBES || echo "-:fence/$e" >>$FENCE_PROBES
	done
}

# fence_until_drained KIND: LOCAL_INVs of this kind were flushed before the queues were
# drained, and no MR was given back then
fence_until_drained() {
	awk -v kind=" $1: " '
	/ closing: / { down = 1 }
	/ drained: / { down = 0 }
	down && index($0, kind) && !/status=0$/ { flushed++ }
	down && / put: / {
		split($0, w, /head=| first=/)
		back += w[2] != w[3]
	}
	END {
		printf "%d flushed, MRs given back %d times before the drain\n", flushed, back
		exit !(flushed && !back)
	}' $FENCE_TRACE/trace
}

fence_posted() { [ "$(mountstats_local_inv)" -gt "$1" ]; }
fence_link() {
	drop_caches
	[ -L $MNT/fence ]
	echo >$FENCE_TRACE/trace
}

# The Reply is here, and the RPC not complete without its MRs: its Call is sent again
fence_reply() {
	local before job
	fence_link
	before=$(mountstats_local_inv)
	acks_lost
	trap acks_back EXIT
	readlink $MNT/fence >/run/fence &
	job=$!
	wait_for 20 fence_posted "$before"
	cut_by_sysfs
	trap - EXIT
	acks_back
	wait_job $job
	cat /run/fence
	[ "$(cat /run/fence)" = somewhere ]
	fence_until_drained reply
}

# No Reply comes, and the RPC is killed: it has its memory back when the queues are drained
fence_abandoned() {
	local before job
	fence_link
	before=$(mountstats_local_inv)
	wire_down
	trap wire_up EXIT
	readlink $MNT/fence &
	job=$!
	wait_for 20 abandon_pending READLINK
	kill -9 $job
	wait_for 20 fence_posted "$before"
	cut_by_sysfs
	wait_for 20 job_ended $job
	trap - EXIT
	wire_up
	[ "$(readlink $MNT/fence)" = somewhere ]
	fence_until_drained abandoned
}

suite_fence() {
	on_server "ln -sf somewhere $EXPORT/fence" >/dev/null
	module_sysctl rdma_max_inline_read 1024
	check "mount fence vers=3" mount_nfs vers=3,timeo=600,nocto,actimeo=600
	check "probes on LOCAL_INVs" fence_probe
	check "flushed LOCAL_INVs of a Reply give no MR back" fence_reply
	check "flushed LOCAL_INVs of a killed RPC give no MR back" fence_abandoned
	fence_unprobe
	check "umount fence vers=3" umount_nfs
	module_sysctl rdma_max_inline_read
}

# Deregistration may take a command of the firmware for each MR. Only the teardown waits for
# that: an RPC that was killed has its memory back when its MRs are unmapped. The pool has
# eight MRs at least.
SLOW_DEREG=/sys/module/rpcrdma/parameters/slow_dereg

slow_dereg_killed() {
	local before job t0
	drop_caches
	[ -L $MNT/fence ]
	before=$(mountstats_local_inv)
	wire_down
	trap wire_up EXIT
	readlink $MNT/fence &
	job=$!
	wait_for 20 abandon_pending READLINK
	kill -9 $job
	wait_for 20 fence_posted "$before"
	echo 3000 >$SLOW_DEREG
	t0=$SECONDS
	cut_by_sysfs
	wait_for 60 job_ended $job
	echo "ended within $((SECONDS - t0)) s"
	[ $((SECONDS - t0)) -lt 9 ]
	trap - EXIT
	wire_up
	[ "$(readlink $MNT/fence)" = somewhere ]
}

# Guests: CONFIG_RPCRDMA_FAULT=y
suite_slow_dereg() {
	on_server "ln -sf somewhere $EXPORT/fence" >/dev/null
	module_sysctl rdma_max_inline_read 1024
	check "mount slow_dereg vers=3" mount_nfs vers=3,timeo=600,nocto,actimeo=600
	check "a killed RPC does not wait for deregistration" slow_dereg_killed
	echo 0 >$SLOW_DEREG
	check "umount slow_dereg vers=3" umount_nfs
	module_sysctl rdma_max_inline_read
}

# The acknowledgements of the client's Sends are lost, Replies are not: an inline RPC, with
# data or without, is complete with its Reply. The device repeats Sends for 4 s (7 s on 6.1)
# before it takes the connection for lost: so they come back after each three.
unacked_rpcs() {
	stat -c %s $MNT/unacked
	dd if=$MNT/unacked of=/dev/null bs=4k count=1 iflag=direct status=none
	dd if=/dev/zero of=$MNT/unacked bs=4k count=1 oflag=direct conv=notrunc,nocreat status=none
}
unacked_io() {
	local before n
	before=$(connects)
	export -f unacked_rpcs
	for n in 1 2 3 4; do
		trap acks_back EXIT
		acks_lost
		MNT=$MNT timeout 5 bash -ec unacked_rpcs
		trap - EXIT
		acks_back
	done
	iocheck write -l 64k -b 4k -s 3 -d $MNT/unacked
	iocheck verify -l 64k -b 4k -s 3 -d $MNT/unacked
	echo "connects $before -> $(connects)"
	[ "$(connects)" = "$before" ]
}
suite_unacked() {
	check "mount unacked vers=3" mount_nfs vers=3,noac
	mountpoint -q $MNT || return 0
	check "prepare unacked" iocheck write -l 4k -b 4k -s 2 -d -t $MNT/unacked
	check "inline RPCs without acknowledgements" unacked_io
	check "umount unacked vers=3" umount_nfs
}
