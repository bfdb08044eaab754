# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""However a program ends, its report is as complete as possible, its exit status is its own, and it does not hang."""

import json
import os
import signal
import subprocess
import unittest

import rig

COMMAND = os.environ.get("COMMAND")
UNCAUGHT = 23  # frame type


class Ending(rig.Case):
    def end(self, way, status=3, **env):
        self.ended = self.run_program(way, status=status, ENDING=way, **env)
        return self.ended

    def assert_reported(self, batches=3):
        """Checks for one table and a complete summary of the three steps."""
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
        self.assertTrue(summary["failed"])
        self.assertEqual(rig.open_paths(summary), ["Batch", "Batch/Forward"])
        self.assertIn("unfinished: Batch/Forward on thread main", self.ended.out)

    def test_exit_with_status_0_is_no_failure(self):
        self.end("exit_well", status=0)
        self.assertFalse(self.assert_reported()["failed"])

    def test_exit_on_another_thread(self):
        self.end("exit_on_another_thread")
        self.assertEqual(rig.open_paths(self.assert_reported()), ["work"])

    def test_exit_while_other_threads_record(self):
        # They record rows as fast as they can, which may take long to write; exit_test checks the time of an exit.
        self.end("exit_while_others_record", TAKT_EXIT_MS=round(20_000 * rig.SLACK), timeout=60 * rig.SLACK)
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

    def test_an_uncaught_exception(self):
        for way, at in (("uncaught", ""), ("uncaught_with_threads", "Epoch/")):
            with self.subTest(way):
                where = at + "one/two/three/four/five"
                uncaught = self.died(way, where)
                self.assertEqual((uncaught["type"], uncaught["message"]), ("std::runtime_error", "out of data"))
                self.assertEqual(len(self.steps(self.last)), 3)
                self.assertIn("failed after", self.ended.out)
                self.assertIn('died of an uncaught std::runtime_error ("out of data") in ' + where, self.ended.out)
                self.assertIn("what():  out of data", self.ended.err)
                self.assert_reads_as('died of an uncaught std::runtime_error ("out of data") in ' + where.replace("/", " > ") +
                                     " (thread main)")

    def died(self, way, where, status=-signal.SIGABRT, **env):
        """Returns the cause of death in the summary, and the path of the region."""
        before = set(self.directories())
        self.end(way, status, **env)
        (self.last,) = set(self.directories()) - before
        summary = self.summary(self.last)
        self.assertEqual((summary["finished"], summary["failed"], summary["killed"]), (True, True, False))
        self.assert_no_parts(self.last)
        open_regions = [summary["paths"][path]["path"] for path in summary["uncaught"]["open"]]
        self.assertEqual(open_regions[-1:], [where] if where else [])
        return summary["uncaught"]

    def assert_reads_as(self, words):
        if COMMAND is None:
            return
        self.assertTrue(self.takt(0, "report", self.last).startswith(f"rank 0: {words}\n"))
        (rank,) = json.loads(self.takt(0, "report", "--json", self.last))["runs"][0]["ranks"]
        self.assertEqual(rank["state"], "failed")
        self.assertIsNotNone(rank["uncaught"])
        self.assertIn("complete, nothing lost", self.takt(0, "check", self.last))

    def test_an_uncaught_exception_on_another_thread(self):
        self.died("uncaught_on_thread", "one/two/three/four/five")
        self.assert_reads_as('died of an uncaught std::runtime_error ("out of data") in one > two > three > four > five (thread loader)')

    def test_exception_before_the_first_period(self):
        uncaught = self.died("uncaught_at_once", "", TAKT_PERIOD_MS=3_600_000)
        self.assertTrue(uncaught["message"].startswith("at once ?[31mxxx"))
        self.assertLessEqual(len(uncaught["message"]), 1000)

    def test_any_type_may_be_thrown(self):
        self.assertEqual(self.died("uncaught_of_no_type", "Epoch")["type"], "int")
        self.assertIn("Silent", self.died("uncaught_own_type", "Epoch")["type"])
        self.assertIsNone(self.died("terminate", "Epoch")["type"])
        self.assert_reads_as("died of std::terminate() without an exception in Epoch (thread main)")

    def test_threads_that_crash_simultaneously_are_one_crash(self):
        self.end("uncaught_by_many", -signal.SIGABRT)
        self.assertEqual(self.summary()["uncaught"]["message"], "one of many")

    def test_an_exception_whose_what_throws_is_known_by_its_type(self):
        uncaught = self.died("uncaught_what", "Epoch")
        self.assertIn("Evil", uncaught["type"])
        self.assertEqual(uncaught["message"], "")

    def test_without_another_thread_the_sessions_thread_records_it(self):
        before = set(self.directories())
        ended = self.start("uncaught_without_threads_left", ENDING="uncaught_without_threads_left", TAKT_PERIOD_MS=100).end(60)
        if ended.status == 77:
            self.skipTest("cannot become somebody who has a limit on threads")
        self.assertEqual(ended.status, -signal.SIGABRT, ended)
        (directory,) = set(self.directories()) - before
        (death,) = self.frames(UNCAUGHT, directory)  # everything that other threads may still write to
        self.assertIn(b"out of data", death)

    def test_the_programs_terminate_handlers_are_called_as_usual(self):
        self.died("uncaught_handler_before", "Epoch/one/two/three/four/five", status=7)
        self.assertEqual(self.ended.err, "mine\n")
        self.died("uncaught_handler_after", "Epoch/one/two/three/four/five")
        self.assertTrue(self.ended.err.startswith("mine\n"))
        self.assertIn("what():  out of data", self.ended.err)
        self.end("uncaught_by_second_session", 7)
        self.assertEqual(self.ended.err.splitlines()[1:], ["mine"])
        self.assertIn("not the first Session of this process", self.ended.err)
        deaths = [self.summary(directory)["uncaught"] for directory in self.directories() if directory.parent.name.startswith("second")]
        self.assertEqual([death["message"] for death in deaths], ["second"])

    def test_an_exception_outside_the_session_is_not_recorded(self):
        self.end("uncaught_after_close", -signal.SIGABRT)
        self.assertEqual((self.summary()["failed"], self.summary()["uncaught"]), (False, None))
        before = set(self.directories())
        self.end("uncaught_in_forked_child", 3)
        (directory,) = set(self.directories()) - before
        self.assertEqual((self.summary(directory)["failed"], self.summary(directory)["uncaught"]), (False, None))

    def test_when_turned_off_an_exception_is_an_ordinary_crash(self):
        for env in ({"TAKT_UNCAUGHT": 0}, {"TAKT_EXIT_MS": 0}):
            with self.subTest(env):
                before = set(self.directories())
                self.end("uncaught_with_threads", -signal.SIGABRT, **env)
                (directory,) = set(self.directories()) - before
                if COMMAND is not None:
                    self.assertIn("rank 0: died, its journal does not say where; last heard of at ", self.takt(0, "report", directory))

    def test_killed_as_soon_as_a_session_exists(self):
        self.end("killed_at_once", -signal.SIGKILL, TAKT_PERIOD_MS=3_600_000)
        self.assertEqual([file.name for file in self.directory().iterdir()], ["journal-00000.tjl"])
        if COMMAND is not None:
            self.assertIn("rank 0: died, its journal does not say where; last heard of at ", self.takt(0, "report", self.directory()))

    def test_session_made_before_main(self):
        self.end("global_session")
        self.assert_reported()

    def test_static_session_and_a_static_object_that_records_in_its_destructor(self):
        self.end("static_session")
        self.assertEqual(rig.calls(self.assert_reported(), "late"), 1)

    def test_static_object_that_records_after_the_session(self):
        self.end("static_after_close")
        self.assertEqual(rig.calls(self.assert_reported(), "late"), 0)

    def test_thread_local_objects_that_record_in_their_destructors(self):
        self.end("thread_locals")
        summary = self.assert_reported()
        self.assertEqual(rig.calls(summary, "late"), 2)
        self.assertEqual(sum(thread["ended"] for thread in summary["threads"]), 1)

    def test_thread_local_objects_that_first_record_in_their_destructors(self):
        self.end("thread_locals_first_use")
        self.assertEqual(rig.calls(self.summary(), "late"), 3)

    def test_ended_abruptly(self):
        for way, status in (("_exit", 3), ("quick_exit", 3), ("abort", -signal.SIGABRT)):
            with self.subTest(way):
                before = set(self.directories())
                self.end(way, status)
                (directory,) = set(self.directories()) - before
                self.assertEqual(len(self.steps(directory, "steps.csv.part")), 3)
                self.assertEqual(self.ended.out, "")
                if COMMAND is not None:
                    self.check_journal(directory)

    def takt(self, status, *words):
        done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True, check=False, timeout=60 * rig.SLACK,
                              env=rig.environment())
        self.assertEqual((done.returncode, done.stderr), (status, ""), done.stdout)
        return done.stdout

    def check_journal(self, directory):
        """Checks that the journal is readable up to the last period and has the program's position."""
        check = self.takt(1, "check", directory)
        self.assertIn("the process did not end normally", check)
        for word in ("damaged", "missing", "declared"):
            self.assertNotIn(word, check)
        report = self.takt(0, "report", directory)
        self.assertRegex(report, r"rank 0: died in Batch, open [\d.]+ \w+ \(thread main\); last heard of at ")
        steps = self.takt(0, "report", "--steps", directory).splitlines()
        self.assertEqual(len(steps), 1 + 3)

    def test_ended_abruptly_with_background_threads(self):
        for way in ("_exit_with_threads", "quick_exit_with_threads"):
            with self.subTest(way):
                self.assertLess(self.end(way).seconds, 10)

    def test_close_by_two_threads_and_again(self):
        self.end("closed_twice")
        self.assert_reported()

    def test_when_turned_off_by_the_environment_it_is_silent(self):
        for way in ("return", "exit_in_region", "exception", "closed_twice"):
            with self.subTest(way):
                self.end(way, TAKT_DISABLE=1, TAKT_TRACE=1)
                self.assertEqual((self.ended.out, self.ended.err), ("", ""))
                self.assertFalse(self.runs.exists())


if __name__ == "__main__":
    rig.main()
