#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
# Builds Takt, trains a small network on handwritten digits, and shows where the time went:
# scripts/demo.sh [option of examples/01_digits.cpp]...
#
# Installs what is missing with apt-get where it may, and says what to install where it may not.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/lib.sh

case ${1:-} in
  -h | --help) usage "$0" && exit ;;
esac

need_packages "${BUILD_PACKAGES[@]}"
say "Building (Release) in build-demo"
build demo

TAKT_RUN_ID=demo-$(date +%Y%m%d-%H%M%S)
export TAKT_RUN_ID TAKT_DIR=$PWD/takt-runs
say "Training"
build-demo/examples/example_01_digits "$@" </dev/null

folder=$(echo "$TAKT_DIR"/*"$TAKT_RUN_ID"/rank-0-*)
say "The files of this run are in $folder"
ls -l "$folder"
say "steps.csv has a line for each step and region; the first of them:"
head -n 5 "$folder/steps.csv"
