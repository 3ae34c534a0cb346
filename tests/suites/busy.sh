# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# One connection that is as busy as it can be leaves another one, and processes that only
# compute, their part. A process on the other connection must do half as many GETATTRs as one of
# those on the busy one does RPCs; it does more than that. On each processor of both guests a
# process computes: the transport works in softirqs and threads, and must leave it a part of the
# processor. Both are shares, because times in a guest say nothing. BUSY_SECONDS (20) is how long
# each load lasts.

BUSY_OTHER=/other
# Percent of a processor, while softirqs, threads and the processes of the load want it, too
BUSY_SHARE=10

# busy_ticks PID: processor time of a process, in 1/100 s
busy_ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; }

busy_hogs_begin() {
	local cpu pid
	rm -f /run/busy.hogs
	for ((cpu = 0; cpu < $(nproc); cpu++)); do
		taskset -c $cpu bash -c 'while :; do :; done' </dev/null >/dev/null 2>&1 &
		pid=$!
		echo "$pid $(awk '{ print $1 * 100 }' /proc/uptime) $(busy_ticks $pid)" >>/run/busy.hogs
	done
}

# Ends them; fails if one of them had less than its share. Leaves all in /run/busy.shares
busy_hogs_end() {
	local pid since before share rc=0
	: >/run/busy.shares
	while read -r pid since before; do
		share=$(awk -v since="$since" -v ticks=$(($(busy_ticks "$pid") - before)) \
			'{ printf "%d", 100 * ticks / ($1 * 100 - since) }' /proc/uptime)
		kill -9 "$pid"
		printf '%s%% ' "$share" | tee -a /run/busy.shares
		[ "$share" -ge $BUSY_SHARE ] || rc=1
	done </run/busy.hogs
	return $rc
}

# busy_both OPERATION PROCESSES: what they do, and what one does on the other connection
busy_both() {
	local busy other rc=0
	timeout -k 5 120 rpcops "$1" $MNT "${BUSY_SECONDS:-20}s" "$2" >/run/busy.busy &
	timeout -k 5 120 rpcops getattr $BUSY_OTHER "${BUSY_SECONDS:-20}s" 1 >/run/busy.other || rc=1
	wait $! || rc=1
	[ $rc = 0 ]
	read -r busy _ </run/busy.busy
	read -r other _ </run/busy.other
	echo "$busy operations by $2 processes, $other by one on the other connection"
	[ $((other * 2 * $2)) -ge "$busy" ]
}

busy_case() {
	local of="$1 by $2 processes"
	on_server busy_hogs_begin >/dev/null
	busy_hogs_begin
	check "$of: the other connection has its part" busy_both "$1" "$2"
	check "$of: the client's processors have time" busy_hogs_end
	check "$of: the server's processors have time" on_server busy_hogs_end
	info "$of: $(cat /run/busy.busy) (operations, seconds), on the other connection $(cat /run/busy.other)"
	info "$of: client's processors $(cat /run/busy.shares), server's $(on_server "cat /run/busy.shares")"
}

# Two transports: sessions of NFSv4.1 and NFSv3 do not share one
busy_mounted() { [ "$(grep -c 'side=client state=live' /proc/net/rpcrdma/connections)" = 2 ]; }

# Guests: -c 2 -t 600
suite_busy() {
	on_server "iocheck write -l 16m -b 1m -t $EXPORT/bench" >/dev/null
	check "mount the busy one" mount_nfs vers=4.1,lookupcache=none
	check "mount the other one" mount_nfs vers=3,lookupcache=none $BUSY_OTHER
	check "two connections" busy_mounted
	busy_case getattr 32
	busy_case getattr 128
	busy_case write64k 32
	busy_case read64k 32
	check "umount the other one" umount_nfs $BUSY_OTHER
	check "umount the busy one" umount_nfs
}
