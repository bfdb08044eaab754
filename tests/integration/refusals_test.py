# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""No failed allocation ends a program, blocks it, or stops later recording."""

import os
import unittest

import rig


class Memory(rig.Case):
    def test_every_allocation_site_and_all_memory_from_some_moment_on(self):
        # MEMORY_SECONDS=0 tests all sites one by one, which takes some minutes.
        seconds = os.environ.get("MEMORY_SECONDS", "25")
        ended = self.run_program(seconds, os.environ.get("MEMORY_SEED", "1"), timeout=850 if seconds != "0" else 7200)
        self.assertRegex(ended.out, r" 0 failures\n$")


if __name__ == "__main__":
    rig.main()
