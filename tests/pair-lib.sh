# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# For groups that run guest/pair.sh in two guests, or a script in one. Sourced; wants TESTS of
# lib.sh, and OUT, where each run gets a directory.

# pair NAME SERVER CLIENT [options of vm/run]: a GUEST without its script
pair() {
	local name=${1:?} server=$2 client=$3
	shift 3
	echo "# $name: booting server $server, client $client"
	rm -rf "${OUT:?}/$name"
	mkdir -p "$OUT/$name"
	: >"$OUT/$name/log" # or follow_results may be there first
	"$TESTS/vm/run" -t 1500 -d "$OUT/$name" -a "$TESTS/suites=/test/suites" "$@" \
		"$server,$TESTS/guest/pair.sh" "$client,$TESTS/guest/pair.sh" >"$OUT/$name/log" 2>&1 &
	follow_results "$name" $!
}

# single NAME GUEST [options of vm/run]
single() {
	local name=${1:?} guest=$2
	shift 2
	echo "# $name: booting $guest"
	rm -rf "${OUT:?}/$name"
	mkdir -p "$OUT/$name"
	: >"$OUT/$name/log" # or follow_results may be there first
	"$TESTS/vm/run" -t 700 -d "$OUT/$name" "$@" "$guest" >"$OUT/$name/log" 2>&1 &
	follow_results "$name" $! "the guest"
}

# Results as they come; a run that ends badly is a failure by itself.
follow_results() {
	local name=$1 pid=$2 who=${3:-both guests} rc
	tail -n +1 -f --pid="$pid" "$OUT/$name/log" |
		sed -u -nE -e "s/^(server|client|single): (ok|not ok) /\2 $name \1: /p" -e "s/^(server|client|single): info /# $name \1: /p"
	wait "$pid"
	rc=$?
	if [ $rc = 0 ]; then
		echo "ok $name $who ended well"
	else
		echo "not ok $name $who ended well: status $rc, see $name/log"
	fi
}

# capture NAME [options of check-capture]: verdicts on the wire of a pair
capture() {
	local name=$1 found
	shift
	found=$("$TESTS/wire/check-capture" "$@" "$OUT/$name/wire.pcap" | sed -E "s/^(ok|not ok) /\1 $name /")
	printf '%s\n' "$found"
	# For whoever looks into a failure only: it is large
	printf '%s\n' "$found" | grep -q '^not ok' || rm -f "$OUT/$name/wire.pcap"
}
