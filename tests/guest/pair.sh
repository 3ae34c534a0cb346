#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Two guests, many suites, one boot. The client drives: a suite is a function
# suite_NAME in suites/*.sh, run on the client; what must happen on the server
# it asks for with on_server. SUITES names them, in order.
. /test/guest.sh
for f in /test/suites/*.sh; do . "$f"; done

# on_server COMMAND…: run there by the server's script, which has the same
# functions; prints the last line of its output. Numbered through a file,
# because checks run in subshells.
on_server() {
	local n rep
	n=$(($(cat /run/asked) + 1))
	echo $n >/run/asked
	peer_signal "ask.$n" "$*"
	rep=$(peer_wait "answer.$n" "${ON_SERVER_LIMIT:-90}")
	printf '%s\n' "${rep#* }"
	return "${rep%% *}"
}

# The server's half: one request after the other, until "end".
serve() {
	local n=0 cmd rc
	while :; do
		n=$((n + 1))
		cmd=$(peer_wait "ask.$n" "$LIMIT")
		[ "$cmd" != end ] || return 0
		set +e
		(
			trap - ERR
			set -e
			eval "$cmd"
		) >/run/serve.out 2>&1
		rc=$?
		set -e
		[ $rc = 0 ] || { echo "asked for: $cmd"; cat /run/serve.out; }
		peer_signal "answer.$n" "$rc $(grep . /run/serve.out | tail -n 1)"
	done
}

# The first rule of a netfilter hook has the kernel change its own code, and so has the end
# of the last one. The emulator may run the other processor into the breakpoint that is
# there meanwhile, after it is gone (known-issues.rst): this one begins before all, and stays.
keep_hooks() {
	nft 'add table inet always
		add chain inet always in { type filter hook input priority 0; }'
}

drop_caches() { echo 3 >/proc/sys/vm/drop_caches; }

[ "$(nproc)" = 1 ] || keep_hooks
case $ROLE in
server)
	"${RDMA_TYPE:-rxe}_up"
	load_transport
	NFSD_BLOCK=${NFSD_BLOCK:-1048576} NFSD_THREADS=8 server_up
	peer_signal ready
	trap - ERR
	serve
	server_down
	;;
client)
	echo 0 >/run/asked
	for s in ${EARLY_SUITES:-}; do "suite_$s"; done
	"${RDMA_TYPE:-rxe}_up"
	load_transport
	# As long as a server's kernel may take that had to be started again
	peer_wait ready 300 >/dev/null
	for s in $SUITES; do
		info "suite $s"
		"suite_$s"
	done
	;;
esac
[ "$ROLE" != client ] || umount -a -t nfs,nfs4
wait_for 20 rmmod rpcrdma || die "rmmod: $(lsmod | grep '^rpcrdma')"
pass "rmmod rpcrdma"
[ "$ROLE" != client ] || peer_signal "ask.$(($(cat /run/asked) + 1))" end
check_rdma_clean
check_log_clean
# A lost packet may end a queue pair (known-issues.rst)
info "packets dropped: $(cd /sys/class/net/eth0/statistics && grep -H . tx_dropped rx_dropped rx_missed_errors tx_errors | paste -sd' ' || :), $(tc -s qdisc show dev eth0 | grep -o 'dropped [0-9]*' || :)"
# For whoever has the results only; some suites mean them to be lost
dmesg | grep -o 'rpcrdma: .*: connection lost: .*' | tail -n 3 | while IFS= read -r line; do info "$line"; done || :
finish
