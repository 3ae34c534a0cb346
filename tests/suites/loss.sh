# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Packets are lost at random, on their way in at both ends, while verified I/O
# runs. rxe then executes a Send Queue's REG_MRs again on retransmission, finds
# their MRs valid, and the queue pair is lost (Documentation/known-issues.rst): a
# kprobe tells that from a registration of ours that meets a valid MR, which
# must never be.

# loss_on ONE_IN: drop one packet of so many
loss_on() {
	nft add table inet loss
	nft add chain inet loss in '{ type filter hook input priority 0; }'
	# Not numgen: not every kernel has it
	nft add rule inet loss in udp dport 4791 meta random "<" $((0xffffffff / $1)) counter drop
}
loss_off() {
	nft list table inet loss | grep -o 'packets [0-9]*'
	nft delete table inet loss
}

# spikes_on DELAY SHARE: that share of the packets comes so much later, and out of order
spikes_on() { tc qdisc add dev eth0 root netem limit 100000 delay "$1" reorder "$((100 - $2))%"; }
spikes_off() { tc qdisc del dev eth0 root; }
# Requests that came to the device before their turn
spikes_seen() { device_count out_of_seq_request; }

# loss_io LENGTH
loss_io() {
	local i jobs=()
	for i in 1 2 3 4; do
		{ iocheck write -l "$1" -b 16k -s "$i" -d -t "$MNT/loss.$i" &&
			iocheck verify -l "$1" -b 16k -s "$i" -d "$MNT/loss.$i"; } &
		jobs+=($!)
	done
	for i in "${jobs[@]}"; do
		wait_job "$i"
	done
}

loss_round() {
	local t0=$SECONDS c0 server client
	c0=$(connects)
	on_server "loss_on $1" >/dev/null
	loss_on "$1"
	loss_io 1m
	server=$(on_server loss_off)
	client=$(loss_off)
	echo "lost by the server: $server, by the client: $client"
	[ "${server#packets }" -gt 0 ]
	[ "${client#packets }" -gt 0 ]
	echo "$((SECONDS - t0)) s, connects $c0 -> $(connects)"
}

spikes_round() {
	local t0=$SECONDS c0 server client
	c0=$(connects)
	server=$(on_server spikes_seen)
	client=$(spikes_seen)
	trap 'on_server "spikes_off || :" >/dev/null; spikes_off || :' EXIT
	on_server "spikes_on $1 $2" >/dev/null
	spikes_on "$1" "$2"
	# rxe loses the connection every few seconds
	loss_io 192k
	server=$(($(on_server spikes_seen) - server))
	client=$(($(spikes_seen) - client))
	echo "out of order at the server: $server, at the client: $client"
	[ $((server + client)) -gt 0 ]
	echo "$((SECONDS - t0)) s, connects $c0 -> $(connects)"
}

# Of each registration that failed: had the same WQE registered this rkey before,
# and nobody invalidated it since? Anything else is a fault of the module's.
loss_registrations() {
	awk '
	/ reg: /    { split($0, w, /wqe=| key=| access=/); wqe = w[2]; key = w[3]; next }
	/ inv: /    { split($0, k, "key="); delete valid[substr(k[2], 1, length(k[2]) - 2)]; next }
	/ regret: / {
		n++
		mr = substr(key, 1, length(key) - 2)
		if (/ret=0$/)
			valid[mr] = wqe key
		else if (valid[mr] == wqe key)
			again++
		else
			ours++
	}
	END {
		printf "%d registrations, %d executed again by the device, %d of a valid MR\n", n, again, ours
		exit !(n > 0 && !ours)
	}' $REGS/trace
}

suite_loss() {
	check "kprobe on REG_MR" regs_probe
	check "mount loss vers=3" mount_nfs "vers=3,timeo=50"
	check "verified I/O while one packet of 100 is lost" loss_round 100
	check "no valid MR was registered" loss_registrations
	info "$(loss_registrations || :), connects $(connects)"
	regs_unprobe
	check "umount loss vers=3" umount_nfs
}

# rxe says of an RDMA Read that has failed in this way that it succeeded. Such a
# WRITE is not to be done: its octets are not the client's (Documentation/known-issues.rst).
# Guests: -c 2 -e LOG_TOLERATE='rxe_comp.c:[0-9]+( at|) rxe_completer|Call Trace:'
suite_disorder() {
	check "kprobe on REG_MR" regs_probe
	check "mount disorder vers=3" mount_nfs "vers=3,timeo=50"
	check "verified I/O while one packet of four is out of order" spikes_round 1ms 25
	check "verified I/O while one packet of 50 takes 100 ms more" spikes_round 100ms 2
	check "no valid MR was registered" loss_registrations
	info "$(loss_registrations || :), connects $(connects)"
	regs_unprobe
	check "umount disorder vers=3" umount_nfs
}
