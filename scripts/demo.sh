#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
# Builds Takt, trains a small network on handwritten digits, and prints where the time went:
# scripts/demo.sh [--ranks N | option of examples/01_digits.cpp]...
#
# --ranks N [option of examples/23_mpi_training.cpp]...: trains on N ranks with Open MPI, one of them slow. Prints the
# table of the job and which ranks wait for which.
#
# Installs missing packages with apt-get if permitted; otherwise prints what to install.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/lib.sh

case ${1:-} in
  -h | --help) usage "$0" && exit ;;
esac

need_packages "${BUILD_PACKAGES[@]}"
if [[ ${1:-} == --ranks ]]; then need_packages "${MPI_PACKAGES[@]}"; fi
say "Building (Release) in build-demo"
configure demo
if [[ ${1:-} == --ranks ]]; then targets=(takt takt_command); else targets=(example_01_digits); fi
cmake --build --preset demo -j"$(nproc)" --target "${targets[@]}"

TAKT_RUN_ID=demo-$(date +%Y%m%d-%H%M%S)
export TAKT_RUN_ID TAKT_DIR=$PWD/takt-runs

if [[ ${1:-} == --ranks ]]; then
  ranks=${2:?how many ranks}
  shift 2
  build_mpi_program build-demo examples/23_mpi_training.cpp build-demo/example_23_mpi_training \
    -DTAKT_EXAMPLE_DATA_DIR="\"$PWD/examples/data\""
  if [[ $# -eq 0 ]]; then set -- --slow-rank $((ranks - 1)) --by 5; fi
  say "Training on $ranks ranks; rank 0 prints the table of the job"
  run_ranks "$ranks" build-demo/example_23_mpi_training "$@" </dev/null
  say "takt report reads the files of all ranks"
  build-demo/src/cli/takt report "$TAKT_DIR"/*"$TAKT_RUN_ID"
  exit
fi

say "Training"
build-demo/examples/example_01_digits "$@" </dev/null

directory=$(echo "$TAKT_DIR"/*"$TAKT_RUN_ID"/rank-0-*)
say "The files of this run are in $directory"
ls -l "$directory"
say "steps.csv has a line for each step and region; the first of them:"
head -n 5 "$directory/steps.csv"
