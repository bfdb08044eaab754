# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""A bad disk blocks neither steps nor other files nor the end of a program, and dropped data is reported."""

import csv
import io
import json
import os
import re
import subprocess
import unittest

import rig
import tracking

COMMAND = os.environ.get("COMMAND")
PRELOADED = os.environ["PRELOADED"]
PERIOD = 14  # frame type


class BadDisk(rig.Case):
    def setUp(self):
        super().setUp()
        self.sign = self.scratch / "sign"

    def disk(self, mode):
        return {"LD_PRELOAD": PRELOADED, "BAD_DISK": mode, "BAD_DISK_SIGN": self.sign}

    def calls(self):
        return self.sign.stat().st_size if self.sign.exists() else 0

    def go_on(self, started):
        started.process.stdin.write("go\n")
        started.process.stdin.flush()

    def test_one_write_per_period_whatever_its_contents(self):
        self.run_program("by-hand", *["steps", 50, "poll"] * 20, "close", **self.disk("count"))
        self.assertEqual(self.rows_in_journal(), 1000)
        self.assertEqual((self.calls(), len(self.frames(PERIOD))), (22, 22))  # the start and the end count as one each

    def test_the_journals_thread_makes_one_write_per_period(self):
        started = self.start("steps", 50, "wait", "steps", 50, "close", stdin=subprocess.PIPE, TAKT_PERIOD_MS=10,
                             **self.disk("count"))
        self.assertTrue(rig.wait_until(lambda: self.calls() > 10))
        self.assertEqual(started.end(60, "go\n").status, 0)
        self.assertEqual(self.rows_in_journal(), 100)
        self.assertEqual(self.calls(), len(self.frames(PERIOD)))

    def test_steps_and_the_journal_continue_while_the_disk_hangs(self):
        started = self.start("steps", 3, "wait", "steps", 5, "wait", "close", stdin=subprocess.PIPE, TAKT_PERIOD_MS=10,
                             **self.disk("hang"))
        self.assertEqual(started.process.stdout.readline(), "ready\n")
        # synced every ten seconds
        self.assertTrue(rig.wait_until(lambda: self.calls() == 1), "the journal was not synced")
        self.assertEqual(self.rows_in_journal(), 3)
        self.go_on(started)
        self.assertEqual(started.process.stdout.readline(), "ready\n")
        self.assertTrue(rig.wait_until(lambda: self.rows_in_journal() == 8), "the journal stopped")
        ended = started.end(60, "go\n")
        self.assertEqual((ended.status, ended.err), (0, ""))
        self.assertIn("closed 1", ended.out)
        self.assertEqual(self.calls(), 1)  # only one thread waits
        self.assertTrue(self.summary()["finished"])
        self.assertEqual(len(self.steps()), 16)

    def test_the_end_does_not_wait_for_the_disk(self):
        ended = self.run_program("steps", 3, "close", TAKT_EXIT_MS=2000, **self.disk("hang"))
        self.assertEqual(self.calls(), 1)
        self.assertLess(ended.seconds, 2 + rig.LATE)
        self.assertIn("closed 1", ended.out)
        self.assertEqual(ended.err, "")
        self.assertTrue(self.summary()["finished"])

    def segments(self):
        return len(list(self.directory().glob("journal-*.tjl")))

    def check_journal(self, losses):
        """Checks that all recorded data is readable, with these dropped counts."""
        report = json.loads(self.takt("report", "--json", self.directory()))
        summary = report["runs"][0]["summary"]
        self.assertTrue(summary["finished"])
        self.assertEqual(rig.calls(summary, "Batch"), 8)
        self.assertEqual(summary["losses"], losses)
        steps = csv.DictReader(io.StringIO(self.takt("report", "--steps", self.directory())))
        self.assertEqual([int(row["step"]) for row in steps if row["path"] == "Batch/IO"], list(range(8)))

    def takt(self, *words):
        return subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True, check=True, timeout=60,
                              env=rig.environment()).stdout

    @unittest.skipIf(COMMAND is None, "the command takt is not built")
    def test_unconfirmed_data_is_in_a_new_segment_and_counted(self):
        started = self.start("steps", 3, "wait", "steps", 5, "close", stdin=subprocess.PIPE, TAKT_PERIOD_MS=10,
                             **self.disk("sync"))
        self.assertEqual(started.process.stdout.readline(), "ready\n")
        self.assertTrue(rig.wait_until(lambda: self.segments() == 2), "no new segment")  # synced every ten seconds
        self.assertEqual(self.calls(), 1)
        ended = started.end(60, "go\n")
        self.assertEqual(ended.status, 0)
        self.assertIn("closed 1", ended.out)
        self.assertRegex(ended.err, "^takt: cannot sync .*: Input/output error.*\n$")
        self.assertEqual(self.segments(), 2)
        self.check_journal([{"what": "not_confirmed", "where": "journal", "count": 1}])
        check = subprocess.run([COMMAND, "check", self.directory()], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(check.returncode, 1)
        self.assertIn("lost: declared: 1 x not_confirmed (journal)", check.stdout)

    @unittest.skipIf(COMMAND is None, "the command takt is not built")
    def test_a_failed_write_is_repeated_in_a_new_segment(self):
        for mode, faults in (("write", 1), ("half", 2)):
            with self.subTest(mode):
                self.runs = self.scratch / mode
                self.sign = self.scratch / f"sign-{mode}"
                ended = self.run_program("by-hand", "steps", 3, "poll", "steps", 5, "poll", "close", **self.disk(mode))
                self.assertIn("closed 1", ended.out)
                self.assertEqual(ended.err, "")  # a warning appears only if the problem lasts
                self.assertEqual(self.calls(), faults)
                self.assertEqual(self.segments(), 2)
                self.check_journal([])

    def run_on_full_disk(self, steps):
        """Runs a program that makes this many steps before each of the 40 writes that fail."""
        words = ["steps", steps, "poll"] * 40
        ended = self.run_program("by-hand", "steps", 3, "poll", *words, "steps", 5, "poll", "close", **self.disk("full"))
        self.assertIn("closed 1", ended.out)
        self.assertEqual(self.calls(), 40)
        self.assertEqual(self.segments(), 2)  # nothing is left of the failed segments
        self.assertIn(": No space left on device", ended.err)
        report = json.loads(self.takt("report", "--json", self.directory()))["runs"][0]
        self.assertTrue(report["summary"]["finished"])
        made = 3 + 40 * steps + 5
        self.assertEqual(rig.calls(report["summary"], "Batch"), made)
        rows = csv.DictReader(io.StringIO(self.takt("report", "--steps", self.directory())))
        return ended, report["summary"], made, [int(row["step"]) for row in rows if row["path"] == "Batch/IO"]

    @unittest.skipIf(COMMAND is None, "the command takt is not built")
    def test_a_full_disk_is_reported_once_and_drops_nothing_if_space_returns(self):
        ended, summary, made, numbers = self.run_on_full_disk(2)
        self.assertRegex(ended.err, "^takt: cannot write .*: No space left on device.*\n$")
        self.assertEqual(numbers, list(range(made)))
        self.assertEqual(summary["losses"], [])

    @unittest.skipIf(COMMAND is None, "the command takt is not built")
    def test_rows_dropped_for_lack_of_space_are_counted(self):
        ended, summary, made, numbers = self.run_on_full_disk(2000)
        self.assertIn("its oldest rows are dropped", ended.err)
        lost = made - len(numbers)
        self.assertGreater(lost, 0)
        self.assertEqual(numbers, [*range(3), *range(3 + lost, made)])
        self.assertEqual(summary["losses"], [{"what": "not_exported", "where": "journal", "count": lost}])
        self.assertEqual(self.summary()["losses"], summary["losses"])
        self.assertEqual(len({row["step"] for row in self.steps()}), made)
        if os.environ.get("HAS_MLFLOW"):
            self.check_told_by_sync(lost)

    def check_told_by_sync(self, lost):
        """Checks that every sync reports it, because the data cannot be delivered any more."""
        server = tracking.TrackingServer()
        self.addCleanup(server.stop)
        for _ in range(2):
            done = subprocess.run([COMMAND, "sync", self.directory()], capture_output=True, text=True, check=False,
                                  timeout=60 * rig.SLACK, env=rig.environment(MLFLOW_TRACKING_URI=server.url))
            self.assertEqual(done.returncode, 4, done)
            told = re.search("the data is incomplete: ([^a-z]+) steps or metrics were dropped", done.stderr)
            self.assertEqual(re.sub("[^0-9]", "", told[1]), str(lost), done)


if __name__ == "__main__":
    rig.main()
