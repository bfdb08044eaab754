#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause

# Builds and runs a program with nothing but what takt.pc says: pkg_config.sh <compiler> <directory of takt.pc> <source>
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

# A program whose linking is in the hands of a compiler of C's.
# shellcheck disable=SC2046
"$compiler" -std=c++17 -c "$source" -o part.o $(pkg-config --cflags takt)
# shellcheck disable=SC2046
cc part.o -o of_c $(pkg-config --static --libs takt)
LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} ./of_c
