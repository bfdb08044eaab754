#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
# Checks Takt on a GPU, of this machine or of another one:
#
#   scripts/device-check.sh [--built <build directory>] [--quick|--full|--only <check>,...]
#   scripts/device-check.sh --pack <new directory> [--built <build directory>]
#
# The first form builds the checks for this machine's GPU in build-device and runs the quick ones, in at most 8 minutes,
# or the selected ones. It prints one table and writes it to build-device/gpu-validation.md. Needs nvcc (CUDA 12 or later).
# --pack: needs no GPU. Packs the checks into a directory, for GPUs of compute capability 8 and later. Copied to a
# machine with only a driver and Python 3.8, its run.sh runs them there: run.sh --help.
# --built: uses an existing build and writes no page.
#
# Exits with 0 if all checks passed, 1 if one failed, 77 if nothing ran: without nvcc, or without a GPU.
set -euo pipefail

built=
pack=
which=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --built) built=$(realpath -m "${2:?which directory?}") && shift ;;
    --pack) pack=$(realpath -m "${2:?which directory?}") && shift ;;
    --quick | --full) which+=("$1") ;;
    --only) which+=("$1" "${2:?which checks?}") && shift ;;
    -h | --help) which=(help) ;;
    *) which=(mistake) && break ;;
  esac
  shift
done
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/lib.sh
case ${which[*]:-} in
  help) usage "$0" && exit ;;
  mistake) usage "$0" >&2 && exit 2 ;;
esac

# Prints the GPU's compute capability without the point, or nothing.
architecture() {
  if command -v nvidia-smi >/dev/null; then
    nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | sed -n '1s/\.//p' || true
  fi
}

# Builds the checks in build-device, for this machine's GPU, or for all if they are to be copied elsewhere.
build_checks() {
  if ! command -v nvcc >/dev/null; then
    if ! [[ -x /usr/local/cuda/bin/nvcc ]]; then
      say "no nvcc: nothing was built or run. Install the CUDA toolkit, 12 or later"
      exit 77
    fi
    export CUDACXX=/usr/local/cuda/bin/nvcc  # NVIDIA's default location, which CMake does not search
  fi
  need_packages "${BUILD_PACKAGES[@]}" catch2:/usr/include/catch2 python3:python3 binutils:objdump
  local target=
  if [[ -z $pack ]]; then target=$(architecture); fi
  say "Building for ${target:-all GPUs} in build-device"
  configure device -DTAKT_GPU_ARCHITECTURES="${target:-80-real;90}"
  cmake --build --preset device -j"$(nproc)" --target device_check
}

page=()
if [[ -z $built ]]; then
  build_checks
  built=$PWD/build-device
  page=(--write build-device/gpu-validation.md)
fi
if ! [[ -x $built/tests/device/gpu_check ]]; then
  say "no checks in $built: it was configured without nvcc, or not built"
  exit 77
fi
if [[ -n $pack ]]; then
  python3 -B tests/device/gpu_pack.py "$built" "$pack"
  say "Carry $pack ($(du -sh "$pack" | cut -f1)) to the machine with the GPU, and call there: run.sh --write <file.md>"
  exit
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -B tests/device/gpu_pack.py "$built" "$scratch/pack" --here
"$scratch/pack/run.sh" "${which[@]}" "${page[@]}"
