# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Takt adds at most TAKT_EXIT_MS to the end of a program and does not change its exit status."""

import unittest

import rig


class Exit(rig.Case):
    def end(self, *words, status=7, exit_ms=None):
        ended = self.run_program("steps", 3, *words, status=status, TAKT_EXIT_MS=exit_ms)
        self.assertLess(ended.seconds, (2000 if exit_ms is None else exit_ms) / 1000 + rig.LATE)
        return ended

    def test_an_exporter_that_never_returns(self):
        for exit_ms in (300, None):
            for kind in ("stuck", "stuck-at-end"):
                for ending, status in ((["exit", 7], 7), ([], 0), (["close"], 0)):
                    with self.subTest(exit_ms=exit_ms, kind=kind, ending=ending):
                        self.setUp()
                        ended = self.end(kind, *ending, status=status, exit_ms=exit_ms)
                        self.assertGreater(ended.seconds, (exit_ms or 2000) / 1000 * 0.8)
                        # A busy machine may print the second message as well or instead.
                        limit = f"TAKT_EXIT_MS={exit_ms or 2000}"
                        self.assertIn(len(ended.err.splitlines()), (1, 2), ended)
                        for line in ended.err.splitlines():
                            self.assertRegex(line, f"(\"stuck\" had not finished after|was not finished within) {limit}")
                        # The other exporters finished.
                        self.assertTrue(self.summary()["finished"])
                        self.assertEqual(len(self.steps()), 6)
                        self.assert_no_parts()
                        self.assertEqual(ended.out.count("Takt: run, run "), 1)
                        if "close" in ending:
                            self.assertIn("closed 0", ended.out)

    def test_no_time_at_all(self):
        for words in (["exit", 7], ["stuck", "exit", 7], ["stuck-at-end", "exit", 7]):
            with self.subTest(words):
                self.end(*words, exit_ms=0)

    def test_without_obstacles_it_takes_no_time(self):
        ended = self.end("close", status=0, exit_ms=60_000)
        self.assertLess(ended.seconds, rig.LATE)
        self.assertIn("closed 1", ended.out)
        self.assertEqual(ended.err, "")


if __name__ == "__main__":
    rig.main()
