# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Tests which tests scripts/test.sh --changed selects: labels_test.py <ctest> <build directory>."""

import json
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CTEST, BUILD = sys.argv.pop(1), sys.argv.pop(1)
sys.path.insert(0, str(ROOT / "scripts"))

import changed  # noqa: E402


def tests(label):
    """Returns the names of the tests with a matching label."""
    done = subprocess.run([CTEST, "--test-dir", BUILD, "--show-only=json-v1", "-L", label], check=True, text=True,
                          stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=120)
    return {test["name"] for test in json.loads(done.stdout)["tests"]}


class LabelsTest(unittest.TestCase):
    def test_a_change_runs_the_tests_of_directories_that_may_include_it(self):
        names = tests(changed.labels(["src/report/console.cpp"]))
        self.assertLessEqual({"unit.console_test", "unit.session_test", "lint.files"}, names)
        self.assertFalse({"ranks_unit.verdict_test", "sample_unit.sampler_test"} & names, names)

    def test_a_change_runs_the_timed_tests_and_those_that_include_it(self):
        names = tests(changed.labels(["exporters/src/wandb/wandb_rows.cpp"]))
        self.assertLessEqual({"exporters_unit.wandb_rows_test", "exporters_unit.exporter_conformance_test.timed"}, names)
        self.assertIn("csv_fuzz", tests(changed.labels(["src/measure/prediction_check.cpp"])))

    def test_a_change_of_the_core_or_of_a_script_runs_all_tests(self):
        for path in ("src/record/fold.cpp", "include/takt/scope.hpp", "scripts/test.sh", "CMakeLists.txt"):
            self.assertEqual(changed.labels(["docs/gpu.md", path]), changed.ALL, path)

    def test_a_changed_page_runs_only_lints(self):
        self.assertEqual(changed.labels(["docs/gpu.md", "README.md", "packaging/conan/conanfile.py"]), "^lint$")

    def test_a_changed_test_is_run(self):
        self.assertIn("unit.csv_test", tests(changed.labels(["tests/unit/report/csv_test.cpp"])))


if __name__ == "__main__":
    unittest.main()
