# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the judgement of scripts/leg.sh: small tests that pass, fail, crash or are skipped, with and without the label
`timed`."""

import datetime
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CTEST = sys.argv.pop(1)

PASSES = "true"
FAILS = "echo it is so; exit 1"
ONCE = "echo 'too late for {name}'; test -e '{name}' || {{ touch '{name}'; exit 1; }}"  # fails only the first time
SKIPPED = "exit 77"
SKIPPED_AT_SECOND = "test -e '{name}' && exit 77; touch '{name}'; exit 1"
CRASHES_ONCE = "test -e '{name}' || {{ touch '{name}'; kill -SEGV $$; }}"
RACES_ONCE = "test -e '{name}' || {{ touch '{name}'; echo 'WARNING: ThreadSanitizer: data race (pid=1)'; seq 50; exit 66; }}"
# Like the output of a test of ctest itself.
PRINTS_A_RESULT = "echo '1/1 Test #1: good ......   Passed   0.00 sec'; echo '100% tests passed, 0 tests failed out of 1'; exit 1"


class Leg:
    """Tests given as (name, label, shell commands), run and judged as a leg called `tiny`."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)

    def run(self, *tests, before=""):
        lines = []
        for name, label, what in tests:
            # Names like those of Catch2's tests.
            body = what.format(name=f"{name}.state") if "{name}" in what else what
            lines.append(f"add_test([=[{name}]=] bash -c [=[{body}]=])")
            lines.append(f"set_tests_properties([=[{name}]=] PROPERTIES SKIP_RETURN_CODE 77 LABELS \"{label}\" "
                         f"WORKING_DIRECTORY [=[{self.directory}]=])")
        (self.directory / "CTestTestfile.cmake").write_text("\n".join(lines) + "\n", encoding="utf-8")
        ctest = f"'{CTEST}' --test-dir '{self.directory}' --output-on-failure --no-tests=error"
        script = f"""set -euo pipefail
            source scripts/lib.sh
            source scripts/leg.sh
            {before}
            {ctest} -j3 </dev/null >'{self.directory}/test.log' 2>&1 || true
            judge tiny '{self.directory}/test.log' {ctest} >'{self.directory}/second.log' 2>&1
            verdict"""
        done = subprocess.run(["bash", "-c", script], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, text=True, check=False, timeout=300)
        self.status = done.returncode
        self.lines = done.stdout.splitlines()
        return self


class LegTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="takt-leg-")
        self.addCleanup(scratch.cleanup)
        self.leg = Leg(scratch.name)

    def judged(self, expected, *tests, **more):
        """`expected`: the last two lines, and True if the whole leg passed."""
        leg = self.leg.run(*tests, **more)
        self.assertEqual((leg.lines[-2:], leg.status), expected, "\n".join(leg.lines))
        return "\n".join(leg.lines)

    def test_passed(self):
        said = self.judged((["tiny:           0:00 min  0 failed out of 2, 0 skipped, 0 passed at a second try", "2 passed, 0 failed"], 0),
                           ("good", "", PASSES), ("good, too", "timed", PASSES))
        self.assertNotIn("second try:", said)

    def test_a_timed_test_may_fail_once(self):
        said = self.judged((["tiny:           0:00 min  0 failed out of 2, 0 skipped, 1 passed at a second try", "2 passed, 0 failed"], 0),
                           ("good", "", PASSES), ("unit.A session: it ends (in time)", "timed", ONCE))
        self.assertIn("needed a second try: tiny: unit.A session: it ends (in time)\n", said)
        self.assertIn("\ntoo late for unit.A session", said)

    def test_a_timed_test_may_not_fail_twice(self):
        said = self.judged((["tiny:           0:00 min  1 failed out of 1, 0 skipped, 0 passed at a second try", "0 passed, 1 failed"], 1),
                           ("bad", "timed", FAILS))
        self.assertIn("== failed in tiny\n", said)
        self.assertIn("\nit is so", said)
        self.assertNotIn("second try:", said)

    def test_other_tests_are_not_repeated(self):
        for label in ("", "device", "timed_differently"):
            with self.subTest(label):
                self.judged((["tiny:           0:00 min  1 failed out of 2, 0 skipped, 0 passed at a second try", "1 passed, 1 failed"], 1),
                            ("good", "timed", PASSES), (f"once{label}", label, ONCE))

    def test_a_label_among_others(self):
        self.judged((["tiny:           0:00 min  0 failed out of 1, 0 skipped, 1 passed at a second try", "1 passed, 0 failed"], 0),
                    ("once", "device;timed", ONCE))

    def test_failures_unrelated_to_time_are_not_repeated(self):
        self.judged((["tiny:           0:00 min  3 failed out of 4, 0 skipped, 0 passed at a second try", "1 passed, 3 failed"], 1),
                    ("good", "", PASSES), ("crash", "timed", CRASHES_ONCE), ("race", "timed", RACES_ONCE),
                    ("untimed race", "", RACES_ONCE))

    def test_a_missing_program_is_reported(self):
        self.judged((["tiny:           0:00 min  1 failed out of 2, 0 skipped, 0 passed at a second try", "1 passed, 1 failed"], 1),
                    ("good", "", PASSES), ("gone", "timed", PASSES),
                    before=f"sed -i 's/gone]=] bash/gone]=] no_such_program/' '{self.leg.directory}/CTestTestfile.cmake'")

    def test_skipped(self):
        self.judged((["tiny:           0:00 min  1 failed out of 3, 1 skipped, 0 passed at a second try", "1 passed, 1 failed"], 1),
                    ("good", "", PASSES), ("skipped", "timed", SKIPPED), ("later", "timed", SKIPPED_AT_SECOND))

    def test_all_at_once(self):
        said = self.judged((["tiny:           0:00 min  2 failed out of 6, 1 skipped, 1 passed at a second try", "3 passed, 2 failed"], 1),
                           ("good", "", PASSES), ("once", "timed", ONCE), ("bad", "timed", FAILS), ("untimed", "", ONCE),
                           ("skipped", "", SKIPPED), ("good, too", "timed", PASSES))
        self.assertIn("needed a second try: tiny: once\n", said)
        self.assertLess(said.index("== failed in tiny"), said.index("needed a second try"))

    def test_a_tests_output_is_not_a_result(self):
        self.judged((["tiny:           0:00 min  1 failed out of 2, 0 skipped, 0 passed at a second try", "1 passed, 1 failed"], 1),
                    ("good", "", PASSES), ("liar", "", PRINTS_A_RESULT))

    def test_many_failures_are_not_repeated(self):
        self.judged((["tiny:           0:00 min  11 failed out of 11, 0 skipped, 0 passed at a second try", "0 passed, 11 failed"], 1),
                    *((f"once {number}", "timed", ONCE) for number in range(11)))

    def test_twice_in_a_week(self):
        day = datetime.datetime.now(datetime.timezone.utc).date()
        diary = self.leg.directory / "second-tries.txt"
        diary.write_text(f"{day - datetime.timedelta(days=8)} tiny: once\n{day} tiny: another\n", encoding="utf-8")
        self.assertIn("needed a second try: tiny: once\n", "\n".join(self.leg.run(("once", "timed", ONCE)).lines))
        (self.leg.directory / "once.state").unlink()
        self.assertIn("needed a second try: tiny: once (2 times in a week: mend its cause)",
                      self.leg.run(("once", "timed", ONCE)).lines)
        self.assertEqual(len(diary.read_text(encoding="utf-8").splitlines()), 4)

    def test_the_slowest(self):
        results = ("   Passed    ", "***Failed    ", "***Timeout ", "***Skipped   ", "Subprocess aborted***Exception:   ")
        log = [f" {number}/12 Test #{number}: unit.A test: of {number} s (or so) ...{results[number % 5]}{number}.25 sec"
               for number in range(1, 13)]
        ended = subprocess.run(["bash", "-c", "set -euo pipefail; source scripts/leg.sh; slowest /dev/stdin"], cwd=ROOT, check=True,
                               input="\n".join([*log, "Total Test time (real) = 99.00 sec"]), stdout=subprocess.PIPE, text=True)
        self.assertEqual(ended.stdout.splitlines(),
                         [f"{number}.25 s  unit.A test: of {number} s (or so)" for number in range(12, 2, -1)])

    def test_no_test_at_all(self):
        self.judged((["tiny:           0:00 min  no test ran", "0 passed, 1 failed"], 1))


if __name__ == "__main__":
    unittest.main()
