# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# What test scripts in a guest use; see tests/vm/README.rst. A script begins with
#
#	. /test/guest.sh
#
# and ends with "finish". In between any command that fails ends the guest at
# once with its line and text; "check" and "fail" record a failure and go on.
#
# Set by tests/vm/run: ROLE (server, client, single), KERNEL, MODULE, RELEASE,
# PEER_KERNEL, PEER_MODULE, LIMIT (seconds), and what was given with -e.

SERVER=10.0.0.1
# shellcheck disable=SC2034
SERVER6=fd00::1
EXPORT=/export
MNT=/mnt
RESULT_FD=7
PEER_FD=8

# ---- reporting ---------------------------------------------------------------

result() {
	printf '%s\n' "$*" >&$RESULT_FD
	printf 'RESULT %s\n' "$*"
}
pass() { result "ok $1"; }
fail() {
	touch /run/failed
	result "not ok $1: ${2:-failed}"
}
info() { result "info $*"; }

# An assertion by name: passes if the command succeeds. The command runs in a
# subshell with errexit, its output is shown only if it fails.
check() {
	local name=$1 errtrap out probe
	shift
	out=$(mktemp /run/check.XXXXXX)
	errtrap=$(trap -p ERR)
	trap - ERR
	set +e
	probe=$(set -e; false; echo lost)
	try "$@" >"$out" 2>&1
	eval "$errtrap"
	# Below an "if", "||" or "!" bash goes on after a command that failed, whatever is set
	[ -z "$probe" ] || die "check \"$name\" where errexit does not hold"
	if [ $STATUS = 0 ]; then
		pass "$name"
	else
		awk -v name="$name" '{ print name ": " $0 }' "$out" | tail -n 40
		fail "$name" "status $STATUS: $(grep . "$out" | tail -n 1 || :)"
	fi
	rm -f "$out"
	return 0
}

# try COMMAND…: sets STATUS. Errexit holds within COMMAND, which it does not in
# "COMMAND || rc=$?".
try() {
	set +e
	(
		set -e
		"$@"
	)
	STATUS=$?
	set -e
}

# Ends the guest as failed, from wherever it is called, subshells included.
die() {
	trap - ERR EXIT
	result "not ok ${0##*/}: $*"
	touch /run/failed
	echo 1 >/run/finished
	guest_end failure
}

# The last line of a script. Without a status: success if nothing failed.
finish() {
	local status=${1:-}
	trap - ERR EXIT
	[ -n "$status" ] || { status=0; [ ! -e /run/failed ] || status=1; }
	echo "$status" >/run/finished
	exit "$status"
}

# fails COMMAND…: what must not succeed. "! COMMAND" would not end a check:
# errexit overlooks it wherever it is not the last.
fails() {
	if "$@"; then
		echo "it succeeds, of all things: $*"
		return 1
	fi
}

# A file that the host shall find in the run directory, under ROLE.out/.
save_file() {
	mkdir -p /run/out
	cp -r "$1" "/run/out/${2:-${1##*/}}"
}

# ---- waiting -----------------------------------------------------------------

# nap SECONDS: reads from a pipe without a writer. A loop around "sleep" starts a process each
# time, and keeps an emulated guest busy.
nap() { read -rt "$1" _ <>/run/nap || :; }

# wait_for SECONDS COMMAND…: until it succeeds; fails when it never does.
wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		nap 0.1
	done
}

# The two guests talk through a virtio-serial port that does not care about the
# network's state: a signal is a name and perhaps a value, and stays raised. A guest that
# had to be started again has heard nothing of what was sent to it before, and asks.
peer_signal() { printf '%s\n' "$*" | tee -a /run/peer.sent >&$PEER_FD; }

# peer_wait NAME [SECONDS]: prints the value that came with it.
peer_wait() {
	wait_for "${2:-90}" test -e "/run/peer/$1" || die "no signal \"$1\" from the peer in ${2:-90} s"
	cat "/run/peer/$1"
}

peer_reader() {
	printf 'again\n' >&$PEER_FD
	# The port has an end when the other guest is started again, and goes on with that
	until peer_hear; do nap 0.2; done
}
peer_hear() {
	local name value
	while read -r name value; do
		case $name in
		abort)
			result "info the other guest failed: ending"
			guest_end failure
			;;
		again)
			[ ! -e /run/peer.sent ] || cat /run/peer.sent >&$PEER_FD
			;;
		*)
			printf '%s\n' "$value" >"/run/peer/.$name"
			mv "/run/peer/.$name" "/run/peer/$name"
			;;
		esac
	done <&$PEER_FD
	return 1
}

# ---- boot and end (used by init) ---------------------------------------------

guest_boot() {
	local dir
	mkdir -p /dev/pts /dev/shm /dev/virtio-ports /run/peer /run/lock /run/rpcbind
	mount -t tmpfs -o mode=755 run /run && mkdir -p /run/peer /run/lock /run/rpcbind /run/out
	mkfifo /run/nap
	mount -t tmpfs -o mode=1777 shm /dev/shm
	mount -t devpts devpts /dev/pts 2>/dev/null
	mount -t debugfs debugfs /sys/kernel/debug
	mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
	ln -sf /proc/self/fd /dev/fd
	chown 101 /run/rpcbind
	modprobe -a virtio_pci virtio_console || return
	guest_ports || return
	modprobe configfs 2>/dev/null
	mount -t configfs configfs /sys/kernel/config 2>/dev/null
	hostname "$ROLE"
	if [ "$(uname -r)" != "$RELEASE" ]; then
		result "not ok boot: this is $(uname -r), the modules are for $RELEASE"
		return 1
	fi
	if [ "$(nproc)" != "$CPUS" ]; then
		result "not ok boot: $(nproc) processors, not $CPUS"
		return 1
	fi
	modprobe virtio_net || return
	# No module in 7.2
	modprobe -q ipv6 || [ -e /proc/net/if_inet6 ] || return
	guest_network || { result "not ok boot: no network"; return 1; }
	ulimit -l unlimited
	ulimit -c 0
	[ -e "/dev/virtio-ports/peer" ] || return 0
	peer_reader &
}

# Ports have numbers in /dev and names in sysfs; udev would link them. The
# driver announces them one by one. A port can be opened once only: init opens
# those that everyone writes to, and everyone inherits them.
guest_ports() {
	wait_for 20 guest_link_ports || return
	eval "exec $RESULT_FD>/dev/virtio-ports/results" || return
	[ ! -e /dev/virtio-ports/peer ] || eval "exec $PEER_FD<>/dev/virtio-ports/peer"
}

guest_link_ports() {
	local port
	for port in /sys/class/virtio-ports/*; do
		[ -s "$port/name" ] || continue
		ln -sf "../${port##*/}" "/dev/virtio-ports/$(cat "$port/name")"
	done
	for port in status results out ${HAVE_PEER:+peer}; do
		[ -c "/dev/virtio-ports/$port" ] || return 1
	done
}

guest_network() {
	ip link set lo up || return
	[ -n "$HAVE_PEER" ] || return 0
	wait_for 20 test -e /sys/class/net/eth0 || return
	sysctl -q -w net.ipv6.conf.eth0.accept_dad=0 net.ipv6.conf.eth0.accept_ra=0
	# The kernel's default may drop packets that a slow host leaves in the queue: known-issues.rst
	sysctl -q -w net.core.default_qdisc=pfifo_fast
	ip link set eth0 mtu 4200 txqueuelen 10000 up || return
	case $ROLE in
	server) ip addr add 10.0.0.1/24 dev eth0 && ip addr add fd00::1/64 dev eth0 nodad ;;
	*) ip addr add 10.0.0.2/24 dev eth0 && ip addr add fd00::2/64 dev eth0 nodad ;;
	esac
}

job_ended() { ! kill -0 "$1"; }

# What waits, and for what, a line each. To read one of these may hang as well.
guest_waits() {
	local dir stat frame
	grep -hs . /proc/net/rpcrdma/connections
	grep -hs 'a:' /sys/kernel/debug/sunrpc/rpc_clnt/*/tasks
	grep -hs 'xprt:' /proc/self/mountstats
	rdma resource show qp
	grep -s . /sys/class/infiniband/*/ports/1/hw_counters/* | sed 's|.*/||' | paste -sd' '
	dmesg | tail -n 12 | cut -c1-200
	for dir in /proc/[0-9]*; do
		read -r stat <"$dir/stat" || continue
		[[ $stat == *") D "* ]] || continue
		printf '%s' "${stat%%)*})"
		while read -r _ frame; do printf ' %s' "${frame%%+*}"; done <"$dir/stack"
		echo
	done
}

# Before the host's limit ends everything without a word: what hangs, and where.
guest_watchdog() {
	local line up
	read -r up _ </proc/uptime
	up=$((LIMIT - LIMIT / 10 - 5 - ${up%.*}))
	sleep $((up > 5 ? up : 5))
	result "not ok time: $LIMIT s are over"
	guest_waits >/run/waits 2>&1 &
	wait_for 10 job_ended $! || :
	head -n 60 /run/waits | while IFS= read -r line; do info "$line"; done
	echo 7 >/proc/sys/kernel/printk
	echo w >/proc/sysrq-trigger
	echo l >/proc/sysrq-trigger
	ps -eo pid,stat,wchan:32,args
	guest_end failure
}

guest_end() {
	dmesg >/run/out/dmesg
	tar -cf - -C /run/out . >/dev/virtio-ports/out 2>/dev/null
	# Nobody reads that any more if the other guest has ended, and the port is full at once
	[ "$1" = success ] || [ -z "${HAVE_PEER:-}" ] ||
		timeout 5 bash -c "printf 'abort\n' >&$PEER_FD"
	echo "$1" >/dev/virtio-ports/status
	# Not a tidy shutdown: after a failure it might hang. The emulator ends
	# where a machine would reboot (a power button it has not, without ACPI).
	echo b >/proc/sysrq-trigger
	while :; do sleep 60; done
}

# ---- RDMA --------------------------------------------------------------------

rxe_active() { rdma link show "$1/1" | grep -q 'state ACTIVE'; }

# rxe_up [NETDEV [NAME]]
rxe_up() { rdma_up rxe "${1:-eth0}" "${2:-rxe0}"; }

# siw_up [NETDEV [NAME]]: iWARP over TCP, which only our own kernels have
siw_up() { rdma_up siw "${1:-eth0}" "${2:-siw0}"; }

# rdma_up TYPE NETDEV NAME
rdma_up() {
	local type=$1 netdev=$2 name=$3 driver=$1
	[ "$type" != rxe ] || driver=rdma_rxe
	modprobe -a ib_core ib_uverbs rdma_cm rdma_ucm "$driver" || die "no $type in this kernel"
	mkdir -p /dev/infiniband
	rdma link add "$name" type "$type" netdev "$netdev"
	wait_for 10 rxe_active "$name" || die "$type over $netdev does not become active"
	guest_rdma_nodes
}

# User-space verbs find their devices in /dev/infiniband, where udev puts them.
guest_rdma_nodes() {
	local dev major minor
	for dev in /sys/class/infiniband_verbs/uverbs* /sys/class/misc/rdma_cm; do
		[ -e "$dev/dev" ] || continue
		IFS=: read -r major minor <"$dev/dev"
		[ -e "/dev/infiniband/${dev##*/}" ] ||
			mknod "/dev/infiniband/${dev##*/}" c "$major" "$minor"
	done
}

# Server and client in one guest, on the same address.
one_guest_veth() {
	modprobe veth
	ip link add veth0 type veth peer name veth1
	sysctl -q -w net.ipv6.conf.veth0.accept_dad=0 net.ipv6.conf.veth1.accept_dad=0
	ip link set veth1 mtu 4200 up
	ip link set veth0 mtu 4200 up
	ip addr add 10.0.0.1/24 dev veth0
	ip addr add fd00::1/64 dev veth0 nodad
	rxe_up veth0
}

# The module this guest was given, and no other.
load_transport() {
	local file
	[ "$MODULE" != none ] || die "this guest has no transport module"
	modprobe rpcrdma "$@" || die "rpcrdma does not load: $(dmesg | tail -n 3 | tr '\n' ' ')"
	file=$(modinfo -F filename rpcrdma)
	case $MODULE,$file in
	stock,*/updates/*) die "the stock module was asked for, $file is loaded" ;;
	stock,*) ;;
	*,*/updates/*) ;;
	*) die "our module was asked for, $file is loaded" ;;
	esac
}

unload_transport() { rmmod rpcrdma || die "rmmod: $(lsmod | grep '^rpcrdma')"; }

# module_sysctl NAME [VALUE]: of the module, below /proc/sys/sunrpc; without VALUE the one that
# it had before the first call
module_sysctl() {
	local was=/run/module_sysctl.${1//\//.}
	[ -e "$was" ] || cat "/proc/sys/sunrpc/$1" >"$was"
	echo "${2:-$(cat "$was")}" >"/proc/sys/sunrpc/$1"
}

# inline_sizes [SIZE]: the client's inline thresholds; without SIZE the defaults
inline_sizes() {
	module_sysctl rdma_max_inline_read "${1:-}"
	module_sysctl rdma_max_inline_write "${1:-}"
}

# After the module has gone no queue pair, region or connection may remain.
# What "rdma resource show" still lists then is of rxe's GSI queue pair alone.
rdma_leftovers() {
	rdma resource show mr
	rdma resource show cm_id
	rdma resource show srq 2>/dev/null || :
	rdma resource show qp | grep -v 'type GSI' || :
}
check_rdma_clean() { check "${1:-no RDMA resource left}" test -z "$(rdma_leftovers)"; }

# ---- NFS ---------------------------------------------------------------------

# server_up [VERSION…]: without any, 3 4.0 4.1 4.2. Knobs, as variables:
#   NFSD_THREADS=4  NFSD_BLOCK (max_block_size)  NFSD_GRACE=10 (seconds)
#   NFSD_RDMA=20049 (port; empty: TCP only)  NFSD_END_GRACE=y  NFSD_OPTS
#   EXPORT_OPTS=rw,no_root_squash,insecure,no_subtree_check,fsid=1
server_up() {
	local port=${NFSD_RDMA-20049}
	[ "$MODULE" != none ] || port=
	server_export
	server_rpcbind
	modprobe nfsd
	mountpoint -q /proc/fs/nfsd || mount -t nfsd nfsd /proc/fs/nfsd
	server_tracking
	[ -z "${NFSD_BLOCK:-}" ] || echo "$NFSD_BLOCK" >/proc/fs/nfsd/max_block_size
	exportfs -ar
	# shellcheck disable=SC2046,SC2086
	rpc.nfsd $(server_versions "$@") --grace-time "${NFSD_GRACE:-10}" \
		${port:+--rdma=$port} ${NFSD_OPTS:-} "${NFSD_THREADS:-4}" ||
		die "rpc.nfsd failed"
	[ -z "$port" ] || grep -q "^rdma.* $port$" /proc/fs/nfsd/portlist ||
		die "no rdma listener: $(tr '\n' ';' </proc/fs/nfsd/portlist)"
	server_mountd
	[ "${NFSD_END_GRACE-y}" != y ] || server_end_grace
}

# rpc.mountd watches and reads what nfsd tells of its clients, to log it. nfsd of 6.1 may use freed
# memory then (Documentation/known-issues.rst), and KASAN reports no more than one fault.
server_mountd() {
	mount -t tmpfs none /proc/fs/nfsd/clients
	rpc.mountd --no-udp ${MOUNTD_OPTS:-}
	wait_for 20 rpcinfo -t 127.0.0.1 mountd || die "rpc.mountd does not answer"
	umount /proc/fs/nfsd/clients
}

# lockd has a grace period of its own, without which nfsd gives no delegation
server_end_grace() {
	local file
	for file in /proc/fs/nfsd/v4_end_grace /proc/fs/lockd/nlm_end_grace; do
		# Refused where version 4 is not served, and by 7.2 soon after the start (EBUSY)
		! echo Y >$file 2>/dev/null || wait_for 10 grep -q Y $file || die "$file says N"
	done
}

server_export() {
	mkdir -p $EXPORT
	mountpoint -q $EXPORT || mount -t tmpfs -o size=75%,mode=777 export $EXPORT
	echo "$EXPORT *(${EXPORT_OPTS:-rw,no_root_squash,insecure,no_subtree_check,fsid=1})" >/etc/exports
}

server_rpcbind() {
	modprobe sunrpc
	mountpoint -q /var/lib/nfs/rpc_pipefs || mount -t rpc_pipefs rpc_pipefs /var/lib/nfs/rpc_pipefs
	pidof rpcbind >/dev/null || rpcbind
	wait_for 20 rpcinfo -p 127.0.0.1 || die "rpcbind does not answer"
}

# Which clients may reclaim state: the kernel starts nfsdcltrack itself, where there is one
server_tracking() {
	[ ! -e /usr/sbin/nfsdcltrack ] || return 0
	pidof nfsdcld >/dev/null || nfsdcld -p /var/lib/nfs/rpc_pipefs
}

server_versions() {
	local v
	[ $# -gt 0 ] || set -- 3 4.0 4.1 4.2
	case " $* " in *" 3 "*) printf '%s ' -V 3 ;; *) printf '%s ' -N 3 ;; esac
	case " $* " in *" 4"*) printf '%s ' -V 4 ;; *) printf '%s ' -N 4; return ;; esac
	for v in 4.0 4.1 4.2; do
		case " $* " in *" $v "*) printf '%s ' -V $v ;; *) printf '%s ' -N $v ;; esac
	done
}

server_down() {
	rpc.nfsd 0
	wait_for 30 server_threads_gone || die "nfsd threads stay"
	killall rpc.mountd 2>/dev/null || :
	exportfs -au
}
server_threads_gone() { [ "$(cat /proc/fs/nfsd/threads)" = 0 ] && ! pidof nfsd; }

# mount_nfs OPTIONS [DIR [SERVER]]: proto=rdma,port=20049 unless OPTIONS name a
# proto; NFSv3 without lock daemon unless they say "lock".
mount_nfs() {
	local opts=$1 dir=${2:-$MNT} server=${3:-$SERVER}
	case ,$opts, in *,proto=*) ;; *) opts=proto=rdma,port=20049,$opts ;; esac
	case ,$opts, in *,lock,*) client_statd ;; *,vers=3,*) opts=$opts,nolock ;; esac
	case $server in *:*) server="[$server]" ;; esac
	# It may leave the first message on a connection where it is: Documentation/known-issues.rst
	[ "${RDMA_TYPE:-rxe}" != siw ] || opts=timeo=100,$opts
	mkdir -p "$dir"
	timeout -k 5 "${MOUNT_LIMIT:-60}" mount -t nfs -o "retry=0,$opts" "$server:$EXPORT" "$dir"
}

client_statd() {
	server_rpcbind
	pidof rpc.statd >/dev/null || rpc.statd --no-notify
}

umount_nfs() { timeout -k 5 60 umount "${1:-$MNT}"; }

# ---- the kernel's log --------------------------------------------------------

LOG_TROUBLE='WARNING:|BUG:|BUG |Oops|general protection fault|Call Trace:|KASAN|UBSAN|possible circular locking|possible recursive locking|inconsistent lock state|suspicious RCU usage|held lock freed|bad unlock balance|INFO: task .* blocked|rcu.*stall|kmemleak: [0-9]+ new|ODEBUG|refcount_t:|list_(add|del) corruption|scheduling while atomic|sleeping function called|Restarted|leaked|still in use|unable to handle|soft lockup'

# ib_mad destroys its queue pair before it ends the handler of its completions, which posts
# a Receive for each management datagram that came: when a device goes at that moment rxe of
# 6.12 warns. See Documentation/known-issues.rst. Of a Receive that we post it must go on to warn.
# No more is left out than its two lines: what another processor says meanwhile is looked at.
without_mads() {
	awk 'function flush() {
			if (all ~ /ib_mad_recv_done[+]/ && all !~ /\[rpcrdma\]/ && all ~ /end trace/)
				printf "%s", rest
			else
				printf "%s", all
			all = rest = ""
		}
		/cut here/ { flush(); open = 1; posted = 0 }
		!open { print; next }
		{ all = all $0 "\n" }
		/WARNING: .* rxe_post_recv[+]/ { posted = 1; next }
		posted && /Call Trace:/ { posted = 0; next }
		{ rest = rest $0 "\n" }
		/end trace/ { flush(); open = posted = 0 }
		END { flush() }'
}

# log_trouble: the lines that no test may cause. Whoever must tolerate one sets
# LOG_TOLERATE to an expression for it, and says why. KCSAN reports races between
# others as well: they are not the module's. A log that has forgotten its beginning may have
# forgotten anything.
log_trouble() {
	dmesg | awk 'NR == 1 && !/Linux version/ { print "the log begins with: " $0 }'
	dmesg | without_mads | grep -E "$LOG_TROUBLE" | grep -vE "${LOG_TOLERATE:-^$}" |
		awk '!/BUG: KCSAN/ || /\[rpcrdma\]/' || :
}

check_log_clean() {
	local name=${1:-log clean} bad line
	kmemleak_scan
	bad=$(log_trouble)
	if [ -z "$bad" ]; then
		pass "$name"
	else
		printf '%s\n' "$bad"
		# What it is about, for whoever has the results only
		dmesg | grep -F -m 1 -A 30 -e "${bad%%$'\n'*}" | while IFS= read -r line; do info "$line"; done || :
		fail "$name" "$(printf '%s\n' "$bad" | head -n 1)"
	fi
}

# kmemleak_trouble FILE: the objects that no test may leak, each with its lines. Whoever must
# tolerate some sets KMEMLEAK_TOLERATE to an expression for their backtraces, and says why;
# what was allocated below our module is never tolerated.
kmemleak_trouble() {
	awk -v known="${KMEMLEAK_TOLERATE:-^$}" '
		function end_of_object() {
			if (object != "" && (object !~ known || object ~ /\[rpcrdma\]/))
				printf "%s", object
			object = ""
		}
		/^unreferenced/ { end_of_object() }
		{ object = object $0 "\n" }
		END { end_of_object() }' "$1"
}

# An object counts as leaked when two scans five seconds apart do not find it.
# Two scans take most of a minute under emulation: once per boot, at its end.
kmemleak_scan() {
	local file=/sys/kernel/debug/kmemleak
	[ -e $file ] && [ "${KMEMLEAK-y}" = y ] || return 0
	# It switches itself off where it has no memory
	echo scan >$file || { fail kmemleak "it does not scan"; return; }
	sleep 5.5
	echo scan >$file
	cat $file >/run/out/kmemleak
	kmemleak_trouble /run/out/kmemleak >/run/kmemleak
	if [ -s /run/kmemleak ]; then
		head -n 40 /run/kmemleak
		fail kmemleak "$(grep -c '^unreferenced' /run/kmemleak) objects: $(grep -m1 comm /run/kmemleak)"
		return
	fi
	pass kmemleak
	if [ -s /run/out/kmemleak ]; then
		info "kmemleak: $(grep -c '^unreferenced' /run/out/kmemleak) objects tolerated: $KMEMLEAK_TOLERATE"
		LOG_TOLERATE="${LOG_TOLERATE:+$LOG_TOLERATE|}kmemleak: [0-9]+ new"
	fi
}

# ---- for scripts, not for init -----------------------------------------------

if [ $$ != 1 ] && [ -z "${INTERACTIVE:-}" ]; then
	. /test/env
	set -eEuo pipefail
	trap 'die "line $LINENO: $BASH_COMMAND (status $?)"' ERR
	[ -z "${VERBOSE:-}" ] || set -x
fi
