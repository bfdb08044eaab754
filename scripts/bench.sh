#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
# Builds the benchmarks with -O3 -DNDEBUG and runs them: scripts/bench.sh [--build | --delivery | --rates | --coverage | --trial-coverage | --sample | --mpi | --torch | argument of takt_bench]...
#
# --build [checkout]...: what compiling Takt costs, in units that do not depend on the machine, and the sizes of what comes of it, against
# stated limits (scripts/build_cost.py); of other checkouts before it, to compare them.
#
# --delivery: what an MLflow exporter costs a loop whose server is away, and, with the server that scripts/test.sh --full has fetched,
# how many points a second it takes.
# --rates [seconds]: the highest rates of steps and metrics that reach the journal without loss, and what it writes; with
# `rows <a second> <threads> <seconds>` and the like that rate alone (tests/bench/rates.cpp).
#
# --coverage [runs]: how often the interval of a throughput holds the throughput, simulated (tests/bench/coverage.cpp).
#
# --trial-coverage [runs]: how often the interval of trials holds the rate, and that of a mean error the mean, simulated
# (tests/bench/trial_coverage.cpp).
#
# --sample [samples]: what TAKT_SAMPLE_MS costs Takt's threads, without what drivers take (tests/bench/sampling.cpp).
#
# --mpi [ranks] [paths] [rounds]: what takt::mpi::reduce() takes, beside a bare MPI_Reduce of as many bytes (tests/mpi/reduce_bench.cpp).
#
# --torch [rounds]: what takt::TorchOps costs a step of a small network, beside the same steps without it (tests/torch/torch_bench.cpp).
#
# Prints what a scope costs beside its baseline, two bare clock reads, and without arguments what the front door costs a
# file that includes it. Close other programs first: the ratio is what counts.
# Installs what is missing with apt-get where it may, and says what to install where it may not.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/lib.sh

# seconds [option]...: the median processor time of eleven compilations of a file that is empty but for the options.
seconds() {
  local TIMEFORMAT='%U %S'
  for _ in {1..11}; do
    { time g++ -std=c++17 -Iinclude -Ibackends/include "$@" -c -o /dev/null -x c++ /dev/null; } 2>&1
  done | awk '{ printf "%.3f\n", $1 + $2 }' | sort -n | sed -n 6p
}

compile_times() {
  printf 'takt/takt.hpp: %s lines preprocessed, %s s to compile; an empty file %s s\n' \
    "$(g++ -std=c++17 -Iinclude -Ibackends/include -E -P -x c++ -include takt/takt.hpp /dev/null | wc -l)" \
    "$(seconds -include takt/takt.hpp)" "$(seconds)"
}

case ${1:-} in
  -h | --help) usage "$0" && exit ;;
esac

delivery() {
  local python=build-ci/tests/mlflow/venv-3/bin/python
  build-bench/tests/bench/takt_delivery
  if [[ -x $python ]]; then
    "$python" -B tests/bench/delivery.py build-bench/tests/bench/takt_delivery
  else
    echo "no points per second: scripts/test.sh --full fetches the server"
  fi
}

need_packages "${BUILD_PACKAGES[@]}"
if [[ ${1:-} == --build ]]; then
  need_packages python3:python3 binutils:objdump
  exec python3 -B scripts/build_cost.py --limits "${@:2}" .
fi
if [[ ${1:-} == --mpi ]]; then need_packages "${MPI_PACKAGES[@]}"; fi
mpi() {
  build_mpi_program build-bench tests/mpi/reduce_bench.cpp build-bench/reduce_bench -Isrc
  run_ranks "${1:-16}" build-bench/reduce_bench "${@:2}"
}

torch() {
  need_packages libtorch-dev:/usr/include/ATen/record_function.h
  g++ -std=c++17 -O3 -DNDEBUG -Iinclude -Ibackends/include -isystem /usr/include/torch/csrc/api/include tests/torch/torch_bench.cpp \
    build-bench/libtakt.a -pthread -ldl -ltorch -ltorch_cpu -lc10 -o build-bench/torch_bench
  OMP_NUM_THREADS=1 build-bench/torch_bench "$@"  # with several threads steps differ by more than what is measured
}

say "Building (release)"
build bench >&2
case ${1:-} in
  --delivery) delivery && exit ;;
  --coverage) shift && exec build-bench/tests/bench/takt_coverage "$@" ;;
  --trial-coverage) shift && exec build-bench/tests/bench/takt_trial_coverage "$@" ;;
  --mpi) shift && mpi "$@" && exit ;;
  --torch) shift && torch "$@" && exit ;;
  --sample) shift && exec build-bench/tests/bench/takt_sampling "$@" ;;
  --rates) shift && exec build-bench/tests/bench/takt_rates "$@" ;;
esac
build-bench/tests/bench/takt_bench "$@"
if [[ $# -eq 0 ]]; then
  echo
  compile_times
fi
