# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Guests of a group or of one test. Sourced; its user sets OUT, where each run gets a
# directory. Results go to standard output as tests/run wants them.

# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

# boot NAME WHO [arguments of vm/run]: results as they come; a run that ends badly is a
# failure by itself
boot() {
	local name=$1 who=$2 rc
	shift 2
	rm -rf "${OUT:?}/$name"
	mkdir -p "$OUT/$name"
	: >"$OUT/$name/log" # tail may be there first
	"$TESTS/vm/run" -d "$OUT/$name" "$@" >"$OUT/$name/log" 2>&1 &
	tail -n +1 -f --pid=$! "$OUT/$name/log" |
		sed -u -nE -e "s/^(server|client|single): (ok|not ok) /\2 $name \1: /p" -e "s/^(server|client|single): info /# $name \1: /p"
	wait $!
	rc=$?
	if [ $rc = 0 ]; then
		echo "ok $name $who ended well"
	else
		echo "not ok $name $who ended well: status $rc, see $name/log"
	fi
}

# pair NAME SERVER CLIENT [options of vm/run]: guest/pair.sh in two guests, KERNEL,MODULE each
pair() {
	local name=${1:?} server=$2 client=$3
	shift 3
	echo "# $name: booting server $server, client $client"
	boot "$name" "both guests" -t 1500 -a "$TESTS/suites=/test/suites" "$@" \
		"$server,$TESTS/guest/pair.sh" "$client,$TESTS/guest/pair.sh"
	status_agrees "$name"
}

# status_agrees NAME: rpcrdma-top reads what the guests of a pair saved of /proc/net/rpcrdma
status_agrees() {
	local role found
	for role in server client; do
		grep -q "ok status for rpcrdma-top, $role$" "$OUT/$1/log" || continue
		if found=$("$TESTS/tools/run" --agrees "$OUT/$1/$role.out" 2>&1); then
			echo "ok $1 $role: rpcrdma-top agrees with /proc/net/rpcrdma"
		else
			echo "not ok $1 $role: rpcrdma-top agrees with /proc/net/rpcrdma: $(tail -n 1 <<<"$found")"
		fi
	done
}

# single NAME GUEST [options of vm/run]
single() {
	local name=${1:?} guest=$2
	shift 2
	echo "# $name: booting $guest"
	boot "$name" "the guest" -t 700 "$@" "$guest"
}

# wire NAME SCRIPT [options of it]: verdicts of wire/SCRIPT on the capture of a pair
wire() {
	local name=$1 script=$2 found
	shift 2
	found=$("$TESTS/wire/$script" "$@" "$OUT/$name/wire.pcap" || echo "not ok wire/$script: status $?")
	found=$(sed -E "s/^(ok|not ok) /\1 $name /" <<<"$found")
	printf '%s\n' "$found"
	# A failure needs it to be understood; it is large
	printf '%s\n' "$found" | grep -q '^not ok' || rm -f "$OUT/$name/wire.pcap"
}

# badserver_cases 0|1: cases of a bad server for our client in "make check", a half for each of
# two kernels; tests/soak has all on each. Every fourth case; the one in which nothing is wrong;
# three that need an order of events which is rare by itself; one that reached for memory of the
# client. In one of the halves each case of version 2, and those that alone show a rule of
# conformance.rst.
badserver_cases() {
	(cd "$TESTS/peer/server" && LC_ALL=C && printf '%s\n' *.rules) | awk -v half="$1" '
		{ sub(/\.rules$/, "") }
		NR % 4 == 2 * half || /^(honest|error-awake|reply-frozen|reverse-end|write-immediate)$/ ||
			/^(v2-.*|chunk-lengths|reverse-first)$/ && NR % 2 && NR % 4 == 1 + 2 * half'
}
