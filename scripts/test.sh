#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
# Builds Takt and runs its tests: scripts/test.sh [--changed | --full | --nightly [part]...]
#
# Without options: one build with g++ with warnings as errors, and the unit and integration tests, except those that
#             take half a minute or more (label `long`).
# --changed:  the same build, and the tests of code that differs from the last push (or, if that is unknown, from the
#             commit before HEAD) and of code that uses it; whole programs (tests/integration) only if recording code
#             has changed.
# --full:     the tests that a change must pass: also the main ways to use the package, a short test with each real
#             component (MLflow, W&B, TensorBoard, Prometheus, MPI, a browser), AddressSanitizer, UndefinedBehaviorSanitizer,
#             ThreadSanitizer, clang++ on sources and headers, clang-format, clang-tidy on changed files, and the
#             linter shellcheck.
# --nightly:  everything, or these parts of it:
#             ci (all tests with g++), asan, asan-clang, tsan, tsan-clang (whole tree), aarch64 (emulated), batches (the
#             sources joined in other ways), build (compile times against limits), format, tidy, analyzer, shellcheck.
#
# Installs missing packages with apt-get if permitted; otherwise prints what to install. Keeps the build directories
# (build-<preset>) and caches compiler output with ccache. A failed test that depends on time (label `timed`) runs once
# more, alone. At the end are the last lines of each failed test, the output of each test that passed at the second
# attempt, and the results of each part; the last line is "N passed, M failed" for the whole run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/lib.sh
source scripts/leg.sh

mode=everyday
parts=(ci asan asan-clang tsan tsan-clang aarch64 batches build format tidy analyzer shellcheck)
case ${1:-} in
  '') ;;
  --changed | --full) [[ $# -eq 1 ]] || { usage "$0" >&2 && exit 2; } && mode=${1#--} ;;
  --nightly)
    mode=nightly
    shift
    for part in "$@"; do
      [[ " ${parts[*]} " == *" $part "* ]] || { echo "no part '$part'; there are: ${parts[*]}" >&2 && exit 2; }
    done
    if [[ $# -gt 0 ]]; then parts=("$@"); fi
    ;;
  -h | --help) usage "$0" && exit ;;
  *) usage "$0" >&2 && exit 2 ;;
esac

# leg <preset> <scope of tests> [option of ctest]...: configures, builds and tests. A failed build counts as one
# failure.
leg() {
  local preset=$1 scope=$2 log=build-$1/test.log tests=(ctest --preset "$1") more=()
  shift 2
  if [[ $scope == nightly ]]; then more=(-DTAKT_BUILD_EXAMPLES=ON); fi
  begin_part "$preset"
  # A header that clang++ precompiles contains the path and time of its source, so no other clone can use it.
  export CCACHE_SLOPPINESS=pch_defines,time_macros
  if [[ $preset == *clang ]]; then CCACHE_SLOPPINESS=; fi
  mkdir -p "build-$preset"
  if ! build "$preset" -DTAKT_TEST_SCOPE="$scope" "${more[@]}" 2>&1 | tee "build-$preset/build.log"; then
    note "$preset" 0 1 "the build failed"
    failures+=("$(grep -E -m20 -A4 '(error|Error|FAILED):? ' "build-$preset/build.log" || true)")
    return
  fi
  say "built after $(minutes)"
  # One more than there are cores: some tests wait for servers and disks.
  "${tests[@]}" "$@" -j"$(($(nproc) + 1))" </dev/null 2>&1 | tee "$log" || true
  judge "$preset" "$log" "${tests[@]}"
  say "the slowest of $preset"
  slowest "$log"
}

# check <name> <command>...: runs a check that passes or fails as a whole.
check() {
  local name=$1 log
  log=$(mktemp)
  shift
  begin_part "$name"
  if "$@" 2>&1 | tee "$log"; then
    note "$name" 1 0 "passed"
  else
    note "$name" 0 1 "failed"
    failures+=("$(echo "== failed: $name"; grep -v 'warnings generated' "$log" | tail -40)")
  fi
  rm -f "$log"
}

# for_files <find test>... -- <command>...: runs the command on the files of the tree that match the tests.
for_files() {
  local tests=()
  while [[ $1 != -- ]]; do
    tests+=("$1")
    shift
  done
  shift
  find . -path './build*' -prune -o -path ./.git -prune -o \( "${tests[@]}" \) -print0 | xargs -0 -r "$@"
}

includes=(-Iinclude -Ibackends/include -Iexporters/include -Isrc -Iexporters/src)

# Formatters and linters change between major versions, so only the version that the settings were written for decides.
with_version_14() {
  local tool=$1 name=$2
  shift 2
  if "$tool" --version | grep -q 'version 14\.'; then
    check "$name" "$@"
  else
    note "$name" 0 0 "not run: version 14 decides, this is $("$tool" --version | grep -o 'version [0-9]*' | head -1)"
  fi
}

format() { for_files -name '*.[ch]pp' -- clang-format --dry-run -Werror; }

# changed_files: prints the files that differ from the pushed state, or from HEAD's parent if that is unknown. Includes
# deleted ones.
changed_files() {
  local base
  base=$(git merge-base HEAD '@{upstream}' 2>/dev/null || git rev-parse HEAD~1 2>/dev/null || echo HEAD)
  if [[ $base == $(git rev-parse HEAD) ]]; then base=$(git rev-parse HEAD~1 2>/dev/null || echo HEAD); fi
  { git diff --name-only --no-renames "$base"; git ls-files --others --exclude-standard; } | sort -u
}

library_sources() { git ls-files 'src/*.cpp' 'exporters/src/*.cpp' 'backends/src/*.cpp'; }

# clang_tidy <checks> [compiler option]...: checks the sources named on standard input. Checks of a function's paths
# take long.
clang_tidy() {
  local checks=$1
  shift
  xargs -r -P"$(nproc)" -I{} clang-tidy --quiet --checks="$checks" {} -- "$@" -Wall -Wextra -std=c++17 "${includes[@]}"
}
tidy_checks='-clang-analyzer-*,-bugprone-suspicious-include'
tidy() { library_sources | clang_tidy "$tidy_checks"; }
tidy_changed() { changed_files | { grep -xFf <(library_sources) || true; } | clang_tidy "$tidy_checks"; }
# Follows a quarter of the default number of paths through a function, in half the time.
analyze() {
  library_sources | clang_tidy '-*,misc-unused-using-decls,clang-diagnostic-*,clang-analyzer-*,-clang-analyzer-optin.performance.Padding' \
    -Xclang -analyzer-config -Xclang max-nodes=50000
}
# The headers in /usr/include do not depend on the architecture, except libcurl's; the compiler's own come first.
aarch64_sources() {
  library_sources | grep -v '^exporters/' | xargs -P"$(nproc)" -n8 aarch64-linux-gnu-g++ -std=c++17 -fsyntax-only \
    -Wall -Wextra -Werror "${includes[@]}" -idirafter /usr/include
}
# aarch64: builds and tests recording, collecting, writing and reading for aarch64, under qemu-user-static. Excludes
# tests that depend on real time, on /proc as the kernel shows it (the emulator shows a process different data about
# itself than others see), on signals that the emulator uses, or on a fork in a multi-threaded process, in which the
# emulator itself may hang.
aarch64() {
  local emulated='^(unit|event_unit|cli_unit|ranks_unit|sample_unit|page_unit|exporters_unit|cli_threads_unit)\.'
  emulated+='|^integration\.(bad_job|descriptors|ending|exit|files|inference_proxy|pages|ranks|runs|stopped|termination)$'
  local left_out='file_lease_test|rank_gathering_test.timed'
  check aarch64-sources aarch64_sources
  leg aarch64 everyday -R "$emulated" -E "$left_out"
}
shell() { for_files -name '*.sh' -o -path ./.ci/run -- shellcheck -x; }
# batches: checks that the sources compile together in any way: each alone, whole libraries, and in odd numbers.
batches() {
  local batch
  for batch in 1 0 7; do
    cmake -S . -B build-batches -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DTAKT_BUILD_TESTS=OFF \
      -DTAKT_BUILD_EXAMPLES=OFF -DTAKT_BUILD_BENCHMARKS=OFF -DTAKT_WARNINGS_AS_ERRORS=ON -DTAKT_WITH_NVCC=OFF \
      -DTAKT_UNITY_BATCH=$batch && cmake --build build-batches -j"$(nproc)" || return
  done
}

need_packages "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}"
if [[ $mode == full || $mode == nightly ]]; then
  need_packages "${FULL_PACKAGES[@]}"
  want_packages "${WANTED_PACKAGES[@]}"
fi
if [[ $mode == nightly ]]; then
  need_packages "${NIGHTLY_PACKAGES[@]}"
  want_packages "${WANTED_NIGHTLY_PACKAGES[@]}"
fi

# Compiler output is cached for the next build, in any clone.
export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1

say "compilers: $(g++ --version | head -1)$(if command -v clang++ >/dev/null; then echo "; $(clang++ --version | head -1)"; fi)"

# nightly_part <part>
nightly_part() {
  case $1 in
    ci | asan | asan-clang | tsan | tsan-clang) leg "$1" nightly ;;
    format | tidy) with_version_14 "clang-$1" "clang-$1" "$1" ;;
    analyzer) with_version_14 clang-tidy analyzer analyze ;;
    aarch64) aarch64 ;;
    batches) check batches batches ;;
    build) check build bash scripts/bench.sh --build ;;
    shellcheck) check shellcheck shell ;;
  esac
}

case $mode in
  everyday) leg ci everyday -LE '^long$' ;;
  changed)
    labels=$(changed_files | python3 -B scripts/changed.py)
    say "tests: $labels"
    leg ci everyday -L "$labels" -LE '^long$'
    ;;
  full)
    leg ci merge
    # These take minutes under a sanitizer, so they run at night: failing servers, refused memory, and under
    # ThreadSanitizer the command.
    slow='network|mantik_network|wandb_network|refusals'
    leg asan merge -E "^integration\.($slow)$"
    leg tsan merge -E "^integration\.($slow|bad_job|command|hostile_directory|merge)$"
    with_version_14 clang-format clang-format format
    with_version_14 clang-tidy clang-tidy tidy_changed
    check shellcheck shell
    ;;
  nightly) for part in "${parts[@]}"; do nightly_part "$part"; done ;;
esac

verdict
