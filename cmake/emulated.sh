#!/bin/sh
# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause

# The emulator's counter follows CLOCK_MONOTONIC, which NTP slews, so that Takt would leave it in the midst of a run.
export TAKT_CLOCK="${TAKT_CLOCK-monotonic}"
exec qemu-aarch64-static -L /usr/aarch64-linux-gnu "$0.elf" "$@"
