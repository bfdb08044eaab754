#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
# Builds the benchmarks with -O3 -DNDEBUG and runs them: scripts/bench.sh [--build | --delivery | --rates | --coverage |
# --trial-coverage | --sample | --mpi | --torch | argument of takt_bench]...
#
# --build [checkout]...: measures the cost of compiling Takt, in units that do not depend on the machine, and the sizes
# of the results, and checks both against limits (scripts/build_cost.py); compares other checkouts if they are listed
# first.
#
# --delivery: measures what an MLflow exporter costs a loop when the server is unreachable. With the server that
# scripts/test.sh --full has installed, also measures how many points per second it accepts.
# --rates [seconds]: measures the highest rates of steps and metrics that reach the journal without dropped data, and
# its size; `rows <per second> <threads> <seconds>` and others measure a single rate (tests/bench/rates.cpp).
#
# --coverage [runs]: measures how often the interval of a throughput contains the true value, by simulation
# (tests/bench/coverage.cpp).
#
# --trial-coverage [runs]: measures how often the intervals of trials and of mean errors contain the true value, by
# simulation (tests/bench/trial_coverage.cpp).
#
# --sample [samples]: measures the cost of TAKT_SAMPLE_MS for Takt's threads, without the drivers' time
# (tests/bench/sampling.cpp).
#
# --mpi [ranks] [paths] [rounds]: measures takt::mpi::reduce(), and a bare MPI_Reduce of the same number of bytes
# (tests/mpi/reduce_bench.cpp).
#
# --torch [rounds]: measures the cost of takt::TorchOps per step of a small network (tests/torch/torch_bench.cpp).
#
# Prints the cost of a scope and its baseline, two bare clock reads; without arguments also the cost of including the
# main header. Close other programs first: the ratio is the result.
# Installs missing packages with apt-get if permitted; otherwise prints what to install.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/lib.sh

# seconds [option]...: prints the median processor time of eleven compilations of a file that is empty except for the
# options.
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
  # with several threads, steps vary by more than the measured difference
  OMP_NUM_THREADS=1 build-bench/torch_bench "$@"
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
