# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Our client against a server that does one thing wrong: the proxy of tests/peer/src
# stands before the real nfsd, and each rule file in tests/peer/server is a
# case. tests/peer/README.rst explains the words in a rule file.
#
# BADSERVER names the cases (default: all); LOOPS says how often the connection
# is cut in those that cut it (default 20).

BAD_PORT=20050
BAD_RULES=/test/peer/server
# A mount of the good server, beside all cases but those that take the wire down, or what
# acknowledges
BAD_BESIDE=/run/beside

# ---- on the server -----------------------------------------------------------

proxy_gone() { ! kill -0 "$(cat /run/proxy.pid)"; }
proxy_kill() {
	[ -e /run/proxy.pid ] || return 0
	kill -9 "$(cat /run/proxy.pid)" 2>/dev/null || :
	wait_for 10 proxy_gone
	rm /run/proxy.pid
}
proxy_start() {
	[ ! -e /run/proxy.log ] || sed "s/^/proxy: /" /run/proxy.log
	proxy_kill
	cp "$BAD_RULES/$1.rules" /run/proxy.rules
	: >/run/proxy.log
	proxy -p $BAD_PORT -s "${LOOPS:-20}" -o /run/proxy.report /run/proxy.rules </dev/null >>/run/proxy.log 2>&1 &
	echo $! >/run/proxy.pid
	wait_for 20 grep -q listening /run/proxy.log || { cat /run/proxy.log; return 1; }
}
proxy_count() { grep -c "$1" /run/proxy.log || :; }
proxy_has() { [ "$(proxy_count "$1")" -ge "${2:-1}" ]; }
proxy_wait() { wait_for "${2:-30}" proxy_has "$1"; }
proxy_release() { kill -USR1 "$(cat /run/proxy.pid)"; }
proxy_release_oldest() { kill -USR2 "$(cat /run/proxy.pid)"; }
# Begins another case, and prints the report of the one before
proxy_rules() {
	sed 's/^/proxy: /' /run/proxy.log
	cp "$BAD_RULES/$1.rules" /run/proxy.rules
	: >/run/proxy.log
	kill -HUP "$(cat /run/proxy.pid)"
	proxy_wait 'rules read' 10
	cat /run/proxy.report
}

bad_files() {
	local i
	iocheck write -l 128k -b 64k -t $EXPORT/file
	iocheck write -l 4095 -b 64k $EXPORT/odd
	iocheck write -l 3001 -b 64k $EXPORT/part
	iocheck write -l 2m -b 64k $EXPORT/large
	mkdir -p $EXPORT/many $EXPORT/few
	mkdir -p $EXPORT/dir.{1,2,3}
	for i in {1..200}; do : >"$EXPORT/many/a-rather-long-name-for-a-file-$i"; done
	: >$EXPORT/few/one
}

# ---- loads: what the client does meanwhile -------------------------------------

bad_load_none() { :; }
bad_load_read() { iocheck read -l 64k -b 8k -d $MNT/file; }
# As many READs as the case has frames instead of their Replies
bad_load_each_fails() {
	local i n
	n=$(grep -c ' frame instead ' "$BAD_RULES/$BAD_CASE.rules")
	for ((i = 1; i <= n; i++)); do
		! dd if=$MNT/file of=/run/none bs=8192 count=1 iflag=direct status=none 2>/run/why ||
			{ echo "READ $i went well"; return 1; }
		grep -q 'Input/output error' /run/why || { echo "READ $i:"; cat /run/why; return 1; }
	done
}
bad_load_write() {
	iocheck write -l 64k -b 8k -d -t $MNT/out
	drop_caches
	iocheck verify -l 64k -b 8k -d $MNT/out
}
# A READ of 8192 octets that finds 4095
bad_load_odd() {
	dd if=$MNT/odd of=/run/odd bs=8192 iflag=direct status=none
	iocheck verify -l 4095 /run/odd
}
# WRITEs and READs of 8191 octets, and a text of 4001
bad_load_unaligned() {
	iocheck write -l 65528 -b 8191 -d -t $MNT/unaligned
	drop_caches
	iocheck verify -l 65528 -b 8191 -d $MNT/unaligned
	bad_symlink
}
bad_symlink() {
	local target
	target=$(printf %04001d 7)
	rm -f $MNT/link
	ln -s "$target" $MNT/link
	drop_caches
	[ "$(readlink $MNT/link)" = "$target" ]
}
# READs 1 and 2 have 64 KiB, 3 to 18 have 8
bad_load_compare() {
	iocheck verify -l 128k -b 64k -d $MNT/file
	iocheck verify -l 128k -b 8k -d $MNT/file
}
# A READ of 8192 octets that finds 3001: they fit inline
bad_load_part() {
	dd if=$MNT/part of=/run/part bs=8192 iflag=direct status=none
	iocheck verify -l 3001 /run/part
}
# Of one process, all at once: as many READs as the mount's rsize makes of it
bad_load_flood() { iocheck verify -l 2m -b 2m -d $MNT/large; }
# The same, and the Replies come while nothing runs here but what receives packets: no
# Receive is posted anew before all of them are here.
bad_load_burst() {
	local job cpu ready=burst.$EPOCHREALTIME
	bad_load_flood &
	job=$!
	on_server "wait_for 20 proxy_has held 30"
	on_server "{ peer_wait $ready 60; proxy_release; } >/dev/null 2>&1 &"
	rm -f /run/hog.*
	trap bad_calm EXIT
	sysctl -qw kernel.sched_rt_runtime_us=-1
	bad_watchdogs 0
	bad_softirqs -f -p 2
	for ((cpu = 1; cpu < $(nproc); cpu++)); do bad_hog_beside $cpu & done
	for ((cpu = 1; cpu < $(nproc); cpu++)); do wait_for 10 test -e /run/hog.$cpu; done
	(
		taskset -pc 0 $BASHPID
		chrt -f -p 1 $BASHPID
		bad_hog 38 "$ready"
	)
	touch /run/hog.end
	wait_job $job
}
# To it softirqs go when there are many
bad_softirqs() {
	local pid
	for pid in $(ps -eo pid=,comm= | awk '$2 ~ /^ksoftirqd/ { print $1 }'); do chrt "$@" "$pid"; done
}
bad_calm() {
	touch /run/hog.end
	sysctl -qw kernel.sched_rt_runtime_us=950000
	bad_watchdogs 30
	bad_softirqs -o -p 0
}
# What a server that is slow takes may be longer than RCU, and the watchdog of workqueues,
# take for a fault of who runs here
bad_watchdogs() {
	local parameter=/sys/module/rcupdate/parameters/rcu_cpu_stall_suppress
	[ ! -e $parameter ] || echo $(($1 == 0)) >$parameter
	parameter=/sys/module/workqueue/parameters/watchdog_thresh
	[ ! -e $parameter ] || echo "$1" >$parameter
}
# Says that it is there, and is until so many packets have come
bad_hog() {
	local n before packets=/sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_pkts t0=$SECONDS
	read -r before <$packets
	peer_signal "$2"
	while read -r n <$packets && [ $n -lt $((before + $1)) ]; do
		[ $((SECONDS - t0)) -lt 90 ] || { echo "$((n - before)) packets have come"; return 1; }
	done
}
# The same on another processor
bad_hog_beside() {
	local t0=$SECONDS
	taskset -pc "$1" $BASHPID
	: >"/run/hog.$1"
	chrt -f -p 1 $BASHPID
	until [ -e /run/hog.end ] || [ $((SECONDS - t0)) -ge 100 ]; do :; done
}
# SETACL is a Long Call
bad_load_acl() {
	: >$MNT/acl
	sizes_acl_entries | setfacl -M - $MNT/acl
	bad_load_read
}
# busybox's ls says nothing of a directory that it cannot read
bad_load_list() {
	local n
	n=$(ls $MNT/many | wc -l)
	echo "$n names"
	[ "$n" = 200 ]
}
bad_load_list_read() {
	bad_load_list
	bad_load_read
}
bad_load_list_fails() { [ "$(ls $MNT/many | wc -l)" != 200 ]; }
bad_load_list_few() { [ "$(ls $MNT/few)" = one ]; }
bad_load_stat() { for _ in {1..10}; do stat $MNT/file; done; }
bad_load_parallel() {
	local i jobs=()
	for i in {1..4}; do
		iocheck read -l 64k -b 8k -d $MNT/file &
		jobs+=($!)
		iocheck write -l 32k -b 8k -d -t "$MNT/out.$i" &
		jobs+=($!)
	done
	for i in "${jobs[@]}"; do wait "$i" || return 1; done
	for i in {1..4}; do iocheck verify -l 32k -b 8k -d "$MNT/out.$i"; done
}
bad_load_crowd() {
	local i jobs=()
	for i in {1..64}; do
		iocheck read -l 8k -b 8k -d $MNT/file &
		jobs+=($!)
	done
	for i in "${jobs[@]}"; do wait "$i" || return 1; done
}

bad_said() { [ "$(dmesg | grep -c "$1")" -gt "$2" ]; }
bad_load_closed() {
	local before text="client $SERVER:$BAD_PORT on .*: connection lost: peer closed it with RPCs outstanding (-104)"
	before=$(dmesg | grep -c "$text" || :)
	bad_load_parallel
	bad_said "$text" "$before"
}

# Sends of the client's are not acknowledged. A callback has its place until the Send of
# its Reply is complete, so that none becomes free.
bad_acknowledge() { nft delete table ip bad_acks 2>/dev/null || :; }
bad_load_no_room() {
	local job before text="server exceeded its callback credits"
	before=$(dmesg | grep -c "$text" || :)
	trap bad_acknowledge EXIT
	nft "add table ip bad_acks; add chain ip bad_acks in { type filter hook input priority 0; };
		add rule ip bad_acks in udp dport 4791 @th,64,8 17 drop"
	bad_load_read &
	job=$!
	wait_for 30 bad_said "$text" "$before"
	bad_acknowledge
	wait_job $job
}

# Reads until Replies to five callbacks came too late for the connection, and were not sent:
# of each kind of loss
bad_callback_probe() {
	echo 'r:reverse/reply xprt_rdma_bc_send_reply status=$retval:s32' >>$BAD_PROBES
	mkdir $BAD_REVERSE
	echo 'status == -107' >$BAD_REVERSE/events/reverse/reply/filter
	echo 1 >$BAD_REVERSE/events/reverse/reply/enable
}
bad_callback_unprobe() {
	set +e
	echo 0 >$BAD_REVERSE/events/reverse/reply/enable
	rmdir $BAD_REVERSE
	echo '-:reverse/reply' >>$BAD_PROBES
}
bad_load_callback_lost() {
	local rounds=0 unsent=0
	trap bad_callback_unprobe EXIT
	bad_callback_probe
	while [ $rounds -lt 3 ] || [ $unsent -lt 5 ]; do
		bad_load_read
		rounds=$((rounds + 1))
		unsent=$(grep -c 'status=-107' $BAD_REVERSE/trace || :)
	done
	echo "$rounds rounds, $unsent Replies could not be sent"
}

# The threads for callbacks stand still from before the session ends, with the last of the
# clients that they are for, until its end waits for them.
bad_load_unserved() {
	local pid job
	bad_load_read
	trap 'set +e; bad_freezer_end' EXIT
	bad_freezer_begin
	for pid in $(ps -eo pid=,comm= | awk '/NFSv4 callback/ { print $1 }'); do
		echo "$pid" >$BAD_FREEZER/frozen/tasks
	done
	[ -n "$pid" ]
	bad_freeze FROZEN
	(bad_umount) &
	job=$!
	wait_for 20 bad_stops_callbacks
	bad_freeze THAWED
	wait_job $job
	trap - EXIT
	bad_freezer_end
	wait_for 20 rmmod rpcrdma
	load_transport
	bad_mount
}
bad_stops_callbacks() { grep -qw nfs_callback_down /proc/[0-9]*/stack 2>/dev/null; }

# A mount whose first message is not answered
bad_load_raise() {
	local job
	bad_umount
	on_server "proxy_rules $BAD_CASE" >/dev/null
	(bad_mount) &
	job=$!
	on_server "proxy_wait held"
	echo 60 >/proc/sys/sunrpc/rdma_version_timeout
	wait_for 20 job_ended $job
	wait_job $job
	bad_load_read
}

# COMMAND never gets its answer and is killed; the answer comes afterwards.
bad_kill() {
	local job
	"$@" &
	job=$!
	on_server "proxy_wait held"
	kill -9 $job
	wait_for 15 job_ended $job
	on_server "proxy_release"
	iocheck read -l 64k -b 8k -d $MNT/file
}
bad_load_kill_read() { bad_kill iocheck read -l 64k -b 8k -d $MNT/file; }
bad_load_kill_list() { bad_kill ls $MNT/many; }
bad_load_kill_stat() { bad_kill stat $MNT/few/one; }
# umount -f ends what is in flight; the mount itself stays, because it is in use.
bad_force() { umount -f $MNT || job_ended "$1"; }
bad_load_force() {
	local job
	exec 9<$MNT
	iocheck read -l 64k -b 8k -d $MNT/file &
	job=$!
	on_server "proxy_wait held"
	wait_for 15 bad_force $job
	mountpoint -q $MNT
	on_server "proxy_release"
	iocheck read -l 64k -b 8k -d $MNT/file
}

# Verified I/O until the connection was cut LOOPS times.
bad_load_cuts() {
	local round=0
	while [ "$(on_server "proxy_count killed")" -lt "${LOOPS:-20}" ]; do
		round=$((round + 1))
		iocheck write -l 512k -b 64k -s $round -y -t $MNT/cut
		iocheck write -l 128k -b 8k -s $round -d -t $MNT/cut.d
		drop_caches
		iocheck verify -l 512k -b 64k -s $round $MNT/cut
		iocheck verify -l 128k -b 8k -s $round -d $MNT/cut.d
		bad_load_list
	done
	echo "$round rounds"
}

# The server is killed in the middle and comes back a little later.
bad_load_restart() {
	local i job
	(
		for i in 1 2 3; do
			iocheck write -l 256k -b 8k -s "$i" -d -t $MNT/restart
			iocheck verify -l 256k -b 8k -s "$i" -d $MNT/restart
		done
	) &
	job=$!
	sleep 0.5
	on_server "proxy_start $BAD_CASE"
	wait_for 100 job_ended $job
	wait $job
}

# RPC of the procedure PROC waits in the queue QUEUE of the transport's
bad_waits() { grep -qE " $1 .* q:xprt_$2\$" /sys/kernel/debug/sunrpc/rpc_clnt/*/tasks; }

# The Call of REMOVE has no chunk, and a READ is in flight
bad_load_no_chunk() {
	local job
	: >$MNT/gone
	bad_load_read &
	job=$!
	on_server "proxy_wait held"
	unlink $MNT/gone
	wait_job $job
}

# Two READDIRs, whose answers are held, have most of the MRs that there may be, and a third
# does not get all it needs. It is killed: what needs no MR goes on meanwhile.
bad_load_starve() {
	local i jobs=() killed before grown=/sys/kernel/tracing/instances/starve
	before=$(bad_sum reg_mrs)
	echo 'p:starve/grow xprt_rdma_mrs_grow' >>/sys/kernel/tracing/kprobe_events
	mkdir $grown
	# shellcheck disable=SC2064 # $grown is local
	trap "rmdir $grown; echo '-:starve/grow' >>/sys/kernel/tracing/kprobe_events" EXIT
	echo 1 >$grown/events/starve/enable
	for i in 1 2; do
		ls $MNT/dir.$i &
		jobs+=($!)
		on_server "wait_for 20 proxy_has held $i"
	done
	ls $MNT/dir.3 &
	killed=$!
	wait_for 20 bad_waits "READDIR(PLUS)?" sending
	echo "$(($(bad_sum reg_mrs) - before)) MRs of $(bad_sum mrs)"
	[ "$(bad_sum reg_mrs)" -ge $((before + $(bad_sum mrs) - 2)) ]
	kill -9 $killed
	wait_for 15 job_ended $killed
	# Before the RPC timeout ends the connection, and with it all waiting
	timeout -k 1 30 stat -f $MNT
	# Not in vain, while there are as many as there may be
	cat $grown/trace
	[ "$(grep -c ' grow: ' $grown/trace)" -le 2 ]
	on_server "proxy_release"
	for i in "${jobs[@]}"; do wait "$i" || return 1; done
}

# Both credits are in use, and whoever has one is killed: it comes back with the late Reply,
# while the other does not. Who waits for a credit has it then.
bad_load_late() {
	local killed other waits
	stat $MNT/few/one &
	killed=$!
	on_server "wait_for 20 proxy_has held 1"
	stat $MNT/many/a-rather-long-name-for-a-file-1 &
	other=$!
	on_server "wait_for 20 proxy_has held 2"
	stat -f $MNT &
	waits=$!
	wait_for 20 bad_waits FSSTAT sending
	kill -9 $killed
	wait_for 15 job_ended $killed
	bad_waits FSSTAT sending
	on_server "proxy_release_oldest"
	wait_for 20 job_ended $waits
	wait_job $waits
	fails job_ended $other
	on_server "proxy_release"
	wait_job $other
}

# The wire is down and the connection gone: who sends something begins to connect, who
# sends something then waits for the send lock. Who calls puts the wire together again.
bad_unconnected() { ! grep -q 'side=client state=live' /proc/net/rpcrdma/connections; }
bad_unconnect() {
	# ACCESS, which the next LOOKUP would ask for
	fails stat $MNT/nobody
	cut_by_sysfs
	wait_for 20 bad_unconnected
	wire_down
}

# What waits for the send lock is a process that runs as soon as it is woken, even before
# that returns who wakes it, where there is one processor and the kernel can be preempted.
# It sends its Call, and sleeps; nobody wakes it for the new connection then.
bad_load_at_once() {
	local first second
	BAD_WAS=$(bad_preemption)
	bad_unconnect
	trap 'wire_up; bad_preempt $BAD_WAS' EXIT
	bad_preempt full
	stat -f $MNT &
	first=$!
	wait_for 20 bad_waits FSSTAT pending
	chrt -f 1 stat $MNT/odd &
	second=$!
	wait_for 20 bad_waits LOOKUP sending
	# Its Call would be the first, and there is one credit
	kill -9 $first
	wait_for 20 job_ended $first
	wire_up
	trap 'bad_preempt $BAD_WAS' EXIT
	on_server "proxy_wait held"
	on_server "proxy_release"
	wait_job $second
}
# Debian's kernels can change it, others are of one kind
BAD_PREEMPTION=/sys/kernel/debug/sched/preempt
bad_preemption() {
	if [ -e $BAD_PREEMPTION ]; then
		sed 's/.*(\([a-z]*\)).*/\1/' $BAD_PREEMPTION
	else
		uname -v | grep -qw PREEMPT && echo full
	fi
}
bad_preempt() { [ ! -e $BAD_PREEMPTION ] || echo "$1" >$BAD_PREEMPTION; }

# A process that is frozen is woken for the new connection and does not run: its RPC is not
# asleep when an error comes for it. It ends at once all the same, and is not sent again when
# the process goes on. Frozen it is where it waits, as it would be for a suspend.
BAD_FREEZER=/run/freezer
BAD_PROBES=/sys/kernel/tracing/kprobe_events
BAD_TRACE=/sys/kernel/tracing/instances/awake
BAD_REVERSE=/sys/kernel/tracing/instances/reverse
bad_load_awake() {
	local frozen other
	bad_freezer_begin
	echo 'p:awake/complete xprt_complete_rqst octets=%si:s32' >>$BAD_PROBES
	mkdir $BAD_TRACE
	trap bad_awake_end EXIT
	bad_unconnect
	# shellcheck disable=SC2016 # that of the shell that becomes stat
	bash -c 'echo $$ >'$BAD_FREEZER'/frozen/cgroup.procs; exec stat '$MNT/odd &
	frozen=$!
	wait_for 20 bad_waits LOOKUP pending
	bad_freeze FROZEN
	# It gets the send lock, and sends for the other as well
	stat -f $MNT &
	other=$!
	wait_for 20 bad_waits FSSTAT sending
	echo >$BAD_TRACE/trace
	echo 1 >$BAD_TRACE/events/awake/enable
	wire_up
	wait_job $other
	wait_for 20 bad_awake_ended
	echo 0 >$BAD_TRACE/events/awake/enable
	bad_freeze THAWED
	wait_job $frozen
}
# However it ended
bad_awake_end() {
	set +e
	wire_up 2>/dev/null
	echo 0 >$BAD_TRACE/events/awake/enable
	rmdir $BAD_TRACE
	echo '-:awake/complete' >>$BAD_PROBES
	bad_freezer_end
}
bad_freezer_begin() {
	mkdir -p $BAD_FREEZER
	mount -t cgroup -o freezer freezer $BAD_FREEZER
	mkdir $BAD_FREEZER/frozen
}
bad_freezer_end() {
	echo THAWED >$BAD_FREEZER/frozen/freezer.state
	# Not while somebody is still in it
	wait_for 20 rmdir $BAD_FREEZER/frozen
	umount $BAD_FREEZER
}
bad_freeze() {
	echo "$1" >$BAD_FREEZER/frozen/freezer.state
	wait_for 20 grep -qx "$1" $BAD_FREEZER/frozen/freezer.state
}
# A process is frozen while its Reply comes, and another one needs the credit
bad_load_frozen() {
	local frozen
	trap 'set +e; bad_freezer_end' EXIT
	bad_freezer_begin
	# shellcheck disable=SC2016 # that of the shell that becomes stat
	bash -c 'echo $$ >'$BAD_FREEZER'/frozen/cgroup.procs; exec stat '$MNT/odd &
	frozen=$!
	on_server "proxy_wait held"
	bad_freeze FROZEN
	on_server "proxy_release"
	timeout 20 stat -f $MNT
	bad_freeze THAWED
	wait_job $frozen
}
# Only an RPC that ends in an error has no octets
bad_awake_ended() { grep -q ' complete: .* octets=0$' $BAD_TRACE/trace; }

# ---- a case ------------------------------------------------------------------

# Without other programs: in an emulated guest each one costs more than a Call
bad_lines() {
	local line
	while IFS= read -r line; do
		[[ ! $line =~ ^$2[[:space:]]+(.*)$ ]] || printf '%s\n' "${BASH_REMATCH[1]}"
	done <"$BAD_RULES/$1.rules"
}
bad_options() {
	local more version=vers=3,
	more=$(bad_lines "$1" mount | tr '\n' ,)
	case $more in *vers=*) version= ;; esac
	echo "proto=rdma,port=$BAD_PORT,${version}timeo=100,rsize=65536,wsize=65536${more:+,${more%,}}"
}

# bad_compare WHAT ACTUAL OPERATOR WANTED
bad_compare() {
	local ok=
	case $3 in
	=) [ "$2" -eq "$4" ] && ok=y ;;
	'>=') [ "$2" -ge "$4" ] && ok=y ;;
	'<=') [ "$2" -le "$4" ] && ok=y ;;
	*) echo "no operator: $3"; return 1 ;;
	esac
	[ -n "$ok" ] || { echo "$1 is $2, not $3 $4"; return 1; }
}

# Those through the proxy; bad_sum KEY. Those that agreed upon something ("yes") count one
bad_connections() { grep ":$BAD_PORT " /proc/net/rpcrdma/connections || :; }
bad_sum() { bad_connections | tr ' ' '\n' | awk -F= -v k="$1" '$1 == k { s += $2 == "yes" ? 1 : $2 } END { print s + 0 }'; }

bad_key() { [[ ! " $2" =~ [[:space:]]$1=([0-9]+) ]] || echo "${BASH_REMATCH[1]}"; }

# What a case does not mention must be so: everything went through, the client
# sent no bad header, no error, no chunk that is not an item of its Call, never more than
# it was granted, its device was closed, and whatever it sent in the reverse direction was
# what the Call of that XID gets.
bad_expect_peer() {
	local report=$1 kind key op n
	bad_compare "bad_calls" "$(bad_key bad_calls "$report")" = 0
	bad_compare "exceeded" "$(bad_key exceeded "$report")" = 0
	bad_compare "bad_chunks" "$(bad_key bad_chunks "$report")" = 0
	bad_compare "trespassed" "$(bad_key trespassed "$report")" = 0
	# A Requester sends no RDMA_ERROR, but of what the server called back
	grep -qE '^expect peer reverse_(errors|invals) ' "$BAD_RULES/$BAD_CASE.rules" ||
		bad_compare "reverse_errors" "$(bad_key reverse_errors "$report")" = 0
	bad_compare "reverse_wrong" "$(bad_key reverse_wrong "$report")" = 0
	[ -z "$(bad_lines "$BAD_CASE" on)" ] ||
		bad_compare "deviations" "$(bad_key deviations "$report")" '>=' 1
	while read -r kind key op n; do
		[ "$kind" = peer ] || continue
		bad_compare "$key" "$(bad_key "$key" "$report")" "$op" "$n"
	done < <(bad_lines "$BAD_CASE" expect)
}

bad_expect_client() {
	local kind key op n
	while read -r kind key op n; do
		case $kind in
		client) bad_compare "$key" "$(bad_since "$key")" "$op" "$n" ;;
		device) bad_compare "$key" $(($(device_count "$key") - $(bad_key "$key" "$BAD_DEVICE"))) "$op" "$n" ;;
		connects) bad_compare connects $(($(connects) - $(bad_key connects "$BAD_BEFORE") + 1)) "$key" "$op" ;;
		esac
	done < <(bad_lines "$BAD_CASE" expect)
}

# Counters go on from case to case, those of a connection while it does, those of a transport
# as long as the mount; what a case says of them, and of connects, is from its beginning.
bad_remember() {
	local key
	BAD_BEFORE="connects=$(connects) $(bad_connections)" BAD_DEVICE=
	for key in $(bad_lines "$BAD_CASE" 'expect device' | cut -d' ' -f1); do
		BAD_DEVICE+=" $key=$(device_count "$key")"
	done
}
bad_since() {
	local before=0
	case $1 in
	inline_send | inline_recv | version | remote_inv) ;;
	bad_replies | local_inv_needed | callbacks) before=$(bad_key "$1" "$BAD_BEFORE") ;;
	*) [ "$(connects)" != "$(bad_key connects "$BAD_BEFORE")" ] || before=$(bad_key "$1" "$BAD_BEFORE") ;;
	esac
	echo $(($(bad_sum "$1") - ${before:-0}))
}

# bad_bounded SECONDS COMMAND…: fails when it does not end; its status is in
# BAD_STATUS. Not to be called where errexit is off: the command is then without.
bad_bounded() {
	local limit=$1 job t0=$SECONDS
	shift
	BAD_STATUS=0
	(set -e; "$@") >/run/bad.out 2>&1 &
	job=$!
	if ! wait_for "$limit" job_ended $job; then
		cat /run/bad.out
		echo "$1 still runs after $((SECONDS - t0)) s"
		return 1
	fi
	wait $job || BAD_STATUS=$?
	cat /run/bad.out
}

# expect load fails TEXT; expect within SECONDS
bad_run_load() {
	local load limit text
	load=$(bad_lines "$BAD_CASE" load)
	limit=$(bad_lines "$BAD_CASE" 'expect within')
	text=$(bad_lines "$BAD_CASE" 'expect load fails')
	# It is for 20 cuts
	[ "$load" != cuts ] || limit=$((limit * ${LOOPS:-20} / 20))
	bad_bounded "${limit:-25}" "bad_load_${load:-read}"
	[ -n "$text" ] || return $BAD_STATUS
	[ $BAD_STATUS != 0 ] || { echo "the load did not fail"; return 1; }
	grep -q "$text" /run/bad.out
}

# Four WRITEs, four READs
bad_verify() {
	iocheck write -l 32k -b 8k -s 7 -d -t $MNT/after
	iocheck verify -l 32k -b 8k -s 7 -d $MNT/after
}

# Cases follow each other on one mount, but for those that are about its beginning
bad_is_fresh() { grep -qE '^(mount|connection|version|slots|inline) ' "$BAD_RULES/$BAD_CASE.rules"; }
bad_umount() { ! mountpoint -q $MNT || umount_nfs; }

# The client's thresholds
bad_inline() {
	[ ! -e /proc/sys/sunrpc/rdma_max_inline_read ] || {
		echo "$1" >/proc/sys/sunrpc/rdma_max_inline_read
		echo "$1" >/proc/sys/sunrpc/rdma_max_inline_write
	}
}

# The version that the client asks for, if it can, and how long it waits for an
# answer
bad_mount() {
	local version slots inline
	version=$(bad_lines "$BAD_CASE" version)
	slots=$(bad_lines "$BAD_CASE" slots)
	inline=$(bad_lines "$BAD_CASE" inline)
	if [ -e /proc/sys/sunrpc/rdma_max_version ]; then
		echo "${version:-1}" >/proc/sys/sunrpc/rdma_max_version
		# Only who waits for it needs it soon
		case $BAD_CASE in
		v2-silent*) echo 2 >/proc/sys/sunrpc/rdma_version_timeout ;;
		*) echo 60 >/proc/sys/sunrpc/rdma_version_timeout ;;
		esac
	fi
	[ ! -e $SLOTS_ENTRIES ] || echo "${slots:-128}" >$SLOTS_ENTRIES
	bad_inline "${inline:-4096}"
	mount_nfs "$(bad_options "$BAD_CASE")"
	bad_inline 4096
	[ ! -e $SLOTS_ENTRIES ] || echo 128 >$SLOTS_ENTRIES
}

bad_case() {
	local report pad
	! bad_is_fresh || bad_umount
	# The case before may have taken the connection away with its last Reply
	! mountpoint -q $MNT || stat -f $MNT
	on_server "proxy_rules $BAD_CASE"
	mountpoint -q $MNT || bad_mount
	pad=$(bad_lines "$BAD_CASE" pad-optimize)
	echo "${pad:-1}" >/proc/sys/sunrpc/rdma_pad_optimize
	drop_caches
	bad_remember
	bad_run_load
	bad_bounded 60 bad_verify
	[ $BAD_STATUS = 0 ]
	cat /proc/net/rpcrdma/connections
	bad_expect_client
	! bad_is_fresh || bad_umount
	report=$(on_server "proxy_rules honest")
	echo "$report"
	bad_expect_peer "$report"
	touch /run/bad.well
}

# A server that a client cannot even begin with
bad_mount_fails() {
	local t0=$SECONDS report
	bad_umount
	on_server "proxy_rules $BAD_CASE"
	! mount_nfs "$(bad_options "$BAD_CASE"),soft,retrans=1" >/run/why 2>&1 || { echo "mounted"; return 1; }
	cat /run/why
	grep -qF -- "$(bad_lines "$BAD_CASE" 'expect mount-error')" /run/why || { echo "mount says something else"; return 1; }
	bad_compare "seconds" $((SECONDS - t0)) '<=' 40
	report=$(on_server "proxy_rules honest")
	echo "$report"
	bad_expect_peer "$report"
	touch /run/bad.well
}

# Whatever became of a case, the next one finds nothing of it.
bad_begin_anew() {
	local _
	for _ in 1 2 3 4 5; do
		mountpoint -q $MNT || break
		umount $MNT 2>/dev/null || umount -f $MNT 2>/dev/null || sleep 0.5
	done
	! mountpoint -q $MNT || umount -l $MNT
	on_server "proxy_start honest" >/dev/null
}

# Verified I/O on a mount of the good server, which must not notice anything
bad_beside_connects() {
	awk -v on="$BAD_BESIDE" '/ mounted on / { here = $5 == on }
		here && /xprt:.*rdma/ { s += $5 } END { print s + 0 }' /proc/self/mountstats
}
bad_beside_begin() {
	! mountpoint -q $BAD_BESIDE || return 0
	check "mount beside bad servers" mount_nfs vers=4.2 $BAD_BESIDE
	BAD_BESIDE_BEFORE=$(bad_beside_connects)
	MNT=$BAD_BESIDE peer_bystander &
}
bad_beside_undisturbed() {
	touch /run/bystander.stop
	wait_for 60 test -e /run/bystander.rc
	echo "status $(cat /run/bystander.rc), $(cat /run/bystander.passes) passes, connects $BAD_BESIDE_BEFORE -> $(bad_beside_connects)"
	[ "$(cat /run/bystander.rc)" = 0 ]
	[ "$(cat /run/bystander.passes)" -ge 1 ]
	[ "$BAD_BESIDE_BEFORE" -ge 1 ]
	[ "$(bad_beside_connects)" = "$BAD_BESIDE_BEFORE" ]
}
bad_beside_end() {
	mountpoint -q $BAD_BESIDE || return 0
	check "the mount beside bad servers was not disturbed" bad_beside_undisturbed
	check "umount beside bad servers" umount_nfs $BAD_BESIDE
}
# Some take the wire down, drop Acknowledgements of all, or count all packets; or the last
# client goes
bad_beside() {
	case $(bad_lines "$BAD_CASE" load) in
	at_once | awake | burst | no_room | unserved) bad_beside_end ;;
	*) bad_beside_begin ;;
	esac
}

# What a case needs and this kernel does not have
bad_lacks() {
	[ "$(bad_lines "$BAD_CASE" needs)" = freezer ] && ! grep -q '^freezer' /proc/cgroups
}

# Whoever names a case wants it to run
bad_names() {
	local name
	for name in $BADSERVER; do
		[ -e "$BAD_RULES/$name.rules" ] || { echo "there is no case $name"; return 1; }
	done
}

# Guests: -a "$TESTS/peer=/test/peer"
suite_badserver() {
	local file
	[ -z "${BADSERVER:-}" ] || check "cases of badserver" bad_names
	on_server "bad_files" >/dev/null
	# Behind the proxy is a server that takes either version
	on_server version_server 2 >/dev/null
	bad_begin_anew
	for file in "$BAD_RULES"/*.rules; do
		BAD_CASE=$(basename "$file" .rules)
		case " ${BADSERVER:-$BAD_CASE} " in *" $BAD_CASE "*) ;; *) continue ;; esac
		! bad_lacks || { info "badserver $BAD_CASE: this kernel has no freezer"; continue; }
		rm -f /run/bad.well
		bad_beside
		if [ "$(bad_lines "$BAD_CASE" 'expect mount')" = fails ]; then
			check "badserver $BAD_CASE" bad_mount_fails
		else
			check "badserver $BAD_CASE" bad_case
		fi
		[ -e /run/bad.well ] || bad_begin_anew
	done
	bad_beside_end
	check "umount badserver" bad_umount
	on_server "proxy_kill" >/dev/null
	on_server version_server 1 >/dev/null
}

# ---- the module's own comings and goings ------------------------------------------

reload_loop() {
	local i
	for ((i = 0; i < ${LOOPS:-20}; i++)); do
		wait_for 20 rmmod rpcrdma
		load_transport
		[ $((i % 10)) != 0 ] || { mount_nfs vers=3; umount_nfs; }
	done
}
reload_refused() {
	mount_nfs vers=3
	fails rmmod rpcrdma
	lsmod | grep -q '^rpcrdma'
	iocheck write -l 64k -b 8k -d -t $MNT/refused
	iocheck verify -l 64k -b 8k -d $MNT/refused
	umount_nfs
}
suite_reload() {
	check "rmmod with a mount is refused" reload_refused
	check "rmmod and modprobe, ${LOOPS:-20} times" reload_loop
}
