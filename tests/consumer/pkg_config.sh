#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause

# Builds and runs programs with only the flags from takt.pc: pkg_config.sh <compiler> <directory of takt.pc> <source>
set -euo pipefail
compiler=$1
export PKG_CONFIG_PATH=$2
source=$3

pkg-config --validate takt
# Unquoted on purpose: pkg-config prints a list of words.
# shellcheck disable=SC2046
"$compiler" -std=c++17 "$source" -o consumer $(pkg-config --cflags --libs takt)
libraries=$(pkg-config --variable=libdir takt)
LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} ./consumer

# A program that is linked by a C compiler.
# shellcheck disable=SC2046
"$compiler" -std=c++17 -c "$source" -o part.o $(pkg-config --cflags takt)
# shellcheck disable=SC2046
cc part.o -o of_c $(pkg-config --static --libs takt)
LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} ./of_c

# Programs in C and Fortran.
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck disable=SC2046
cc -std=c99 "$here/c/main.c" -o in_c $(pkg-config --cflags --static --libs takt)
LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} ./in_c
if command -v gfortran >/dev/null; then
  # shellcheck disable=SC2046
  gfortran "$(pkg-config --variable=fortran_source takt)" "$here/fortran/main.f90" -o in_fortran $(pkg-config --static --libs takt)
  LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} ./in_fortran
fi
