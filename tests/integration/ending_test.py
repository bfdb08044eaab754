# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""However a program ends, its report is as whole as can be, its status its own, and it does not hang."""

import os
import signal
import subprocess
import unittest

import rig

COMMAND = os.environ.get("COMMAND")


class Ending(rig.Case):
    def end(self, way, status=3, **env):
        self.ended = self.run_program(way, status=status, ENDING=way, **env)
        return self.ended

    def assert_reported(self, batches=3):
        """One table, and a whole summary of the three steps."""
        summary = self.summary()
        self.assertTrue(summary["finished"])
        self.assertEqual(rig.calls(summary, "Batch/Forward"), batches)
        self.assertEqual(len(self.steps()), batches)
        self.assert_no_parts()
        self.assertEqual(self.ended.out.count("Takt: ending, run "), 1, self.ended)
        self.assertEqual(self.ended.err, "")
        return summary

    def test_return_from_main(self):
        self.end("return")
        summary = self.assert_reported()
        self.assertFalse(summary["failed"])
        self.assertEqual(summary["open"], [])

    def test_exit_inside_a_region(self):
        self.end("exit_in_region")
        summary = self.assert_reported()
        self.assertFalse(summary["failed"])
        self.assertEqual(rig.open_paths(summary), ["Batch", "Batch/Forward"])
        self.assertIn("unfinished: Batch/Forward on thread main", self.ended.out)

    def test_exit_on_another_thread(self):
        self.end("exit_on_another_thread")
        self.assertEqual(rig.open_paths(self.assert_reported()), ["work"])

    def test_exit_while_other_threads_record(self):
        # They fill rows as fast as they can, and may take long to be written; exit_test asks how long an exit may take.
        self.end("exit_while_others_record", TAKT_EXIT_MS=20_000)
        summary = self.summary()
        self.assertTrue(summary["finished"])
        self.assertGreaterEqual(len(summary["threads"]), 4)
        self.assert_no_parts()

    def test_exception_through_five_scopes_and_the_session(self):
        self.end("exception")
        summary = self.assert_reported()
        self.assertTrue(summary["failed"])
        self.assertEqual(summary["open"], [])
        for path in ("one", "one/two", "one/two/three", "one/two/three/four", "one/two/three/four/five"):
            self.assertEqual(rig.calls(summary, path), 1)
        self.assertIn("failed after", self.ended.out)

    def test_exception_that_nobody_catches(self):
        self.end("uncaught", status=-signal.SIGABRT)
        self.assertEqual(len(self.steps(name="steps.csv.part")), 3)

    def test_session_made_before_main(self):
        self.end("global_session")
        self.assert_reported()

    def test_static_session_and_a_static_object_that_records_when_it_goes(self):
        self.end("static_session")
        self.assertEqual(rig.calls(self.assert_reported(), "late"), 1)

    def test_static_object_that_records_after_the_session(self):
        self.end("static_after_close")
        self.assertEqual(rig.calls(self.assert_reported(), "late"), 0)

    def test_thread_local_objects_that_record_when_they_go(self):
        self.end("thread_locals")
        summary = self.assert_reported()
        self.assertEqual(rig.calls(summary, "late"), 2)
        self.assertEqual(sum(thread["ended"] for thread in summary["threads"]), 1)

    def test_thread_local_objects_that_record_for_the_first_time_when_they_go(self):
        self.end("thread_locals_first_use")
        self.assertEqual(rig.calls(self.summary(), "late"), 3)

    def test_cut_off_in_the_middle(self):
        for way, status in (("_exit", 3), ("quick_exit", 3), ("abort", -signal.SIGABRT)):
            with self.subTest(way):
                before = set(self.folders())
                self.end(way, status)
                (folder,) = set(self.folders()) - before
                self.assertEqual(len(self.steps(folder, "steps.csv.part")), 3)
                self.assertEqual(self.ended.out, "")
                if COMMAND is not None:
                    self.check_journal(folder)

    def takt(self, status, *words):
        done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True, check=False, timeout=60 * rig.SLACK,
                              env=rig.environment())
        self.assertEqual((done.returncode, done.stderr), (status, ""), done.stdout)
        return done.stdout

    def check_journal(self, folder):
        """It reads up to the last period, and says where the program was."""
        check = self.takt(1, "check", folder)
        self.assertIn("the process did not end by itself", check)
        for word in ("damaged", "missing", "declared"):
            self.assertNotIn(word, check)
        report = self.takt(0, "report", folder)
        self.assertRegex(report, r"rank 0: died in Batch, open [\d.]+ \w+ \(thread main\); last heard of at ")
        steps = self.takt(0, "report", "--steps", folder).splitlines()
        self.assertEqual(len(steps), 1 + 3)

    def test_cut_off_with_background_threads(self):
        for way in ("_exit_with_threads", "quick_exit_with_threads"):
            with self.subTest(way):
                self.assertLess(self.end(way).seconds, 10)

    def test_close_by_two_threads_and_again(self):
        self.end("closed_twice")
        self.assert_reported()

    def test_switched_off_by_the_environment_it_is_silent(self):
        for way in ("return", "exit_in_region", "exception", "closed_twice"):
            with self.subTest(way):
                self.end(way, TAKT_DISABLE=1, TAKT_TRACE=1)
                self.assertEqual((self.ended.out, self.ended.err), ("", ""))
                self.assertFalse(self.runs.exists())


if __name__ == "__main__":
    rig.main()
