# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""If enabled and no handler of the program is set, SIGTERM ends the run and then the process. Nothing else changes."""

import os
import signal
import subprocess
import unittest

import rig

END = 15  # frame type
KILLED = b"\1\1\1"  # finished, failed, killed

# Message about a Session that is not the first.
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

    # Without a handler of the program

    def test_the_run_is_complete_and_the_status_is_that_of_the_signal(self):
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
        self.assertEqual(len(summary["threads"]), 5)  # including the thread that made the Session
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
        # The second message appears on a busy machine.
        self.assertRegex(ended.err, 'the exporter "slow" had not finished after|was not finished within TAKT_EXIT_MS=1000 ms')
        self.check_killed()

    def test_a_program_that_exits_meanwhile_also_has_the_signals_status(self):
        for attempt in range(10):
            with self.subTest(attempt):
                self.runs = self.scratch / f"runs-{attempt}"
                ended = self.end_by_signal("leaves")
                self.assertEqual(ended.err, "")
                self.check_killed()

    # With a handler of the program

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

    def test_a_later_handler_is_kept(self):
        self.begin("covered")
        self.terminate()
        ended = self.end(0, "go\n")
        self.assertIn("called 1 kept 1\n", ended.out)
        self.check_finished(batches=3)

    def test_a_later_handler_that_calls_the_previous_one_ends_the_run(self):
        self.end_by_signal("covered_politely")
        self.check_killed()

    def test_a_later_run_also_ends_under_a_handler_that_calls_the_previous_one(self):
        ended = self.end_by_signal("covered_before", TAKT_TABLE=0)
        self.assertRegex(ended.err.removeprefix(LATER), "^takt: another SIGTERM handler was installed over that of an earlier Session.*\n$")
        first, second = sorted(self.directories(), key=lambda directory: "second" in str(directory))
        self.check_finished(first, batches=3)
        self.assertTrue(self.summary(second)["killed"])
        self.assertEqual(self.frames(END, second), [KILLED])

    def test_an_ignored_signal_stays_ignored(self):
        self.begin("ignored")
        self.terminate()
        ended = self.end(0, "go\n")
        self.assertIn("still 1\n", ended.out)
        self.check_finished()

    def test_by_default_the_signal_is_not_handled(self):
        for asked, during in ((0, 1), (None, 1), (1, 0)):
            with self.subTest(asked):
                ended = self.run_program("disposition", TAKT_SIGTERM=asked, TAKT_TABLE=0)
                self.assertEqual(ended.out, f"default {during} after 1\n" * 2)
                self.assertEqual(ended.err, LATER)

    def test_by_default_the_signal_kills_as_usual(self):
        self.end_by_signal("hang", TAKT_SIGTERM=0, TAKT_PERIOD_MS=10)
        self.assertEqual(self.frames(END), [])

    def test_when_turned_off_the_signal_is_not_handled(self):
        ended = self.run_program("disposition", TAKT_SIGTERM=1, TAKT_DISABLE=1)
        self.assertEqual(ended.out, "default 1 after 1\n" * 2)

    def test_without_threads_it_reports_an_error(self):
        ended = self.run_program("by_hand", TAKT_SIGTERM=1, TAKT_TABLE=0)
        self.assertEqual(ended.out, "default 1\n")
        self.assertEqual(ended.err, "takt: SIGTERM will not close the run: that needs background threads\n")

    # Children

    def test_a_child_dies_as_usual_and_the_run_continues(self):
        ended = self.run_program("forks", TAKT_SIGTERM=1, TAKT_TABLE=0)
        self.assertEqual(ended.out, f"child {-signal.SIGTERM}\n")
        self.check_finished()

    def test_a_child_has_the_handler_of_the_program(self):
        ended = self.run_program("forks_with_handler", TAKT_SIGTERM=1, TAKT_TABLE=0)
        self.assertEqual(ended.out, "child 5\n")
        self.check_finished()

    @unittest.skipIf("OWN_ALLOCATOR" in os.environ, "a child of threads that allocate may hang in a sanitizer's allocator")
    def test_a_child_with_its_own_run_ends_that_run(self):
        ended = self.run_program("forks_a_run", TAKT_SIGTERM=1, TAKT_TABLE=0, TAKT_PERIOD_MS=60_000)
        self.assertEqual(ended.out, f"child {-signal.SIGTERM}\n")
        parent, child = sorted(self.directories(), key=lambda directory: "child" in str(directory))
        self.check_killed(child, batches=4)
        self.check_finished(parent)


if __name__ == "__main__":
    rig.main()
