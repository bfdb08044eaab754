# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Regions are ranges of a profiler, and the ranges equal the program's regions."""

import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))
import rig  # noqa: E402

# (key, kind, its Batch); None: the top range ends.
IN_ORDER = [[("Batch", "other", step), ("Forward", "compute", step), None, ("Comm", "comm", step),
             ("Optimizer", "compute", step), None, None, None] for step in (0, 1)]
OUT_OF_ORDER = [("IO", "io", 1), ("Comm", "comm", 1), None, None, ("Comm", "comm", 1), None]
# IO ends on another thread; Epoch is shown in two parts.
ELSEWHERE = [("IO", "io", 1), ("Epoch", "other", 1), None, None, ("Epoch", "other", 1), ("Other", "other", 1), None, None]
FORWARD = ("Forward", "compute", 1)
DEEP = 64 * [FORWARD] + 6 * [FORWARD, None] + 64 * [None]
MAIN = sum(IN_ORDER, []) + OUT_OF_ORDER + ELSEWHERE + DEEP
STILL_OPEN = [("Backward", "compute", 1), None]
THREAD = [("on a thread", "io", None), None]


class Ranges(unittest.TestCase):
    def run_program(self, which, *words, **env):
        self.log = pathlib.Path(os.environ["SCRATCH"]) / f"{which}.log"
        self.log.unlink(missing_ok=True)
        done = subprocess.run([os.environ[which], *words], capture_output=True, text=True, check=False, timeout=60 * rig.SLACK,
                              env=rig.environment(RANGES_LOG=self.log, TAKT_TABLE=0, **env))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def told(self, thread):
        lines = (line.split(" ", 1) for line in self.log.read_text(encoding="utf-8").splitlines())
        return [words for number, words in lines if int(number) == thread]

    @unittest.skipUnless("NVTX" in os.environ, "built without NVTX")
    def test_nvtx(self):
        self.assertEqual(self.run_program("NVTX", NVTX_INJECTION64_PATH=os.environ["FAKE_NVTX"]), "active\n")
        strings = [each for each in self.told(0) if each.startswith("string ")]
        self.assertEqual(sorted(strings), sorted(set(strings)))
        self.assertEqual(self.told(0)[0], "domain takt")

        def words(ranges):
            return ["pop takt" if each is None else f"push takt {each[0]} {each[1]}" + ("" if each[2] is None else f" {each[2]}")
                    for each in ranges]
        self.assertEqual([each for each in self.told(0)[1:] if each not in strings], words(MAIN + STILL_OPEN))
        self.assertEqual(self.told(1), ["string on a thread", *words(THREAD)])

    @unittest.skipUnless("NVTX" in os.environ, "built without NVTX")
    def test_nvtx_ranges_of_trials_have_their_names(self):
        self.run_program("NVTX", "trials", NVTX_INJECTION64_PATH=os.environ["FAKE_NVTX"])
        names = {each.split(" trial ")[1].split(" ")[0] for each in self.told(0) if " trial " in each}
        self.assertEqual(names, {"SYNTHETIC", "IO", "FULL"})
        loads = [each for each in self.told(0) if each.startswith("push takt IO io")]
        self.assertEqual(len(loads), 1 + 1 + 4 + 4)  # begin(), SYNTHETIC's batch, a batch of each trial of IO and FULL

    @unittest.skipUnless("NVTX" in os.environ, "built without NVTX")
    def test_nvtx_without_a_profiler(self):
        self.assertEqual(self.run_program("NVTX"), "not active\n")

    def test_roctx(self):
        self.assertEqual(self.run_program("ROCTX", LD_LIBRARY_PATH=os.environ["FAKE_ROCTX"]), "active\n")

        def words(ranges):
            return ["pop" if each is None else f"push {each[0]}" for each in ranges]
        self.assertEqual(self.told(0), words(MAIN + STILL_OPEN))
        self.assertEqual(self.told(1), words(THREAD))

    def run_flat(self, which, profiler, **env):
        done = subprocess.run([os.environ[which]], capture_output=True, text=True, check=False, timeout=60 * rig.SLACK,
                              env=rig.environment(RANGES_PROFILER=profiler, TAKT_TABLE=0, **env))
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    @unittest.skipUnless("NVTX_FLAT" in os.environ, "built without NVTX, or with a sanitizer")
    def test_a_million_nvtx_ranges_take_no_memory(self):
        self.run_flat("NVTX_FLAT", os.environ["FAKE_NVTX"], NVTX_INJECTION64_PATH=os.environ["FAKE_NVTX"])

    @unittest.skipUnless("ROCTX_FLAT" in os.environ, "built with a sanitizer")
    def test_a_million_roctx_ranges_take_no_memory(self):
        self.run_flat("ROCTX_FLAT", "libroctx64.so.4", LD_LIBRARY_PATH=os.environ["FAKE_ROCTX"])

    def test_roctx_without_its_library(self):
        self.assertEqual(self.run_program("ROCTX"), "not active\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
