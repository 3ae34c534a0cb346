#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Loading the module runs its KUnit suites; the kernel's log has what they say.
# One result per case, and one per failed row of a case that is a table.
. /test/guest.sh

# From KTAP in the log: "ok SUITE.CASE (N rows)", "not ok SUITE.CASE ROW: why".
# debugfs has the same, but cuts a suite off after 512 octets in Linux 6.1.
kunit_results() {
	dmesg | sed -E 's/^\[[^]]*\] ?//' | awk '
		function flush_rows() { rows = 0; why = "" }
		/^ +# Subtest: / {
			depth = match($0, /[^ ]/) - 1
			if (depth <= 4) suite = $NF
			flush_rows(); next
		}
		/^ +# .*(EXPECTATION|ASSERTION) FAILED at / { sub(/^ +# /, ""); why = why $0 " "; more = 3; next }
		/^ {8,}(not )?ok [0-9]+ / {
			rows++
			if ($1 == "not") { sub(/^ +not ok [0-9]+ (- )?/, ""); bad[++nbad] = $0 ": " why; why = "" }
			next
		}
		/^ {4}(not )?ok [0-9]+ / {
			ok = ($1 == "ok")
			name = $0; sub(/^ +(not )?ok [0-9]+ (- )?/, "", name)
			skipped = sub(/ # SKIP.*/, "", name)
			for (i = 1; i <= nbad; i++) print "not ok " suite "." name " " bad[i]
			if (ok) print "ok " suite "." name (rows ? " (" rows " rows)" : "") (skipped ? " (skipped)" : "")
			else if (!nbad) print "not ok " suite "." name ": " why
			nbad = 0; more = 0; flush_rows(); next
		}
		/^(not )?ok [0-9]+ / { suites++; next }
		more-- > 0 { sub(/^ +/, ""); why = why $0 " " }
		END { print "suites " suites + 0 }'
}

report() {
	local kind text suites=0
	while read -r kind text; do
		case $kind in
		ok) pass "$text" ;;
		not) fail "${text#ok }" ;;
		suites) suites=$text ;;
		esac
	done < <(kunit_results)
	# A suite that never ran, or never ended, would go unnoticed.
	check "all ${KUNIT_SUITES:-3} suites ran" test "$suites" -ge "${KUNIT_SUITES:-3}"
}

load_transport
report
unload_transport
check_log_clean
finish
