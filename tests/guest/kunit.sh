#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Loading the module runs its KUnit suites; the kernel's log has what they say.
# One result per case, and one per failed row of a case that is a table.
. /test/guest.sh

# From KTAP in the log: "ok SUITE.CASE (N rows)", "not ok SUITE.CASE ROW: why".
# A suite's lines are indented by 4, its cases' rows by 8. (debugfs has the same,
# but cuts a suite off after 512 octets in Linux 6.1.) For mawk, which knows no
# {n} in expressions.
kunit_results() {
	dmesg | sed -E 's/^\[[^]]*\] ?//' | awk '
		{ depth = match($0, /[^ ]/) - 1; text = substr($0, depth + 1) }
		text ~ /^# Subtest: / {
			if (depth == 4) suite = substr(text, 12)
			rows = 0; why = ""; next
		}
		text ~ /^# .*(EXPECTATION|ASSERTION) FAILED at / { why = why substr(text, 3) " "; more = 3; next }
		text !~ /^(not )?ok [0-9]+/ { if (more-- > 0) why = why text " "; next }
		{
			good = text ~ /^ok /
			name = text
			sub(/^(not )?ok [0-9]+ (- )?/, "", name)
			skipped = sub(/ # SKIP.*/, "", name)
			more = 0
		}
		depth >= 8 {
			rows++
			if (!good) { bad[++nbad] = " " name ": " why; why = "" }
			next
		}
		depth == 4 {
			for (i = 1; i <= nbad; i++) print "not ok " suite "." name bad[i]
			if (good) print "ok " suite "." name (rows ? " (" rows " rows)" : "") (skipped ? " (skipped)" : "")
			else if (!nbad) print "not ok " suite "." name ": " why
			nbad = 0; rows = 0; why = ""; cases++; next
		}
		# One whose init fails has no case
		!good { print "not ok " name " as a whole: it failed" }
		!cases { print "not ok " name " as a whole: it has no case" }
		{ suites++; cases = 0 }
		END { print "suites " suites + 0 }'
}

report() {
	local kind text suites=0 cases=0
	while read -r kind text; do
		case $kind in
		ok) pass "$text"; cases=$((cases + 1)) ;;
		not) text=${text#ok }; fail "${text%%: *}" "${text#*: }"; cases=$((cases + 1)) ;;
		suites) suites=$text ;;
		esac
	done < <(kunit_results)
	check "every suite has cases" test $cases -ge "$suites"
	# A suite that never ran, or never ended, would go unnoticed.
	check "all ${KUNIT_SUITES:-9} suites ran" test "$suites" -ge "${KUNIT_SUITES:-9}"
}

load_transport
report
unload_transport
check_log_clean
finish
