# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash

# Shared by the scripts. Sourced with the repository as working directory.

# Each entry is package:probe. The probe is a command, a file, or a Python import that works with the package.
# shellcheck disable=SC2034  # used by scripts that source this
BUILD_PACKAGES=(g++:g++ cmake:cmake ninja-build:ninja libfmt-dev:/usr/include/fmt/core.h
  nlohmann-json3-dev:/usr/include/nlohmann/json.hpp libcli11-dev:/usr/include/CLI/CLI.hpp
  libcurl4-openssl-dev:curl-config)
# shellcheck disable=SC2034
TEST_PACKAGES=(catch2:/usr/include/catch2 python3:python3 "python3-venv:import ensurepip" "python3-yaml:import yaml"
  pkg-config:pkg-config binutils:objdump ccache:ccache)
if command -v dpkg >/dev/null; then TEST_PACKAGES+=(dpkg-dev:dpkg-shlibdeps); fi
# shellcheck disable=SC2034
MPI_PACKAGES=(libopenmpi-dev:mpicxx.openmpi openmpi-bin:mpirun.openmpi)
# shellcheck disable=SC2034
FULL_PACKAGES=(gfortran:gfortran clang:clang++ clang-format:clang-format clang-tidy:clang-tidy shellcheck:shellcheck "${MPI_PACKAGES[@]}"
  valgrind:valgrind libamdhip64-dev:/usr/include/hip/hip_runtime_api.h)
# Some distributions lack these, or have other versions.
# shellcheck disable=SC2034
WANTED_PACKAGES=(python3-dev:/usr/bin/python3-config python3-torch:/usr/lib/python3/dist-packages/torch python3-pandas:/usr/lib/python3/dist-packages/pandas prometheus:prometheus prometheus-node-exporter:prometheus-node-exporter chromium:chromium chromium-driver:chromedriver librocm-smi-dev:/usr/include/rocm_smi/rocm_smi.h)
# shellcheck disable=SC2034
NIGHTLY_PACKAGES=(libmpich-dev:mpicxx.mpich mpich:mpirun.mpich g++-aarch64-linux-gnu:aarch64-linux-gnu-g++ qemu-user-static:qemu-aarch64-static)
# shellcheck disable=SC2034
WANTED_NIGHTLY_PACKAGES=(doxygen:doxygen g++-11:g++-11 abigail-tools:abidw libtorch-dev:/usr/include/ATen/record_function.h)

say() { printf '== %s\n' "$*"; }

usage() {
  # Prints the comment at the top of the calling script, without the license lines.
  sed -n '/^#!/d; /^# SPDX/d; /^#/!q; s/^# \{0,1\}//p' "$1"
}

present() {
  case $1 in
    /*) [[ -e $1 ]] ;;
    import*) python3 -c "$1" 2>/dev/null ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

# want_packages package:probe... installs missing packages if possible; tests that need the others are skipped.
want_packages() {
  local entry
  for entry in "$@"; do
    (need_packages "$entry") || say "continuing without ${entry%%:*}"
  done
}

# need_packages package:probe... installs missing packages, or prints how to.
need_packages() {
  local entry missing=()
  for entry in "$@"; do
    present "${entry#*:}" || missing+=("${entry%%:*}")
  done
  if [[ ${#missing[@]} -eq 0 ]]; then return; fi

  local install="apt-get install -y --no-install-recommends ${missing[*]}" sudo=()
  if [[ $EUID -ne 0 ]]; then sudo=(sudo -n); fi
  if ! command -v apt-get >/dev/null || { [[ $EUID -ne 0 ]] && ! sudo -n true 2>/dev/null; }; then
    printf 'These packages are missing: %s\nInstall them first:\n    sudo %s\n' "${missing[*]}" "$install" >&2
    exit 2
  fi
  say "Installing with apt-get: ${missing[*]}"
  # shellcheck disable=SC2086  # a list of words
  if ! { "${sudo[@]}" apt-get update -qq && "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive $install; } </dev/null; then
    printf 'Installing failed. Missing: %s\nTry by hand:\n    sudo apt-get update && sudo %s\n' "${missing[*]}" "$install" >&2
    exit 2
  fi
}

# configure <preset> [cmake option]...: configures build-<preset>, which is kept between calls.
configure() {
  local preset=$1 generator=${CMAKE_GENERATOR:-}
  shift
  if [[ -z $generator && ! -e build-$preset/CMakeCache.txt ]] && command -v ninja >/dev/null; then generator=Ninja; fi
  cmake --preset "$preset" ${generator:+-G "$generator"} "$@"
}

# build <preset> [cmake option]...: configures and builds.
build() { configure "$@" && cmake --build --preset "$1" -j"$(nproc)"; }

# build_mpi_program <build directory> <source> <program> [option]...: compiles with Open MPI's own compiler, as users
# do.
build_mpi_program() {
  local directory=$1 source=$2 program=$3
  shift 3
  OMPI_CXX=g++ mpicxx.openmpi -std=c++17 -O3 -DNDEBUG -DOMPI_SKIP_MPICXX -Iinclude -Ibackends/include "$@" "$source" \
    "$directory/libtakt.a" -pthread -ldl -o "$program"
}

# run_ranks <ranks> <program> [argument]...: runs Open MPI's mpirun, which rejects root by default.
run_ranks() {
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun.openmpi --oversubscribe -n "$@"
}
