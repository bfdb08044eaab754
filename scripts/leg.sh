# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash

# Judges the results of ctest for scripts/test.sh. Sourced.
#
# A test with the label `timed` depends on time. If one fails, it runs again, alone, after all others. Any other failed
# test counts as failed. So does a test that crashed or caused a sanitizer report, because a busy machine does not cause
# that. If many tests fail, none is repeated, because that is not chance.

passed=0
failed=0
summary=()
failures=()
second_tries=()

readonly MOST_SECOND_TRIES=10
readonly SANITIZER_REPORT='(WARNING|ERROR|SUMMARY): (Address|Leak|Thread|Memory|UndefinedBehavior)Sanitizer|: runtime error: '

# minutes: prints how long the script has run.
minutes() { printf '%d:%02d min' $((SECONDS / 60)) $((SECONDS % 60)); }

# begin_part <words>: prints the name of the next part.
begin_part() {
  part_began=$SECONDS
  say "$* (after $(minutes))"
}

# note <part> <passed> <failed> <line>: records a result, with the minutes since begin_part.
note() {
  local took=$((SECONDS - ${part_began:-SECONDS}))
  passed=$((passed + $2))
  failed=$((failed + $3))
  summary+=("$(printf '%-13s %3d:%02d min  %s' "$1:" $((took / 60)) $((took % 60)) "$4")")
}

# listed <log> <heading>: prints the numbers of the tests below that heading at the end of the log. A test's own output
# may look the same.
listed() {
  awk -v heading="The following tests $2:" '
    /^[0-9]+% tests passed/ { n = below = 0 }
    /^The following tests / { below = $0 == heading; next }
    below && /^\t *[0-9]+ - / { number[++n] = $1 }
    END { for (i = 1; i <= n; i++) print number[i] }' "$1"
}

# said <log> <number>: prints the result of the test with that number, and its output.
said() {
  awk -v result="^ *[0-9]+/[0-9]+ Test +#$2: " '
    /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / { wanted = $0 ~ result }
    /^ +Start +[0-9]+: / || /^[0-9]+% tests passed/ { wanted = 0 }
    wanted && NF' "$1"
}

# last_lines <text>: prints its first line, and the last 40 of the others.
last_lines() { head -1 <<<"$1" && tail -n +2 <<<"$1" | tail -40; }

# slowest <log>: prints the ten tests that took longest.
slowest() {
  sed -nE 's|^ *[0-9]+/[0-9]+ Test +#[0-9]+: (.*[^.]) \.\.+.* ([0-9.]+) sec$|\2 s  \1|p' "$1" | sort -rn | head -10 || true
}

# passes_now <log> <number> <ctest>...: succeeds if the test passes when it runs alone.
passes_now() {
  local log=$1 number=$2
  shift 2
  "$@" -j1 -I "$number,$number" </dev/null 2>&1 | tee "$log" || true
  grep -qE "^ *[0-9]+/[0-9]+ Test +#$number: .*   Passed +[0-9.]+ sec$" "$log"
}

# may_try_again <its output>: false for failures that do not depend on time.
may_try_again() { ! head -1 <<<"$1" | grep -qE '\*\*\*(Exception|Not Run)' && ! grep -qE "$SANITIZER_REPORT" <<<"$1"; }

# needed_again <diary> <leg> <name> <its first output>: notes it there, and for the summary.
needed_again() {
  local diary=$1 entry="$2: $3" week often
  echo "$(date -u +%F) $entry" >>"$diary"
  week=$(date -u -d '7 days ago' +%F)
  often=$(awk -v since="$week" -v entry="$entry" '$1 > since && substr($0, 12) == entry' "$diary" | wc -l)
  if [[ $often -gt 1 ]]; then entry+=" ($often times in a week: mend its cause)"; fi
  second_tries+=("needed a second try: $entry" "$(last_lines "$4")" "")
}

# judge <leg> <log> <ctest>...: judges the command's log, after tests that may run again have done so.
judge() {
  local leg=$1 log=$2 line all skipped number first timed name tries=0
  local -a numbers lost=()
  shift 2
  line=$(grep -E '^[0-9]+% tests passed, [0-9]+ tests? failed out of [0-9]+' "$log" | tail -1 || true)
  if [[ ! $line =~ out\ of\ ([0-9]+) ]]; then
    note "$leg" 0 1 "no test ran"
    return
  fi
  all=${BASH_REMATCH[1]}
  skipped=$(listed "$log" "did not run" | wc -l)
  readarray -t numbers < <(listed "$log" FAILED)
  if [[ ${#numbers[@]} -gt 0 ]]; then timed=$("$@" -N -L '^timed$' || true); fi
  for number in "${numbers[@]}"; do
    first=$(said "$log" "$number")
    name=$(sed -nE "s/^ +Test +#$number: (.*)/\1/p" <<<"${timed:-}")
    if [[ -n $name && ${#numbers[@]} -le MOST_SECOND_TRIES ]] && may_try_again "$first" &&
      passes_now "${log%.log}.$number.log" "$number" "$@"; then
      needed_again "$(dirname "$log")/second-tries.txt" "$leg" "$name" "$first"
      tries=$((tries + 1))
    else
      lost+=("$(last_lines "$first")")
    fi
  done
  note "$leg" $((all - skipped - ${#lost[@]})) ${#lost[@]} \
    "${#lost[@]} failed out of $all, $skipped skipped, $tries passed at a second try"
  if [[ ${#lost[@]} -gt 0 ]]; then failures+=("$(echo "== failed in $leg"; printf '%s\n' "${lost[@]}")"); fi
}

# verdict: prints failed tests, repeated tests, and the counts. False if any test failed, or none passed.
verdict() {
  echo
  if [[ ${#failures[@]} -gt 0 ]]; then printf '%s\n\n' "${failures[@]}"; fi
  if [[ ${#second_tries[@]} -gt 0 ]]; then printf '%s\n' "${second_tries[@]}"; fi
  printf '%-13s %s\n' "in all:" "$(minutes)"
  printf '%s\n' "${summary[@]}"
  echo "$passed passed, $failed failed"
  [[ $failed -eq 0 && $passed -gt 0 ]]
}
