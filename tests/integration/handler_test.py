# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Regions in a signal handler, wherever it comes, harm nothing."""

import rig


class Handler(rig.Case):
    def test_signals_as_fast_as_they_come(self):
        ended = self.run_program(3, timeout=200)
        self.assertRegex(ended.out, r"steps \d+ of \d+, handled \d+ of \d+")
        self.assertTrue(self.summary()["finished"])


if __name__ == "__main__":
    rig.main()
