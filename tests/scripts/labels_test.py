# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Whether scripts/test.sh runs each test where it should: labels_test.py <ctest> <build folder>."""

import json
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CTEST, BUILD = sys.argv.pop(1), sys.argv.pop(1)
# Servers of others, packages, and what looks at sources and pages.
ONCE = ("mlflow.", "wandb.", "mpi.", "nvml.", "page.", "shell.", "consumer.", "headers.", "package.", "reference.", "lint.",
        "torch.")


def tests(*options):
    """The labels of each test, by its name."""
    done = subprocess.run([CTEST, "--test-dir", BUILD, "--show-only=json-v1", *options], check=True, text=True,
                          stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=120)
    labels = {}
    for test in json.loads(done.stdout)["tests"]:
        properties = {each["name"]: each["value"] for each in test.get("properties", [])}
        labels[test["name"]] = properties.get("LABELS", [])
    return labels


class LabelsTest(unittest.TestCase):
    def test_what_runs_once(self):
        every_day = tests()
        for name, labels in every_day.items():
            self.assertEqual("once" in labels, name.startswith(ONCE), name)
        self.assertIn("lint.files", every_day)

    def test_what_runs_at_night(self):
        every_day, night = tests(), tests("-C", "nightly")
        more = night.keys() - every_day.keys()
        self.assertLessEqual({"nightly.event_unit", "nightly.journal_fuzz", "nightly.environment_fuzz"}, more)
        self.assertTrue(all(night[name] == ["nightly"] for name in more), more)
        self.assertEqual(every_day, {name: labels for name, labels in night.items() if name not in more})

    def test_the_first_leg_has_all_and_others_leave_out_what_runs_once(self):
        script = (ROOT / "scripts/test.sh").read_text(encoding="utf-8")
        legs = re.findall(r"^ *leg (\w+)(.*)$", script, re.MULTILINE)
        self.assertGreater(len(legs), 1)
        self.assertEqual(legs[0], ("ci", ""))
        self.assertEqual({options for _, options in legs[1:]}, {" -LE '^once$'"})


if __name__ == "__main__":
    unittest.main()
