# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""takt.h and the Fortran module report the same run as C++, and misuse of them is reported, counted and harmless."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
import rig  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS = {}


def tree(summary):
    """Returns all of a summary that does not depend on time, on the process or on the machine."""
    paths = [(each["path"], each["kind"], each["host"]["n"], each["host"]["warmup_n"], each["items"], each["bytes"], each["skipped"])
             for each in summary["paths"]]
    series = [(summary["paths"][each["path"]]["path"], each["steps"], each["warmup_steps"]) for each in summary["series"]]
    epochs = [(each["epoch"], each["last_step"], each["steps"], each["metrics"]) for each in summary["epochs"]]
    whole = {name: summary[name] for name in ("params", "tags", "losses", "open", "finished", "failed")}
    threads = [each["name"] for each in summary["threads"]]
    return {"paths": paths, "series": series, "threads": threads, "epochs": epochs, "groups": summary["run"]["groups"], **whole}


class Same(rig.Case):
    def report(self, program, *arguments):
        """Returns the tree and the steps of a run."""
        self.setUp()
        rig.PROGRAM = program
        ended = self.run_program(*arguments, TAKT_EXIT_MS=60_000)
        self.assertEqual(ended.err, "")
        rows = [(each["step"], each["batch_path"], each["thread"], each["items"], each["warmup"], each["path"], each["calls"])
                for each in self.steps()]
        return tree(self.summary()), rows

    def test_the_trees_are_equal(self):
        expected = self.report(PROGRAMS["cpp"])
        paths = {each[0]: each for each in expected[0]["paths"]}
        self.assertEqual(paths["Epoch/Batch/Forward/attention"][1:3], ("compute", 6))
        self.assertEqual(paths["Epoch/Batch"][4], 6 * 32)
        self.assertEqual(paths["Epoch/Batch/loss copy"][6], 3)
        for language in sorted(set(PROGRAMS) - {"cpp", "misuse"}):
            with self.subTest(language):
                self.assertEqual(self.report(PROGRAMS[language]), expected)


class Misuse(rig.Case):
    def misuse(self, what):
        rig.PROGRAM = PROGRAMS["misuse"]
        # Folding and writing a million names takes longer than the default under a sanitizer.
        return self.run_program(what, TAKT_TABLE=0, TAKT_EXIT_MS=60_000, timeout=60 * rig.SLACK).err.splitlines()

    def lost(self, what):
        return {each["where"]: each["count"] for each in self.summary()["losses"] if each["what"] == what}

    def test_unbalanced_ends(self):
        lines = self.misuse("unbalanced")
        self.assertEqual(len(lines), 2, lines)  # one for each cause
        self.assertIn("takt_end()", lines[0])
        self.assertIn("takt_begin()", lines[0])
        # Without a name: the region that never began, and the second end that was found later.
        self.assertEqual(self.lost("end_without_start"), {"": 2, "work": 4})
        self.assertEqual(rig.calls(self.summary(), "work"), 100_002)
        self.assertEqual(rig.calls(self.summary(), "work/work"), 1)
        self.assertEqual(rig.open_paths(self.summary()), ["work"])

    def test_an_end_on_another_thread_counts(self):
        self.misuse("elsewhere")
        self.assertEqual(rig.calls(self.summary(), "handed over"), 1)
        self.assertEqual(self.lost("ended_on_another_thread"), {"handed over": 1})
        self.assertEqual(self.lost("end_without_start"), {"handed over": 1})

    def test_a_million_names(self):
        lines = self.misuse("names")
        self.assertEqual(len(lines), 3, lines)
        summary = self.summary()
        self.assertEqual(sum(each["host"]["n"] for each in summary["paths"]), 1_000_000)
        keys = len(summary["keys"]) - 1  # without "(overflow)"
        self.assertLess(keys, 4000)
        self.assertEqual(rig.calls(summary, "(overflow)"), 1_000_000 - keys)
        self.assertEqual(self.lost("keys_over_bound"), {"": 1_000_000 - keys})

    def test_null_and_invalid_arguments(self):
        lines = self.misuse("nothing")
        self.assertEqual(len(lines), 8, lines)
        summary = self.summary()
        self.assertEqual(rig.calls(summary, "Other"), 2)
        self.assertEqual(rig.calls(summary, "odd"), 2)

    def test_the_order_of_calls(self):
        self.misuse("order")
        names = sorted(self.summary(each)["run"]["name"] for each in self.directories())
        self.assertEqual(names, ["again", "misuse"])

    def test_every_way_out_of_a_block_ends_its_regions(self):
        self.assertEqual(self.misuse("leave"), [])
        summary = self.summary()
        self.assertEqual(rig.calls(summary, "left"), 1 + 2 + 1)
        self.assertEqual(rig.calls(summary, "left/left"), 1 + 2 + 1)
        self.assertEqual((summary["open"], summary["losses"]), ([], []))

    def test_a_run_that_is_never_closed(self):
        self.assertEqual(self.misuse("unclosed"), [])
        summary = self.summary()
        self.assertTrue(summary["finished"])
        self.assertFalse(summary["failed"])
        self.assertEqual(rig.calls(summary, "work"), 1)

    def test_streams_without_a_gpu(self):
        self.misuse("streams")
        self.assertEqual(rig.calls(self.summary(), "on a stream"), 2)
        self.assertEqual(rig.calls(self.summary(), "Forward"), 1)


if __name__ == "__main__":
    for name in ("cpp", "c", "misuse", "fortran")[:len(sys.argv) - 1]:
        PROGRAMS[name] = sys.argv.pop(1)
    unittest.main(verbosity=2)
