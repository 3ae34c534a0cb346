# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# What cannot work ends within seconds, in an error and in one line of the log
# that names address, device and cause.

errors_lines() { dmesg | grep -c "rpcrdma: .*$1" || :; }

# mount_fails ADDRESS PORT PATTERN SECONDS
mount_fails() {
	local address=$1 port=$2 pattern=$3 limit=$4 t0=$SECONDS n0
	n0=$(errors_lines "$pattern")
	if mount_nfs "proto=rdma,port=$port,vers=4.2" $MNT "$address"; then
		echo "mounted, of all things"
		umount_nfs
		return 1
	fi
	echo "failed after $((SECONDS - t0)) s; log: $(dmesg | grep rpcrdma: | tail -n 1)"
	[ $((SECONDS - t0)) -le "$limit" ]
	[ $(($(errors_lines "$pattern") - n0)) = 1 ]
}

# Before rxe_up: no RDMA device in this guest at all
# Guests: -e EARLY_SUITES=errors_no_device -e SUITES=
suite_errors_no_device() {
	modprobe -a rdma_cm
	load_transport
	check "mount without an RDMA device" \
		mount_fails $SERVER 20049 "$SERVER:20049.*no device" 20
}

suite_errors() {
	check "mount of an address nobody has" \
		mount_fails 10.0.0.77 20049 '10.0.0.77:20049.*no RDMA device or neighbour' 30
	# Within the time in which one that ends as the last one did is not logged again
	ip route add unreachable 10.0.0.77
	check "mount of it where the reason is another one, the error the same" \
		mount_fails 10.0.0.77 20049 '10.0.0.77:20049.*no route to this address (-113)' 30
	ip route del unreachable 10.0.0.77
	check "mount of an address without a route" \
		mount_fails 192.0.2.1 20049 '192.0.2.1:20049' 30
	check "mount of a port without a listener" \
		mount_fails $SERVER 20050 "$SERVER:20050 on rxe0.*no listener on this port" 20
	on_server "rping -s -a $SERVER -p 7000 >/run/rping 2>&1 & echo \$! >/run/rping.pid; wait_for 10 rping_listens" >/dev/null
	check "mount of something that speaks no RPC-over-RDMA" \
		mount_fails $SERVER 7000 "$SERVER:7000 on rxe0: connection lost" 60
	on_server "kill \$(cat /run/rping.pid) 2>/dev/null || :" >/dev/null
	[ -e /proc/sys/sunrpc/rdma_connect_timeout ] || return 0
	check "a mount that is interrupted says nothing" errors_interrupted
	check "mount of a server that does not answer" errors_silent
}

# An interrupt needs no reason in the log
errors_gone() { ! grep -q side=client /proc/net/rpcrdma/connections; }
errors_interrupted() {
	local before mount=0
	before=$(errors_lines .)
	on_server wire_down
	MOUNT_LIMIT=3 mount_nfs vers=4.2 || mount=$?
	try wait_for 15 errors_gone
	on_server wire_up
	echo "mount: $mount; lines: $before, then $(errors_lines .): $(dmesg | grep rpcrdma: | tail -n 1)"
	[ $mount = 124 ] && [ $STATUS = 0 ] && [ "$(errors_lines .)" = "$before" ]
}

# The server is there and silent
errors_silent() {
	on_server wire_down
	echo 3 >/proc/sys/sunrpc/rdma_connect_timeout
	try mount_fails $SERVER 20049 "$SERVER:20049 on rxe0.*peer does not answer" 12
	echo 20 >/proc/sys/sunrpc/rdma_connect_timeout
	on_server wire_up
	return $STATUS
}
rping_listens() { rdma resource show cm_id | grep -q 'LISTEN.*:7000'; }
