# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""No place at which memory cannot be had ends a program, holds it up, or stops what comes after."""

import os
import unittest

import rig


class Memory(rig.Case):
    def test_every_place_and_everything_from_some_moment_on(self):
        # MEMORY_SECONDS=0 goes through all places one by one, which takes some minutes.
        seconds = os.environ.get("MEMORY_SECONDS", "25")
        ended = self.run_program(seconds, os.environ.get("MEMORY_SEED", "1"), timeout=850 if seconds != "0" else 7200)
        self.assertRegex(ended.out, r" 0 failures\n$")


if __name__ == "__main__":
    rig.main()
