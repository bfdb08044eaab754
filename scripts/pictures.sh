#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
# Recreates the pictures in README.md and docs/ from runs of the examples on this machine: scripts/pictures.sh
# [--page|--mlflow]
#
# Draws docs/images/steps-*.svg and docs/images/epoch-*.svg, light and dark.
# --page: instead docs/images/page-*.png, the page of a run of four ranks, one of them slow, light and dark.
# --mlflow: instead docs/images/mlflow.png, with MLflow's server and a browser, which it downloads (1 GB).
#
# Check the pictures before you commit them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/lib.sh

readonly PORT=5057

# quietest <example>: runs it five times and prints the directory of the shortest run, which other programs disturbed
# least.
quietest() {
  local number began took shortest='' best=''
  for number in 1 2 3 4 5; do
    began=$(date +%s%N)
    TAKT_DIR=$scratch/$number TAKT_TRACE=1 TAKT_TABLE=0 "build-demo/examples/$1" </dev/null >/dev/null 2>&1
    took=$(($(date +%s%N) - began))
    if [[ -z $shortest || $took -lt $shortest ]]; then shortest=$took && best=$scratch/$number; fi
  done
  echo "$best"
}

time_lines() {
  local trace colours dark
  trace=$(echo "$(quietest example_01_digits)"/*/rank-0-*/trace.json)
  for colours in light dark; do
    if [[ $colours == dark ]]; then dark=(--dark); else dark=(); fi
    python3 -B scripts/time_line.py "$trace" "docs/images/steps-$colours.svg" --steps 3 "${dark[@]}"
    python3 -B scripts/time_line.py "$trace" "docs/images/epoch-$colours.svg" --around Epoch "${dark[@]}"
  done
}

page() {
  local program=build-demo/example_23_mpi_training
  build_mpi_program build-demo examples/23_mpi_training.cpp "$program" -DTAKT_EXAMPLE_DATA_DIR="\"$PWD/examples/data\""
  TAKT_DIR=$scratch/ranks TAKT_TABLE=0 run_ranks 4 "$program" --slow-rank 3 --by 5 </dev/null
  build-demo/src/cli/takt report --html "$scratch/run.html" "$scratch"/ranks/*
  python3 -B scripts/page_picture.py "$scratch/run.html" docs/images/page-light.png docs/images/page-dark.png
}

mlflow() {
  local venv=build-demo/picture-venv server=http://127.0.0.1:$PORT runs run
  if [[ ! -x $venv/bin/mlflow ]]; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet mlflow playwright
  fi
  "$venv/bin/mlflow" server --backend-store-uri "sqlite:///$scratch/mlflow.db" --artifacts-destination "$scratch/artifacts" \
    --port "$PORT" --workers 1 >"$scratch/server.log" 2>&1 &
  trap 'kill $! 2>/dev/null; rm -rf "$scratch"' EXIT
  runs=$(quietest example_14_mlflow)
  until curl -sf -o /dev/null "$server/health"; do sleep 1; done
  MLFLOW_TRACKING_URI=$server MLFLOW_EXPERIMENT_NAME=takt build-demo/src/cli/takt sync --every-step "$runs" | tee "$scratch/said"
  run=$(sed -nE 's/.* to run ([0-9a-f]+) at .*/\1/p' "$scratch/said")
  "$venv/bin/python" -B scripts/mlflow_picture.py "$server/#/experiments/1/runs/$run" docs/images/mlflow.png
}

picture=time_lines
packages=(python3:python3)
case ${1:-} in
  -h | --help) usage "$0" && exit ;;
  --page) picture=page && packages+=("${MPI_PACKAGES[@]}" chromium:chromium chromium-driver:chromedriver) ;;
  --mlflow) picture=mlflow && packages+=("python3-venv:import ensurepip" curl:curl chromium:chromium) ;;
  "") ;;
  *) usage "$0" >&2 && exit 2 ;;
esac

need_packages "${BUILD_PACKAGES[@]}" "${packages[@]}"
say "Building (Release) in build-demo"
build demo

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
say "Running"
"$picture"
ls -l docs/images
