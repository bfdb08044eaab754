#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
# Builds the benchmarks with -O3 -DNDEBUG and runs them: scripts/bench.sh [argument of takt_bench]...
#
# Prints what a scope costs beside its baseline, two bare clock reads. Close other programs first: the ratio is what counts.
# Installs what is missing with apt-get where it may, and says what to install where it may not.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/lib.sh

case ${1:-} in
  -h | --help) usage "$0" && exit ;;
esac

need_packages "${BUILD_PACKAGES[@]}"
say "Building (release)"
build bench >&2
exec build-bench/tests/bench/takt_bench "$@"
