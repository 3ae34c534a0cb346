# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Trace points: an RPC is followed by its XID through both sides, with its chunks, its MR and
# the invalidation; a message that is refused, with the reason.

TRACES=/sys/kernel/tracing/instances/traces
TRACES_SAVED=/run/traces

traces_on() {
	mkdir -p $TRACES
	echo >$TRACES/trace
	echo 1 >$TRACES/events/rpcrdma/enable
}
# Lines "EVENT: fields" in $TRACES_SAVED
traces_off() {
	echo 0 >$TRACES/events/rpcrdma/enable
	sed -n 's/.* \(\(xprtrdma\|svcrdma\|rpcrdma\)_[a-z_]*: ep=.*\)/\1/p' $TRACES/trace >$TRACES_SAVED
	rmdir $TRACES
	sort $TRACES_SAVED | cut -d: -f1 | uniq -c
}

# traces_have PATTERN: a line of what was traced here
traces_have() { grep -E -m 1 -- "$1" $TRACES_SAVED || { echo "no $1"; return 1; }; }
traces_server_has() { on_server "$(printf '%q ' traces_have "$1")"; }

# traces_follow MARSHAL: the RPC of the first such line on the client, through both sides.
# Arguments behind it: lines of the server; then "client", and lines of the client
traces_follow() {
	local xid rkey pattern where=traces_server_has
	xid=$(grep -E -m 1 "xprtrdma_marshal: .*$1" $TRACES_SAVED | grep -o 'xid=0x[0-9a-f]*')
	[ -n "$xid" ] || { echo "no Call with $1"; return 1; }
	rkey=$(grep -m 1 "xprtrdma_mr_map: .*$xid " $TRACES_SAVED | grep -o 'rkey=0x[0-9a-f]*' || :)
	echo "$xid ${rkey:-without MR}"
	shift
	for pattern; do
		case $pattern in
		client) where=traces_have ;;
		*) $where "$(sed "s/XID/$xid/; s/RKEY/$rkey/" <<<"$pattern")" ;;
		esac
	done
}

traces_io() {
	iocheck write -l 64k -b 64k -s 7 -d $MNT/traces
	iocheck verify -l 64k -b 64k -s 7 -d $MNT/traces
	stat $MNT/traces
}
traces_write() {
	traces_follow "read=[1-9] write=0 " \
		"svcrdma_decode_rqst: .*XID .*read=[1-9][0-9]*/65536 write" "svcrdma_post_reads: .*XID slots=[1-9]" \
		"svcrdma_read_finished: .*XID status=0" "svcrdma_post_send: .*XID .*write_slots=0 inv_RKEY" \
		client "xprtrdma_mr_reminv: .*XID RKEY" "xprtrdma_mr_unmap: .*XID RKEY" \
		"xprtrdma_reply: .*XID .*proc=0 .*inv_RKEY"
}
traces_read() {
	traces_follow "read=0 write=[1-9]" \
		"svcrdma_decode_rqst: .*XID .*write=[1-9][0-9]*/65536 reply" "svcrdma_post_send: .*XID .*write_slots=[1-9]" \
		"svcrdma_wc_send: .*XID status=0" \
		client "xprtrdma_reply: .*XID .*write=[1-9][0-9]*/65536 .*inv_RKEY" "xprtrdma_mr_reminv: .*XID RKEY"
}
# No chunk, no MR
traces_inline() {
	traces_follow "read=0 write=0 reply=0" \
		"svcrdma_decode_rqst: .*XID .*read=0/0 write=0/0 reply=0/0 inv_rkey=0x00000000" \
		"svcrdma_post_send: .*XID .*write_slots=0 inv_rkey=0x00000000" \
		client "xprtrdma_reply: .*XID .*credits=[1-9]"
}
traces_refused() {
	local xid=$((RANDOM << 8)) hex
	on_server traces_on
	# shellcheck disable=SC2046
	peer_case /test/peer/client/discriminator-read.peer $(peer_handles) -D xid=$xid
	on_server traces_off
	printf -v hex 0x%08x $((xid + 1))
	traces_server_has "svcrdma_decode_err: .*xid=$hex .*discriminator"
	traces_server_has "svcrdma_reject: .*xid=$hex .*discriminator"
}

# The commands of Documentation/tracing.rst that name this event, or those to be undone
traces_doc() {
	grep -E "^    echo .*$1" /test/tracing.rst | sed 's/^ *//'
}
traces_run() { (cd /sys/kernel/tracing && eval "$(traces_doc "$1")"); }
traces_undo() { (cd /sys/kernel/tracing && eval "$(traces_doc "$1" | sed "s/'hist:/'!hist:/; s/'rpcrdma_server/'!rpcrdma_server/" | tac)"); }
traces_hist() {
	cat "/sys/kernel/tracing/events/$1/hist"
	grep -qE "$2" "/sys/kernel/tracing/events/$1/hist"
}
traces_questions() {
	traces_run xprt_get_cong
	on_server traces_run "'(rpcrdma_server|svcrdma_decode_rqst)'"
	on_server traces_run rpcrdma_wc_failed
	iocheck verify -l 64k -b 64k -s 7 -d $MNT/traces
	traces_hist sunrpc/xprt_get_cong 'wait: *0 .*hitcount: *[1-9]'
	traces_undo xprt_get_cong
	on_server traces_hist synthetic/rpcrdma_server "'us: ~ 2[\^][0-9]+ .*hitcount: *[1-9]'"
	on_server traces_undo "'(rpcrdma_server|svcrdma_decode_rqst)'"
}
# A connection that ends has Receives to flush
traces_lost() {
	umount_nfs
	on_server wait_for 30 traces_hist rpcrdma/rpcrdma_wc_failed "'status: *5, .*hitcount: *[1-9]'"
	on_server traces_undo rpcrdma_wc_failed
}

# Guests: -a "$TESTS/peer=/test/peer" -a "$ROOT/Documentation/tracing.rst=/test/tracing.rst"
suite_traces() {
	check "files for peers" on_server peer_files
	check "mount traces vers=3" mount_nfs vers=3
	check "trace points" traces_on
	check "trace points of the server" on_server traces_on
	check "I/O with trace points" traces_io
	check "what the client traced" traces_off
	check "what the server traced" on_server traces_off
	check "a WRITE by its XID" traces_write
	check "a READ by its XID" traces_read
	check "an inline RPC by its XID" traces_inline
	check "questions of tracing.rst" traces_questions
	check "a connection that ends" traces_lost
	check "a header that is refused" traces_refused
}
