# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Takt's threads take no signals and, on several cores, not the core of the training thread; without these threads the
run is still reported."""

import os
import re
import signal
import unittest

import rig


THREADS = ["takt", "takt-export", "takt-sigterm"]


class Threads(rig.Case):
    def test_a_profilers_signals_go_to_the_programs_threads(self):
        ended = self.run_program("signals")
        handled, on_takts, closed = map(int, re.search(r"handled (\d+) on takts threads (\d+) closed (\d)", ended.out).groups())
        self.assertGreater(handled, 10)
        self.assertEqual(on_takts, 0)
        self.assertEqual(closed, 1)
        self.assertEqual(ended.err, "")

    def test_every_signal_is_blocked_in_takts_threads_and_none_in_the_programs(self):
        ended = self.run_program("masks")
        masks = [int(mask, 16) for mask in re.findall(r"blocked ([0-9a-f]+)", ended.out)]
        self.assertEqual(len(masks), len(THREADS))
        kept_by_the_c_library = {32, 33}  # it does not block these two
        unblockable = {signal.SIGKILL, signal.SIGSTOP}
        for mask in masks:
            blocked = {number for number in range(1, 65) if mask >> (number - 1) & 1}
            self.assertEqual(set(range(1, 65)) - blocked - kept_by_the_c_library, unblockable)
        self.assertIn("main blocks SIGTERM 0", ended.out)

    def test_a_signal_ends_the_program_as_it_would_without_takt(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(number):
                started = self.start("wait")
                self.assertEqual(started.process.stdout.readline(), "ready\n")
                started.process.send_signal(number)
                ended = started.end(30)
                self.assertEqual(ended.status, -number, ended)
                self.assertEqual(ended.err, "")

    def cores_of_threads(self, way):
        return {name: int(cores) for name, cores in re.findall(r"^(main|takt\S*) (-?\d+)$", self.run_program(way).out, re.M)}

    def test_on_one_core_takts_threads_share_it(self):
        self.assertEqual(self.cores_of_threads("pinned"), dict.fromkeys(["main", *THREADS, "takt-sync"], 1))

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "there is one core only")
    def test_on_several_cores_takts_threads_avoid_the_core_they_were_started_on(self):
        cores = len(os.sched_getaffinity(0))
        seen = self.cores_of_threads("free")
        # The thread that writes the journal starts it, and it also avoids that thread's core if possible.
        self.assertIn(seen.pop("takt-sync"), {cores - 1, max(1, cores - 2)})
        self.assertEqual(seen, {"main": cores, **dict.fromkeys(THREADS, cores - 1)})

    def test_without_a_thread_the_run_is_reported_when_it_closes(self):
        ended = self.run_program("without_threads")
        self.assertIn("cannot start a background thread", ended.err)
        self.assertEqual(len(ended.err.splitlines()), 1, ended)
        self.assertIn("shown 2 rows 5 finished 1", ended.out)
        self.assertIn("Takt: threads, run ", ended.out)
        summary = self.summary()
        self.assertTrue(summary["finished"])
        self.assertEqual(rig.calls(summary, "Batch/Forward"), 5)
        self.assertEqual(len(self.steps()), 5)
        self.assert_no_parts()


if __name__ == "__main__":
    rig.main()
