# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""SIGTERM ends the run and then the process, where that is asked for and nobody else has a say; and changes nothing else."""

import os
import signal
import subprocess
import unittest

import rig

END = 15  # the type of a frame
KILLED = b"\1\1\1"  # finished, failed, killed

# What Takt says of a Session that is not the first.
LATER = (
    'takt: "second" is not the first Session of this process: its totals, steps and throughput include data '
    "recorded before. Give each run its own process or its own keys.\n"
)


class Termination(rig.Case):
    def begin(self, way, **env):
        env = {"TAKT_SIGTERM": 1, "TAKT_PERIOD_MS": 60_000, **env}
        self.started = self.start(way, stdin=subprocess.PIPE, **env)
        self.assertEqual(self.read_line(), "ready\n")

    def read_line(self):
        return self.started.process.stdout.readline()

    def terminate(self):
        os.kill(self.started.process.pid, signal.SIGTERM)

    def end(self, status, words=None):
        ended = self.started.end(60 * rig.SLACK, words)
        self.assertEqual(ended.status, status, ended)
        return ended

    def end_by_signal(self, way, **env):
        self.begin(way, **env)
        self.terminate()
        return self.end(-signal.SIGTERM)

    def check_killed(self, directory=None, batches=3):
        summary = self.summary(directory)
        self.assertEqual((summary["finished"], summary["failed"], summary["killed"]), (True, True, True))
        self.assertEqual(rig.calls(summary, "Batch/Forward"), batches)
        self.assertEqual(len(self.steps(directory)), batches)
        self.assert_no_parts(directory)
        self.assertEqual(self.rows_in_journal(directory), batches)
        self.assertEqual(self.frames(END, directory), [KILLED])
        return summary

    def check_finished(self, directory=None, batches=5):
        summary = self.summary(directory)
        self.assertEqual((summary["finished"], summary["failed"], summary["killed"]), (True, False, False))
        self.assertEqual(rig.calls(summary, "Batch/Forward"), batches)

    # Nobody else has a say

    def test_the_run_is_whole_and_the_status_is_that_of_the_signal(self):
        ended = self.end_by_signal("hang")
        summary = self.check_killed()
        self.assertEqual(rig.open_paths(summary), ["Epoch", "Epoch/Comm"])
        self.assertIn("killed after", ended.out)
        self.assertIn("unfinished: Epoch/Comm on thread main", ended.out)
        self.assertEqual(ended.err, "")

    def test_four_threads_record_while_it_ends(self):
        self.end_by_signal("record", TAKT_PERIOD_MS=10, TAKT_EXIT_MS=30_000)
        summary = self.summary()
        self.assertEqual((summary["finished"], summary["killed"]), (True, True))
        self.assertEqual(len(summary["threads"]), 5)  # with the one that made the Session
        self.assertEqual(self.frames(END), [KILLED])
        self.assert_no_parts()

    def test_a_second_signal_neither_hangs_nor_lengthens_the_end(self):
        self.begin("stuck", TAKT_EXIT_MS=1000, TAKT_TABLE=0)
        self.terminate()
        self.assertEqual(self.read_line(), "ending\n")
        self.terminate()
        self.terminate()
        ended = self.end(-signal.SIGTERM)
        self.assertLess(ended.seconds, 1 + rig.LATE)
        # The latter on a busy machine.
        self.assertRegex(ended.err, 'the exporter "slow" had not finished after|was not finished within TAKT_EXIT_MS=1000 ms')
        self.check_killed()

    def test_a_program_that_leaves_meanwhile_has_the_status_of_the_signal_too(self):
        for attempt in range(10):
            with self.subTest(attempt):
                self.runs = self.scratch / f"runs-{attempt}"
                ended = self.end_by_signal("leaves")
                self.assertEqual(ended.err, "")
                self.check_killed()

    # Somebody else has

    def test_a_handler_of_the_program_is_called_once_and_decides(self):
        for way in ("chained", "chained_siginfo"):
            with self.subTest(way):
                self.runs = self.scratch / way
                self.begin(way)
                self.assertEqual(self.rows_in_journal(), 0)
                self.terminate()
                self.assertTrue(rig.wait_until(lambda: self.rows_in_journal() == 3), "nothing was written down")
                self.assertEqual(self.frames(END), [])
                ended = self.end(0, "go\n")
                self.assertIn("called 1 as set 1 covered 1\n", ended.out)
                self.assertIn("restored 1\n", ended.out)
                self.check_finished()

    def test_a_handler_that_is_set_later_stays(self):
        self.begin("covered")
        self.terminate()
        ended = self.end(0, "go\n")
        self.assertIn("called 1 kept 1\n", ended.out)
        self.check_finished(batches=3)

    def test_a_handler_that_is_set_later_and_calls_the_one_before_ends_the_run(self):
        self.end_by_signal("covered_politely")
        self.check_killed()

    def test_a_later_run_below_a_handler_that_calls_the_one_before_ends_as_well(self):
        ended = self.end_by_signal("covered_before", TAKT_TABLE=0)
        self.assertRegex(ended.err.removeprefix(LATER), "^takt: a handler of SIGTERM was set after that of an earlier Session.*\n$")
        first, second = sorted(self.directories(), key=lambda directory: "second" in str(directory))
        self.check_finished(first, batches=3)
        self.assertTrue(self.summary(second)["killed"])
        self.assertEqual(self.frames(END, second), [KILLED])

    def test_what_is_ignored_stays_ignored(self):
        self.begin("ignored")
        self.terminate()
        ended = self.end(0, "go\n")
        self.assertIn("still 1\n", ended.out)
        self.check_finished()

    def test_without_being_asked_it_leaves_the_signal_alone(self):
        for asked, during in ((0, 1), (None, 1), (1, 0)):
            with self.subTest(asked):
                ended = self.run_program("disposition", TAKT_SIGTERM=asked, TAKT_TABLE=0)
                self.assertEqual(ended.out, f"default {during} after 1\n" * 2)
                self.assertEqual(ended.err, LATER)

    def test_without_being_asked_the_signal_kills_as_ever(self):
        self.end_by_signal("hang", TAKT_SIGTERM=0, TAKT_PERIOD_MS=10)
        self.assertEqual(self.frames(END), [])

    def test_switched_off_it_leaves_the_signal_alone(self):
        ended = self.run_program("disposition", TAKT_SIGTERM=1, TAKT_DISABLE=1)
        self.assertEqual(ended.out, "default 1 after 1\n" * 2)

    def test_without_threads_it_says_that_it_cannot(self):
        ended = self.run_program("by_hand", TAKT_SIGTERM=1, TAKT_TABLE=0)
        self.assertEqual(ended.out, "default 1\n")
        self.assertEqual(ended.err, "takt: SIGTERM will not close the run: that needs background threads\n")

    # Children

    def test_a_child_dies_as_ever_and_the_run_goes_on(self):
        ended = self.run_program("forks", TAKT_SIGTERM=1, TAKT_TABLE=0)
        self.assertEqual(ended.out, f"child {-signal.SIGTERM}\n")
        self.check_finished()

    def test_a_child_has_the_handler_of_the_program(self):
        ended = self.run_program("forks_with_handler", TAKT_SIGTERM=1, TAKT_TABLE=0)
        self.assertEqual(ended.out, "child 5\n")
        self.check_finished()

    @unittest.skipIf("OWN_ALLOCATOR" in os.environ, "a child of threads that allocate may hang in a sanitizer's allocator")
    def test_a_child_with_a_run_of_its_own_ends_that_one(self):
        ended = self.run_program("forks_a_run", TAKT_SIGTERM=1, TAKT_TABLE=0, TAKT_PERIOD_MS=60_000)
        self.assertEqual(ended.out, f"child {-signal.SIGTERM}\n")
        parent, child = sorted(self.directories(), key=lambda directory: "child" in str(directory))
        self.check_killed(child, batches=4)
        self.check_finished(parent)


if __name__ == "__main__":
    rig.main()
