# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""A program built with -fsanitize=thread reports no races in Takt when it uses the installed suppressions."""

import os
import unittest

import rig


class Tsan(rig.Case):
    def test_no_race_is_reported(self):
        ended = self.run_program(TSAN_OPTIONS=f"suppressions={os.environ['SUPPRESSIONS']}", TAKT_TABLE=0)
        self.assertIn("closed 1", ended.out)
        self.assertEqual(ended.err, "")
        self.assertEqual(rig.calls(self.summary(), "Batch"), 800)


if __name__ == "__main__":
    rig.main()
