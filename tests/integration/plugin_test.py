# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""A plug-in that contains Takt is closed while threads that recorded in it are still alive."""

import sys

import rig


class Plugin(rig.Case):
    def test_threads_end_after_the_plugin_was_closed(self):
        ended = self.run_program(PLUGIN)
        self.assertEqual(ended.err, "")
        self.assertTrue(self.summary()["finished"])


if __name__ == "__main__":
    PLUGIN = sys.argv.pop(2)
    rig.main()
