# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# RDMA devices, addresses and links that go and come back, on either side, below
# two mounts (NFSv3 and 4.2) that verify what they write. After each event each
# mount has a connection of its own again and completes I/O that began after it.

# A removal waits for the endpoints, and those for the device: seconds, not more
REMOVAL_LIMIT=20
# What a reconnect may take: the pause of the RPC layer (3 s), the back-off (up to
# 30 s), a handshake that nobody answers (20 s)
REMOVAL_BACK=90

# within SECONDS COMMAND…: what hangs in the kernel cannot be killed: leave it
within() {
	local limit=$1 job
	shift
	"$@" &
	job=$!
	wait_for "$limit" job_ended $job || { echo "still running after $limit s: $*"; return 1; }
	wait $job
}

# ---- what goes and comes, on either side ---------------------------------------

link_gone() { within $REMOVAL_LIMIT rdma link delete "${1:-rxe0}"; }
link_back() {
	rdma link add "${1:-rxe0}" type rxe netdev eth0
	wait_for 10 rxe_active "${1:-rxe0}"
}
away_link() { link_gone && link_back; }
away_module() {
	within $REMOVAL_LIMIT rmmod rdma_rxe
	modprobe rdma_rxe
	link_back
}
# What the CM sends while its interface is down breaks its queue pair in rxe, and only a
# new device has a good one (Documentation/known-issues.rst): hence away_link. A server
# without its address may send such a thing, too; a client does if its connection ends
# before the device knows that the address is gone.
cm_broken() { rdma resource show qp | grep -q 'type GSI state ERR'; }

# The address that the other side knows us by
own_address() { case $ROLE in server) echo $SERVER/24 ;; *) echo 10.0.0.2/24 ;; esac }
address_gone() { ip addr del "$(own_address)" dev eth0; }
address_back() {
	ip addr add "$(own_address)" dev eth0
	[ "$ROLE" = client ] && ! cm_broken || away_link
}
netdev_gone() {
	sysctl -q -w net.ipv6.conf.eth0.keep_addr_on_down=1
	ip link set eth0 down
}
netdev_back() {
	ip link set eth0 up
	away_link
}
# Neither side hears the other
cable_gone() {
	on_server wire_down
	wire_down
}
cable_back() {
	wire_up
	on_server wire_up
}
on_client() { "$@"; }

# away_for SECONDS SIDE WHAT: so much longer than the client's connections live (it has
# something to send, and notices). A handshake waits 20 s, and the next one up to 30 s.
away_for() {
	"$2" "$3_gone"
	wait_for 90 none_live
	sleep "$1"
	"$2" "$3_back"
}

# What the log has had since MARK was written to it
log_since() { dmesg | sed -n "/$1/,\$p"; }

# one_line COMMAND…: which takes rxe0 away on the side that runs this. Each of its
# connections has one line in the log, with side, peer, device and cause. If not, what
# ended them is in the trace.
ONE_LINE_TRACE=/sys/kernel/tracing/instances/one_line
one_line_trace() {
	mkdir -p $ONE_LINE_TRACE
	echo >$ONE_LINE_TRACE/trace
	echo 1 >$ONE_LINE_TRACE/events/rpcrdma/rpcrdma_state/enable
	echo 1 >$ONE_LINE_TRACE/events/rpcrdma/rpcrdma_cm_event/enable
}
one_line() {
	local n lines mark="removal $RANDOM$RANDOM"
	[ "$MODULE" != stock ] || { "$@"; return; }
	one_line_trace
	cp /proc/net/rpcrdma/connections /run/one_line
	n=$(grep -c ' state=live ' /run/one_line)
	echo "$mark" >/dev/kmsg
	"$@"
	lines=$(log_since "$mark" |
		grep -cE 'rpcrdma: (client|server) [0-9.:]+ on rxe0: connection lost: the device is removed' || :)
	echo "$n connections, $lines lines"
	[ "$n" = 0 ] || [ "$lines" != "$n" ] || return 0
	cat /run/one_line $ONE_LINE_TRACE/trace
	false
}

# ---- the load --------------------------------------------------------------------

REMOVAL_DIRS="/mnt3 /mnt42"

# removal_load DIR: until there is /run/removal.stop
removal_load() {
	local name=${1##*/} i=0
	while [ ! -e /run/removal.stop ]; do
		i=$((i + 1))
		storm_rest
		iocheck write -l 512k -b 64k -s $i -d -t "$1/load.$name" &&
			iocheck verify -l 512k -b 64k -s $i -d "$1/load.$name" || break
		echo $i >"/run/removal.rounds.$name"
	done
	[ -e /run/removal.stop ] || echo $i >"/run/removal.failed.$name"
}
removal_rounds() { cat "/run/removal.rounds.${1##*/}" 2>/dev/null || echo 0; }
# The round under way at ROUNDS + 1 may have begun before
removal_beyond() { [ "$(removal_rounds "$1")" -ge $(($2 + 2)) ]; }
removal_good() { fails ls /run/removal.failed.*; }
connects_of() {
	awk -v dir="$1" '/^device / { here = $5 == dir } here && /xprt:.*rdma/ { s += $5 }
		END { print s + 0 }' /proc/self/mountstats
}
removal_reconnected() { [ "$(connects_of "$1")" -gt "$2" ]; }

# removal_event COMMAND…: both mounts lose their connections by it, and go on
removal_event() {
	local dir rounds t0=$SECONDS t1
	local -A c0
	for dir in $REMOVAL_DIRS; do
		c0[$dir]=$(connects_of "$dir")
	done
	"$@"
	t1=$SECONDS
	for dir in $REMOVAL_DIRS; do
		rounds=$(removal_rounds "$dir")
		wait_for $REMOVAL_BACK removal_reconnected "$dir" "${c0[$dir]}"
		wait_for $REMOVAL_BACK removal_beyond "$dir" "$rounds"
	done
	removal_good
	info "$*: $((t1 - t0)) s, and $((SECONDS - t1)) s until both mounts went on"
}

# removal_begin OPTIONS: sets REMOVAL_JOBS, if there are mounts
removal_begin() {
	local v dir
	rm -f /run/removal.*
	REMOVAL_JOBS=
	for v in 3 4.2; do
		dir=/mnt${v/./}
		check "mount removal vers=$v" mount_nfs "$1,timeo=150,vers=$v" "$dir"
		mountpoint -q "$dir" || { REMOVAL_JOBS=; return 0; }
		removal_load "$dir" &
		REMOVAL_JOBS+=" $!"
	done
	check "I/O below both mounts" removal_beyond_all
}
removal_beyond_all() {
	local dir
	for dir in $REMOVAL_DIRS; do
		wait_for 60 removal_beyond "$dir" 0
	done
}
removal_end() {
	local job
	touch /run/removal.stop
	for job in $REMOVAL_JOBS; do
		wait_for $REMOVAL_BACK job_ended "$job"
	done
	removal_good
	umount_nfs /mnt3
	umount_nfs /mnt42
	wait_for 20 nothing_stuck
}
nothing_stuck() { ps -eo stat,args | awk '/^D/ { n++; print } END { exit n > 0 }'; }

# ---- one after the other -----------------------------------------------------------

# The debug kernel has rxe built in
rxe_is_module() { lsmod | grep -q '^rdma_rxe '; }

removal_number() {
	local kinds=2
	if rxe_is_module; then kinds=4; fi
	case $(($1 % kinds)) in
	0) removal_event one_line away_link ;;
	1) removal_event on_server one_line away_link ;;
	2) removal_event one_line away_module ;;
	3) removal_event on_server one_line away_module ;;
	esac
}
removal_more() {
	local i
	for ((i = 4; i < LOOPS; i++)); do
		removal_number $i
	done
}

# As in a network namespace: -ENETUNREACH ends an RPC. The removal of a device must not be
# reported by that error.
removal_neterrors() { case $(uname -r) in 6.*) ;; *) echo ",fatal_neterrors=ENETDOWN:ENETUNREACH" ;; esac; }

suite_removal() {
	local LOOPS=${LOOPS:-5}
	removal_begin "proto=rdma,port=20049$(removal_neterrors)"
	[ -n "$REMOVAL_JOBS" ] || return 0
	check "client: rdma link delete, add" removal_number 0
	check "server: rdma link delete, add" removal_number 1
	if rxe_is_module; then
		check "client: rmmod rdma_rxe, modprobe" removal_number 2
		check "server: rmmod rdma_rxe, modprobe" removal_number 3
	fi
	check "$LOOPS removals, either side in turn" removal_more
	check "umount removal, nothing stuck" removal_end
}

# said_lost COMMAND…: which takes a connection of this guest away. The log says so.
said_lost() {
	local mark="lost $RANDOM$RANDOM"
	echo "$mark" >/dev/kmsg
	"$@"
	[ "$MODULE" = stock ] || log_since "$mark" | grep 'rpcrdma: client .*: connection lost: '
}

suite_removal_path() {
	local down=${LINK_DOWN:-5}
	removal_begin proto=rdma,port=20049
	[ -n "$REMOVAL_JOBS" ] || return 0
	check "client: its address goes and returns" removal_event away_for 0 on_client address
	check "server: its address goes and returns" removal_event away_for 0 on_server address
	check "cable unplugged, plugged in" removal_event away_for "$down" on_client cable
	check "client: link down, up" said_lost removal_event away_for "$down" on_client netdev
	check "server: link down, up" removal_event away_for "$down" on_server netdev
	check "umount removal path, nothing stuck" removal_end
}

# ---- while something else begins or ends --------------------------------------------

# Of either module: the CM waits for an answer
shaking_hands() { rdma resource show cm_id | grep -q 'state CONNECT .*:20049'; }

removal_mount() {
	mount_nfs vers=4.2
	iocheck write -l 64k -t -y $MNT/removal
	drop_caches
	iocheck verify -l 64k $MNT/removal
	umount_nfs
}

# removal_mounting DEAF COMMAND…: DEAF is the side that hears nothing: the server, and
# the Connect Request is lost, or the client, and the answer is. The device goes.
# Whether this mount then fails or not, it ends, and the next one works.
removal_mounting() {
	local job t0
	$1 wire_down
	mount_nfs vers=4.2 &
	job=$!
	wait_for 30 shaking_hands
	t0=$SECONDS
	"${@:2}"
	$1 wire_up
	wait_for 60 job_ended $job
	info "the mount ended $((SECONDS - t0)) s after the removal began"
	wait $job && umount_nfs
	removal_mount
}

# umount of NFSv4 ends the session, and waits for an answer
removal_umounting() {
	local job t0
	mount_nfs vers=4.2,timeo=100
	on_server wire_down >/dev/null
	umount $MNT &
	job=$!
	wait_for 30 abandon_pending DESTROY_SESSION
	t0=$SECONDS
	"$@"
	on_server wire_up
	wait_for 60 job_ended $job
	wait $job
	info "umount ended $((SECONDS - t0)) s after the removal began"
	removal_mount
}

# On the server, below a load
nfsd_stop() {
	rpc.nfsd 0
	wait_for 30 server_threads_gone
}
nfsd_start() {
	rpc.nfsd --rdma=20049 8
	server_end_grace
}
away_nfsd() {
	local job
	within 60 nfsd_stop &
	job=$!
	link_gone
	wait_for 60 job_ended $job
	wait $job
	link_back
	nfsd_start
}

# ---- a listener on one address (nfsd of 6.12) --------------------------------------

# nfsd's threads are stopped: they share their listeners
one_address_start() {
	nfsd_stop
	nfsd-listen rdma $SERVER 20052 rdma $SERVER6 20052 rdma 0.0.0.0 20049 tcp 0.0.0.0 2049
	echo 8 >/proc/fs/nfsd/threads
	server_end_grace
	one_address_on rxe0
}
# DEVICE of both, or -
one_address_on() {
	grep -qF "address=$SERVER:20052 device=$1 " /proc/net/rpcrdma/listeners &&
		grep -qF "address=[$SERVER6]:20052 device=$1 " /proc/net/rpcrdma/listeners
}
one_address_lines() { dmesg | grep -c "rpcrdma: listener .*:20052 on $1\$" || :; }

# Another device gets the address
one_address_moves() {
	link_gone rxe0
	wait_for 5 one_address_on -
	link_back rxe7
	wait_for 10 one_address_on rxe7
	[ "$(one_address_lines 'rxe0: the device is removed')" = 2 ]
	[ "$(one_address_lines 'rxe7: listening again')" = 2 ]
}
# A device alone is not enough
one_address_later() {
	link_gone rxe7
	wait_for 5 one_address_on -
	ip addr del $SERVER/24 dev eth0
	ip addr del $SERVER6/64 dev eth0
	link_back rxe0
	one_address_on -
	ip addr add $SERVER6/64 dev eth0 nodad
	ip addr add $SERVER/24 dev eth0
	wait_for 10 one_address_on rxe0
}
# nfsd stops while its listeners look for their device, or lose it
one_address_stop() {
	local i n job
	link_gone
	wait_for 5 one_address_on -
	within 30 nfsd_stop
	link_back
	for ((i = 0; i < ${LOOPS:-3}; i++)); do
		one_address_start
		link_gone &
		job=$!
		within 30 nfsd_stop
		wait $job
		link_back
	done
	n=$(one_address_lines '.*: listening again')
	nfsd_start
	fails listen_shown 20052
	[ "$(one_address_lines '.*: listening again')" = "$n" ]
}

suite_removal_listener() {
	local ON_SERVER_LIMIT=$((120 + 30 * ${LOOPS:-3}))
	if [ "$PEER_KERNEL" = 6.1 ]; then
		info "nfsd of 6.1 has no interface for a listener on one address"
		return 0
	fi
	check "listeners on one address each" on_server one_address_start
	removal_begin proto=rdma,port=20052
	[ -n "$REMOVAL_JOBS" ] || return 0
	check "their device goes, another has the address" removal_event on_server one_address_moves
	check "their device goes, the address comes later" removal_event on_server one_address_later
	check "umount listeners" removal_end
	check "nfsd stops while they look for their device" on_server one_address_stop
	check "mount after that" removal_mount
}

suite_removal_while() {
	check "client: removal while a mount connects" removal_mounting on_server away_link
	check "server: removal while a mount connects" removal_mounting on_client on_server away_link
	check "client: removal while an umount runs" removal_umounting away_link
	check "server: removal while an umount runs" removal_umounting on_server away_link
	removal_begin proto=rdma,port=20049
	[ -n "$REMOVAL_JOBS" ] || return 0
	check "server: removal while nfsd stops" removal_event on_server away_nfsd
	check "umount removal while" removal_end
}

# A client that lost its power says no farewell, and its devices count their queue pairs
# from the beginning again: the server still has a connection with such a queue pair,
# refuses the new one for that, and ends the old one. A mount succeeds nevertheless. The
# first queue pair of a new device is the same each time.
stale_mount() {
	local t0=$SECONDS lines
	lines=$(dmesg | grep -c 'peer still has a stale connection' || :)
	mount_nfs vers=3
	echo "$((SECONDS - t0)) s; $(dmesg | grep rpcrdma: | tail -n 1)"
	[ "$(dmesg | grep -c 'peer still has a stale connection')" = $((lines + 1)) ]
	stat $MNT/stale
}
suite_stale() {
	check "a new device" away_link
	check "mount" mount_nfs vers=3
	mountpoint -q $MNT || return 0
	check "a file" touch $MNT/stale
	check "the cable is out" cable_gone
	check "the mount is given up" umount -f -l $MNT
	check "the device counts from the beginning" away_link
	check "the cable is in" cable_back
	check "mount where the server has a connection from before" stale_mount
	check "umount stale" umount_nfs
}

CONNECT_TIMEOUT=/proc/sys/sunrpc/rdma_connect_timeout

# The server does not come back, and the mount is given up: while its transport waits for
# the next attempt to connect, twenty seconds by then, and while one is under way, which
# has two minutes
deserted_clients() { [ "$(grep -c side=client /proc/net/rpcrdma/connections)" = "$1" ]; }
deserted_waits() {
	wait_for 120 none_live
	for ((i = 0; i < 3; i++)); do
		wait_for 60 deserted_clients 1
		wait_for 60 deserted_clients 0
	done
}
# Whose address nobody has to ask for
deserted_neighbour() {
	local mac
	mac=$(ip neigh show $SERVER dev eth0 | sed -n 's/.*lladdr \([^ ]*\).*/\1/p')
	ip neigh replace $SERVER lladdr "$mac" dev eth0 nud permanent
}
deserted_connecting() { grep -q 'side=client state=connecting' /proc/net/rpcrdma/connections; }
deserted_attempts() {
	wait_for 120 none_live
	wait_for 60 deserted_connecting
}
deserted_free() { [ "$(cat /sys/module/rpcrdma/refcnt)" = 0 ]; }
deserted_umount() {
	local t0=$SECONDS
	umount -f -l $MNT
	wait_for 8 deserted_free
	echo "$((SECONDS - t0)) s"
}
# deserted_case WHEN CONDITION TIMEOUT: of an attempt
deserted_case() {
	echo "$3" >$CONNECT_TIMEOUT
	# rxe may fail without a word (cut_by_loss): then the RPC ends the connection in time
	check "mount, to be deserted $1" mount_nfs vers=3,timeo=100
	mountpoint -q $MNT || return 0
	check "the server's address stays known" deserted_neighbour
	check "the cable is out for good" cable_gone
	stat $MNT/deserted &
	check "nobody answers: $1" "$2"
	check "umount $1 is not held up" deserted_umount
	wait "$!" || :
	check "the cable is back" cable_back
	ip neigh del $SERVER dev eth0
}
suite_deserted() {
	deserted_case "between attempts" deserted_waits 5
	deserted_case "during an attempt" deserted_attempts 120
	echo 20 >$CONNECT_TIMEOUT
	check "mount after that" mount_nfs vers=3
	check "umount after that" umount_nfs
}
