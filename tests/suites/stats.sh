# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# What users and their tools read: mountstats, sysctls, /proc/net/rpcrdma.

stats_mountstats() {
	local line
	line=$(grep 'xprt:.*rdma' /proc/self/mountstats)
	echo "$line"
	# "xprt:", "rdma", 27 numbers
	[ "$(wc -w <<<"$line")" = 29 ]
	[ "$(tr -dc '0-9 \n' <<<"${line#*rdma}" | wc -w)" = 27 ]
}

stats_set() { echo "$2" >"/proc/sys/$1"; }
stats_sysctls() {
	local f
	for f in rdma_slot_table_entries rdma_max_inline_read rdma_max_inline_write \
		rdma_inline_write_padding rdma_memreg_strategy rdma_pad_optimize; do
		echo "$f=$(cat /proc/sys/sunrpc/$f)"
	done
	[ "$(cat /proc/sys/sunrpc/rdma_slot_table_entries)" = 128 ]
	[ "$(cat /proc/sys/sunrpc/rdma_memreg_strategy)" = 5 ]
	fails stats_set sunrpc/rdma_max_inline_read 100000
	fails stats_set sunrpc/rdma_slot_table_entries 3
	for f in max_requests max_req_size max_outbound_read_requests rdma_stat_read \
		rdma_stat_recv rdma_stat_write rdma_stat_sq_starve; do
		echo "$f=$(cat /proc/sys/sunrpc/svc_rdma/$f)"
	done
}

# With the thresholds that the client wants by default
stats_client_line() {
	local send recv
	send=$(cat /proc/sys/sunrpc/rdma_max_inline_write)
	recv=$(cat /proc/sys/sunrpc/rdma_max_inline_read)
	grep -E "side=client state=live .*peer=10.0.0.1:20049 device=rxe0 .*inline_send=$send inline_recv=$recv remote_inv=yes" \
		/proc/net/rpcrdma/connections
}

# The longest Reply that the NFS client provides for fits inline. Column 15 has Reply chunks
stats_reply_chunks() { awk '/xprt:.*rdma/ { print $15 }' /proc/self/mountstats; }
stats_getattr() {
	local chunks getattrs
	chunks=$(stats_reply_chunks)
	getattrs=$(nfs42_ops GETATTR)
	rpcops getattr $MNT 50
	chunks=$(($(stats_reply_chunks) - chunks)) getattrs=$(($(nfs42_ops GETATTR) - getattrs))
	echo "$getattrs GETATTRs, $chunks Reply chunks"
	[ "$getattrs" -ge 50 ]
	# Another operation may take one: on 6.1 one was seen
	[ "$chunks" -le 1 ]
}
# As the stock module counts: column 13 has segments of Read chunks, 14 of Write chunks, 16 the
# bytes that the server may write
stats_columns() { awk '/xprt:.*rdma/ { print $13, $14, $16 }' /proc/self/mountstats; }
stats_volume() {
	local before written read
	before=$(stats_columns)
	iocheck write -l 1m -b 1m -d -t $MNT/volume
	written=$(stats_columns)
	iocheck verify -l 1m -b 1m -d $MNT/volume
	read=$(stats_columns)
	echo "$before, after a WRITE $written, after a READ $read"
	awk -v a="$before" -v b="$written" -v c="$read" 'BEGIN {
		split(a, was); split(b, write); split(c, read)
		exit !(write[1] > was[1] && write[3] - was[3] < 65536 &&
			read[2] > write[2] && read[3] - write[3] >= 1048576 && read[3] - write[3] < 3145728) }'
}
stats_server_lines() {
	grep -E 'address=.*:20049 ' /proc/net/rpcrdma/listeners
	grep -E 'side=server state=live .*peer=10.0.0.2:[0-9]+ device=rxe0 .*remote_inv=yes' /proc/net/rpcrdma/connections
}

# Of our server's small Replies, and of those with the data of a small READ, one in eight is
# signalled: a completion tells of those before it, too. Other Replies that the mount has
# meanwhile may be signalled more often.
STATS_TRACE=/sys/kernel/tracing
stats_trace_on() {
	: >$STATS_TRACE/trace
	echo 1 >$STATS_TRACE/events/rpcrdma/rpcrdma_post/enable
}
stats_trace_off() { echo 0 >$STATS_TRACE/events/rpcrdma/rpcrdma_post/enable; }
stats_signals() {
	local all signalled
	all=$(grep -c 'rpcrdma_post: .*slots=1 ' $STATS_TRACE/trace)
	signalled=$(grep -c 'rpcrdma_post: .*slots=1 .*signalled=1' $STATS_TRACE/trace)
	echo "$signalled of $all Sends signalled"
	[ "$all" -ge 200 ]
	[ $((signalled * 8)) -ge $((all - 8)) ]
	[ $((signalled * 8)) -le $((all + 80)) ]
}
stats_absent() {
	local i
	for ((i = 0; i < 200; i++)); do
		fails test -e $MNT/nobody.$i
	done
}
# stats_batches COMMAND...
stats_batches() {
	on_server stats_trace_on >/dev/null
	"$@"
	on_server stats_trace_off >/dev/null
	on_server stats_signals
}

# The guests have no Python: the host compares (lib.sh)
stats_save() {
	local file
	for file in connections listeners; do
		save_file /proc/net/rpcrdma/$file
		[ -s "/run/out/$file" ] || [ "$ROLE.$file" = client.listeners ]
	done
}

stats_version() {
	dmesg | grep -F "rpcrdma: RPC-over-RDMA transport, version $(cat /sys/module/rpcrdma/version)"
}

suite_stats() {
	check "sysctls" stats_sysctls
	check "the log has the version of the module" stats_version
	on_server "dd if=/dev/zero of=$EXPORT/bench bs=64k count=16" >/dev/null
	check "mount stats" mount_nfs vers=4.2
	mountpoint -q $MNT || return 0
	check "mountstats columns" stats_mountstats
	check "status of the client's connection" stats_client_line
	check "status of the server's listener and connection" on_server stats_server_lines
	check "a GETATTR has no Reply chunk" stats_getattr
	check "mountstats count a WRITE and a READ" stats_volume
	check "Sends of small Replies are signalled in batches" stats_batches stats_absent
	check "Sends of small READs are signalled in batches" stats_batches rpcops read4k $MNT 200
	check "status for rpcrdma-top, client" stats_save
	check "status for rpcrdma-top, server" on_server stats_save
	check "umount stats" umount_nfs
}
