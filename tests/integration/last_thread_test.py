# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Takt's threads do not keep a process alive, full pipes delay its end by at most exit_ms, and a thread cancelled
inside Takt ends without other effects."""

import fcntl
import os
import signal
import unittest

import rig

# ThreadSanitizer has its own thread, so no thread is ever the last one.
OWN_THREAD = "OWN_THREAD" in os.environ


class LastThread(rig.Case):
    def end(self, way, status=0, **how):
        ended = self.run_program(way, status=status, **how)
        self.assertLess(ended.seconds, 2 + rig.LATE)
        return ended

    def check_finished(self, batches):
        summary = self.summary()
        self.assertEqual((summary["finished"], summary["failed"]), (True, False))
        self.assertEqual(rig.calls(summary, "Batch/Forward"), batches)
        self.assert_no_parts()

    @unittest.skipIf(OWN_THREAD, "the sanitizer has a thread of its own")
    def test_main_calls_pthread_exit_while_a_session_exists(self):
        ended = self.end("static_session")
        self.check_finished(3)
        self.assertEqual((ended.err, ended.out.count("Takt: last, run ")), ("", 1))

    @unittest.skipIf(OWN_THREAD, "the sanitizer has a thread of its own")
    def test_main_exits_while_an_exporter_does_not_return(self):
        self.assertIn("stuck", self.end("static_session_stuck", TAKT_EXIT_MS=500).err)
        self.check_finished(3)

    @unittest.skipIf(OWN_THREAD, "the sanitizer has a thread of its own")
    def test_main_exits_after_the_end_of_the_run(self):
        self.end("closed_session")
        self.check_finished(3)

    @unittest.skipIf(OWN_THREAD, "the sanitizer has a thread of its own")
    def test_main_exits_after_a_run_whose_exporter_did_not_finish(self):
        self.assertIn("stuck", self.end("closed_session_stuck", TAKT_EXIT_MS=500).err)

    @unittest.skipIf(OWN_THREAD, "the sanitizer has a thread of its own")
    def test_main_exits_while_another_thread_continues(self):
        self.end("other_thread")
        self.check_finished(7)

    @unittest.skipIf(OWN_THREAD, "the sanitizer has a thread of its own")
    def test_sigterm_ends_it_meanwhile(self):
        started = self.start("other_thread")
        started.process.send_signal(signal.SIGTERM)
        self.assertIn(started.end(60).status, (0, -signal.SIGTERM))

    def test_threads_that_allocate_until_they_end_change_no_other_threads_stats(self):
        self.run_program("timed_allocations", status=0)
        summary = self.summary()
        self.assertEqual(rig.calls(summary, "Batch/Forward"), 200 * 4 * 5)
        self.assertEqual({each["path"].split("/")[-1] for each in summary["paths"]}, {"Batch", "Forward", "Allocation"})

    def in_full_pipes(self, way, **env):
        """Runs the program with stdout and stderr connected to pipes that are never read."""
        read, write = os.pipe()
        self.addCleanup(os.close, read)
        fcntl.fcntl(write, fcntl.F_SETFL, os.O_NONBLOCK)
        try:
            while True:
                os.write(write, b"x" * 4096)
        except BlockingIOError:
            fcntl.fcntl(write, fcntl.F_SETFL, 0)

        def prepare():
            os.dup2(write, 1)
            os.dup2(write, 2)

        try:
            return self.end(way, 3, prepare=prepare, **env)  # not all work was done
        finally:
            os.close(write)

    def test_stdout_and_stderr_are_blocked(self):
        self.in_full_pipes("with_threads")
        self.check_finished(3)  # written to the files anyway

    def test_stdout_and_stderr_are_blocked_and_no_thread_can_start(self):
        self.in_full_pipes("without_threads")
        self.check_finished(3)

    def test_cancelled_in_a_first_message(self):
        ended = self.end("cancelled_message")
        self.assertIn("cancelled 1\n", ended.out)
        self.assertIn("control characters", ended.err)

    def test_cancelled_in_the_end_of_the_run(self):
        ended = self.end("cancelled_close")
        self.assertIn("closed 1\ncancelled 1\n", ended.out)
        self.check_finished(3)

    def test_cancelled_while_a_timer_waits_and_reports(self):
        ended = self.end("cancelled_timer")
        self.assertIn("complete 0\ncancelled 1\n", ended.out)
        self.assertIn("had not ended when the next step", ended.err)

    def test_cancelled_while_a_run_starts(self):
        self.assertIn("cancelled 1\n", self.end("cancelled_open").out)
        self.check_finished(3)

    def test_cancelled_in_any_call(self):
        self.assertIn("called\ncancelled 1\n", self.end("cancelled_calls").out)
        self.check_finished(3)


if __name__ == "__main__":
    rig.main()
