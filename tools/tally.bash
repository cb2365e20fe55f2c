# tally.bash — sourced by tools/test, tools/check and tools/parity: runs steps, times them and counts the passed ones.
#
#   step NAME COMMAND…          runs the command and counts it as one; prints its output if it fails
#   suite NAME BUILD [ARGUMENT…]  runs ctest in BUILD with these arguments. Each cmocka test counts as one, and so does a
#                               program without cmocka tests. A crash counts as at least one failure
#   finish                      prints the last line, "N passed, N failed", and sets the exit status

passed=0 failed=0
tally_log=$(mktemp)
trap 'rm -f "$tally_log"' EXIT

# Tests flush many small files. On a disk this takes half of their time, so use memory if there is enough.
if [ -z "${TMPDIR:-}" ] && [ -w /dev/shm ] &&
	[ "$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1)" -gt 1000000 ]; then
	export TMPDIR=/dev/shm
fi

tally_line() { # VERDICT NAME NOTE SINCE
	local ms=$(((${EPOCHREALTIME/[.,]/} - $4) / 1000))
	printf '%-4s %-58s %s%s%d.%d s\n' "$1" "$2" "$3" "${3:+, }" $((ms / 1000)) $((ms % 1000 / 100))
}

step() {
	local name=$1 since=${EPOCHREALTIME/[.,]/}
	shift
	if "$@" >"$tally_log" 2>&1 </dev/null; then
		passed=$((passed + 1))
		tally_line ok "$name" "" "$since"
	else
		failed=$((failed + 1))
		tally_line FAIL "$name" "" "$since"
		tail -n 60 "$tally_log" | sed 's/^/     | /'
		return 1
	fi
}

suite() {
	local name=$1 build=$2 since=${EPOCHREALTIME/[.,]/} counts good bad
	shift 2
	ctest --test-dir "$build" --parallel "${JOBS:-$(nproc)}" --no-tests=error -V "$@" \
		>"$tally_log" 2>&1 </dev/null || true
	counts=$(awk '
		match($0, /^[0-9]+: .*\[  PASSED  \] [0-9]+ test/) { split($0, id, ":"); n = $0
			sub(/.*\[  PASSED  \] /, "", n); good[id[1]] += n + 0 }
		match($0, /^[0-9]+: .*\[  FAILED  \] [0-9]+ test\(s\)/) { split($0, id, ":"); n = $0
			sub(/.*\[  FAILED  \] /, "", n); bad[id[1]] += n + 0 }
		/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / { n = $0; sub(/^[^#]*#/, "", n); n += 0
			seen[n] = 1; fine[n] = ($0 ~ /   Passed  /) }
		END {
			for (n in seen) {
				if (!fine[n] && !bad[n]) bad[n] = 1
				if (fine[n] && !good[n] && !bad[n]) good[n] = 1
				p += good[n]; f += bad[n]
				if (bad[n]) list = list " " n
			}
			if (!p && !f) f = 1
			print p + 0, f + 0, list
		}' "$tally_log")
	read -r good bad list <<<"$counts"
	passed=$((passed + good))
	failed=$((failed + bad))
	if [ "$bad" -eq 0 ]; then
		tally_line ok "$name" "$good passed" "$since"
		return 0
	fi
	tally_line FAIL "$name" "$good passed, $bad failed" "$since"
	if [ -z "$list" ]; then
		tail -n 20 "$tally_log" | sed 's/^/     | /'
	fi
	for n in $list; do
		grep -E "^$n: |Test +#$n: " "$tally_log" |
			grep -vE '\[ RUN  |\[       OK|Test timeout computed' | tail -n 40 | sed 's/^/     | /'
	done
	return 1
}

finish() {
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
