# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""A forked child neither adds to the parent's run nor ends it, and may have its own run."""

import os
import unittest

import rig


class Fork(rig.Case):
    def recorded(self, ended, what="steps"):
        return int(ended.out.split(f"{what} ")[1].split()[0])

    def assert_parents_run(self, ended, directory=None):
        """Checks that exactly the parent's data was recorded, once."""
        summary = self.summary(directory)
        batches = self.recorded(ended)
        self.assertEqual(rig.calls(summary, "Batch"), batches)
        self.assertEqual(rig.calls(summary, "Batch/Forward"), batches)
        self.assertEqual(sum(each["steps"] for each in summary["series"]), batches)
        self.assertFalse(summary["failed"])
        self.assertEqual(summary["params"], {})
        self.assert_no_parts(directory)
        return summary

    def test_child_that_exits_leaves_the_parents_run_alone(self):
        ended = self.run_program("child_exits")
        summary = self.assert_parents_run(ended)
        self.assertEqual(rig.calls(summary, "open at the fork"), 1)
        self.assertEqual(len(self.steps()), 20)
        self.assertEqual(ended.out.count("Takt: "), 1, ended)
        self.assertEqual(ended.err, "")

    def test_child_that_returns_from_main_with_the_parents_session_on_its_stack(self):
        ended = self.run_program("child_returns")
        self.assert_parents_run(ended)
        self.assertEqual(ended.out.count("Takt: "), 1, ended)
        self.assertEqual(ended.err, "")

    def test_child_with_a_run_of_its_own(self):
        ended = self.run_program("child_session", TAKT_TRACE=1)
        parent, child = sorted(self.directories(), key=lambda directory: "child" in str(directory))
        self.assert_parents_run(ended, parent)
        own = self.summary(child)
        self.assertEqual(own["run"]["name"], "child")
        self.assertNotEqual(own["run"]["pid"], self.summary(parent)["run"]["pid"])
        self.assertEqual(rig.calls(own, "Batch"), 11)
        self.assertEqual(len(self.steps(child)), 11)
        self.assertEqual([thread["name"] for thread in own["threads"]], ["main", "thread 1"])
        self.assertLess(own["wall_ns"], self.summary(parent)["wall_ns"])
        self.assertGreater(own["run"]["start_unix_ns"], self.summary(parent)["run"]["start_unix_ns"])
        self.assertLessEqual(own["uncovered_ns"], own["wall_ns"])
        self.assertEqual(own["losses"], [])
        self.assert_no_parts(child)
        self.assertEqual(ended.out.count("Takt: parent, run "), 1, ended)
        self.assertEqual(ended.out.count("Takt: child, run "), 1, ended)
        self.assertEqual(ended.err, "")

    # In a debugger the child waits in SizeClassAllocator64::GetFromAllocator before any of our code: a thread that does
    # not exist in the child held the lock of AddressSanitizer's allocator.
    @unittest.skipIf("OWN_ALLOCATOR" in os.environ, "a child of threads that allocate may hang in a sanitizer's allocator")
    def test_forks_while_eight_threads_record_and_a_background_thread_collects(self):
        ended = self.run_program("storm", 200 if rig.SLACK == 1 else 20, timeout=120 * rig.SLACK, TAKT_PERIOD_MS=10, TAKT_TABLE=0)
        summary = self.assert_parents_run(ended)
        self.assertEqual(rig.calls(summary, "work"), self.recorded(ended, "work"))
        self.assertEqual(len(self.directories()), 1)
        self.assertEqual(ended.err, "")

    @unittest.skipIf("OWN_ALLOCATOR" in os.environ, "a child of threads that allocate may hang in a sanitizer's allocator")
    def test_forks_while_another_thread_uses_takt_for_the_first_time(self):
        ended = self.run_program("first_uses", 300, timeout=120 * rig.SLACK)
        self.assertEqual(ended.err, "")


if __name__ == "__main__":
    rig.main()
