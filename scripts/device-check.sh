#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
# Checks Takt on a GPU of this machine: scripts/device-check.sh [--built <build folder>]
#
# Builds the checks for the architecture of that GPU in build-device, runs all of them in at most 8 minutes, prints one
# table, and writes it to docs/gpu-validation.md. Needs nvcc (CUDA 12 or later) and nothing else to run on the GPU.
# --built: what has been built there already, and no file is written.
#
# Exits with 0 when all was right, 1 when something was not, 77 when nothing was run: without nvcc, or without a GPU.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/lib.sh

built=
case ${1:-} in
  "") ;;
  --built) built=${2:?which folder?} ;;
  -h | --help) usage "$0" && exit ;;
  *) usage "$0" >&2 && exit 2 ;;
esac

# What the GPU is: its compute capability without the point, or nothing.
architecture() {
  if command -v nvidia-smi >/dev/null; then
    nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | sed -n '1s/\.//p' || true
  fi
}

if [[ -z $built ]]; then
  if ! command -v nvcc >/dev/null; then
    if ! [[ -x /usr/local/cuda/bin/nvcc ]]; then
      say "no nvcc: nothing was built or run. Install the CUDA toolkit, 12 or later"
      exit 77
    fi
    export CUDACXX=/usr/local/cuda/bin/nvcc  # where NVIDIA puts it, and CMake does not look
  fi
  need_packages "${BUILD_PACKAGES[@]}" catch2:/usr/include/catch2 python3:python3
  target=$(architecture)
  say "Building for ${target:-no GPU} in build-device"
  options=()
  if [[ -n $target ]]; then options=(-DTAKT_GPU_ARCHITECTURE="$target" -DCMAKE_CUDA_ARCHITECTURES="$target"); fi
  configure device "${options[@]}"
  cmake --build --preset device -j"$(nproc)" --target device_check
  exec python3 -B tests/device/gpu_check.py build-device --write docs/gpu-validation.md
fi
if ! [[ -x $built/tests/device/gpu_check ]]; then
  say "no checks in $built: it was configured without nvcc, or not built"
  exit 77
fi
exec python3 -B tests/device/gpu_check.py "$built"
