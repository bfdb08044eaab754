#!/bin/sh
# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
# Checks Takt on a GPU of this machine with the files in this directory: run.sh [--quick|--full|--only CHECK,...]
# [--write FILE]
# Needs only a driver and Python 3.8 or later. `scripts/device-check.sh --pack` makes the directory.
here=$(cd -- "$(dirname -- "$0")" && pwd) || exit 2
exec python3 -B "$here/gpu_check.py" "$here" "$@"
