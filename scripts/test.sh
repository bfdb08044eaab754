#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
# Builds Takt and runs its tests: scripts/test.sh [--full] [--nightly]
#
# Without options: one build with g++ where every warning is an error, and all tests.
# --full: also with clang++ 14, AddressSanitizer (and its leak check) and UndefinedBehaviorSanitizer, and with g++ and
#         ThreadSanitizer; then the library's sources by a compiler for aarch64, clang-format, clang-tidy and shellcheck. Tests
#         that none of these would change (label `once`) run in the first build only.
# --nightly: also long simulations and random inputs (label `nightly`), in each build.
#
# Installs what is missing with apt-get where it may, and says what to install where it may not. Build folders
# (build-<leg>) are kept, and by ccache what compilers make: the next clone builds in a fraction of the time. A test that
# hangs on time (label `timed`) and fails is run once more, alone. At the end stands again what each failed test said last,
# what each test said that passed at its second try, and then what ran, leg by leg; the last line is "N passed, M failed"
# over everything that ran.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/lib.sh
source scripts/leg.sh

full=false
nightly=()
for option in "$@"; do
  case $option in
    --full) full=true ;;
    --nightly) nightly=(-C nightly) ;;
    -h | --help) usage "$0" && exit ;;
    *) usage "$0" >&2 && exit 2 ;;
  esac
done

# part <words>: what runs from here on, and since when.
part() { say "$* (after $((SECONDS / 60)) min)"; }

# leg <preset> [option of ctest]...: configure, build and test. A build that breaks is one failure. Second tries go by the number
# of a test, which these options do not change, but which they would have to count themselves.
leg() {
  local preset=$1 log=build-$1/test.log tests=(ctest --preset "$1" "${nightly[@]}")
  shift
  part "$preset"
  # A header that clang++ has precompiled holds the place and time of its source, so no other clone can use it.
  export CCACHE_SLOPPINESS=pch_defines,time_macros
  if [[ $preset == asan ]]; then CCACHE_SLOPPINESS=; fi
  mkdir -p "build-$preset"
  if ! build "$preset" 2>&1 | tee "build-$preset/build.log"; then
    note "$preset" 0 1 "the build failed"
    failures+=("$(grep -E -m20 -A4 '(error|Error|FAILED):? ' "build-$preset/build.log" || true)")
    return
  fi
  part "the tests of $preset"
  # One more than there are cores: some tests wait for servers and disks.
  "${tests[@]}" "$@" -j"$(($(nproc) + 1))" </dev/null 2>&1 | tee "$log" || true
  judge "$preset" "$log" "${tests[@]}"
  say "the slowest of $preset"
  slowest "$log"
}

# check <name> <command>...: a check that passes or fails as a whole.
check() {
  local name=$1 log=build-ci/check.log
  shift
  part "$name"
  if "$@" 2>&1 | tee "$log"; then
    note "$name" 1 0 "passed"
  else
    note "$name" 0 1 "failed"
    failures+=("$(echo "== failed: $name"; grep -v 'warnings generated' "$log" | tail -40)")
  fi
}

# for_files <find test>... -- <command>...: runs the command on the files of the tree that pass the tests.
for_files() {
  local tests=()
  while [[ $1 != -- ]]; do
    tests+=("$1")
    shift
  done
  shift
  find . -path './build*' -prune -o -path ./.git -prune -o \( "${tests[@]}" \) -print0 | xargs -0 -r "$@"
}

includes=(-DTAKT_LIBRARY -Iinclude -Ibackends/include -Iexporters/include -Isrc -Iexporters/src)

# Formatters and linters change from one major version to the next: only the one the settings were written for decides.
is_version_14() { "$1" --version | grep -q 'version 14\.'; }

format() { for_files -name '*.[ch]pp' -- clang-format --dry-run -Werror; }
# sources: those of the libraries and the command. The leg asan joins most of them, so that what they include is read once.
sources() {
  sed -n 's/^ *"file": "\(.*\)".*/\1/p' build-asan/compile_commands.json |
    grep -v "^$PWD/\(build-asan/\)\?\(tests\|examples\)/" | sort -u
}
tidy() {
  sources | xargs -P"$(nproc)" -n1 clang-tidy -p build-asan --quiet --checks='-clang-analyzer-*,-bugprone-suspicious-include'
}
# Some things are looked for in the source itself only, not in what it includes: what is unused, and the paths through a
# function; of these here a quarter of those that are usual, which takes half the time.
analyze() {
  for_files -path '*/src/*.cpp' -- -P"$(nproc)" -I{} clang-tidy --quiet {} \
    --checks='-*,misc-unused-using-decls,clang-diagnostic-*,clang-analyzer-*,-clang-analyzer-optin.performance.Padding' \
    -- -Xclang -analyzer-config -Xclang max-nodes=50000 -Wall -Wextra -std=c++17 -DFMT_HEADER_ONLY "${includes[@]}"
}
# The libraries in /usr/include are headers that know no architecture, but for libcurl's; those of the compiler come first.
aarch64() {
  sources | grep -v "^$PWD/\(build-asan/\)\?exporters/" | xargs -P"$(nproc)" -n1 aarch64-linux-gnu-g++ -std=c++17 -fsyntax-only \
    -Wall -Wextra -Werror "${includes[@]}" -idirafter /usr/include -DFMT_HEADER_ONLY
}
shell() { for_files -name '*.sh' -o -path ./.ci/run -- shellcheck -x; }

need_packages "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}"
if $full; then
  need_packages "${FULL_PACKAGES[@]}"
  want_packages "${WANTED_PACKAGES[@]}"
fi

# What compilers make is kept for the next build, in whichever clone.
export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1

say "compilers: $(g++ --version | head -1)$(if command -v clang++ >/dev/null; then echo "; $(clang++ --version | head -1)"; fi)"
leg ci
if $full; then
  # The leg asan is what holds the library and its tests to clang++ 14, the oldest that Takt is for.
  if is_version_14 clang++; then
    note "clang++ 14" 1 0 "builds asan: $(clang++ --version | head -1)"
  else
    note "clang++ 14" 0 0 "not checked: asan is built with $(clang++ --version | grep -o 'version [0-9]*' | head -1)"
  fi
  leg asan -LE '^once$'
  leg tsan -LE '^once$'
  check aarch64 aarch64
  for tool in clang-format clang-tidy; do
    if is_version_14 "$tool"; then
      check "$tool" "${tool#clang-}"
      if [[ $tool == clang-tidy ]]; then check analyzer analyze; fi
    else
      note "$tool" 0 0 "not run: version 14 decides, this is $("$tool" --version | grep -o 'version [0-9]*')"
    fi
  done
  check shellcheck shell
fi

verdict
