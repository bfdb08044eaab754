# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""The data of all ranks arrives on rank 0: reduce_test.py <program>, with MPIRUN in the environment."""

import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import rig  # noqa: E402

MPIRUN = os.environ["MPIRUN"].split()
# options of mpirun with which the other ranks survive one rank's death; MPICH has none
GO_ON = os.environ["GO_ON"].split()
COMMAND = os.environ.get("COMMAND")
MOST = int(os.environ["MOST"])
MANY = min(MOST, 64)


class Reduce(rig.Case):
    def launch(self, ranks, *case, options=(), **env):
        extra = {"OMPI_ALLOW_RUN_AS_ROOT": 1, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": 1, "TAKT_TABLE": 0, "TAKT_DIR": self.runs, **env}
        command = [*MPIRUN, *options, "-n", str(ranks), rig.PROGRAM, *map(str, case)]
        started = rig.Started(command, rig.environment(**extra), subprocess.DEVNULL, subprocess.PIPE, file_bytes=1 << 30,
                              prepare=None)
        self.addCleanup(started.kill)
        return started.end(180 * rig.SLACK)

    def reduce(self, ranks, *case, **how):
        ended = self.launch(ranks, *case, **how)
        self.assertEqual(ended.status, 0, ended)
        return ended

    def assert_done(self, ended, ranks, missing):
        """Checks that all ranks except rank 0 and the missing one are done; mpirun may join two lines."""
        self.assertIn(f"rank 0 not done, {ranks - 1} of {ranks} -{missing}\n", ended.out, ended)
        self.assertEqual(sorted(int(rank) for rank in re.findall(r"rank (\d+) done", ended.out)),
                         [rank for rank in range(1, ranks) if rank != missing], ended)

    def test_the_record_of_all_ranks_equals_their_files(self):
        for ranks in [n for n in (1, 2, 3, 5, 7, 31, 64) if n <= MOST]:
            ended = self.reduce(ranks, "all", 64)
            self.assertEqual(ended.out.splitlines(), [f"rank 0 done, {ranks} of {ranks}", "as in files"], ended)
            self.assertEqual(ended.err, "")

    def test_rank_0_reports_the_job(self):
        ended = self.reduce(3, "all", 4, TAKT_TABLE=1)
        self.assertEqual(ended.out.count("Takt: "), 1, ended)
        self.assertRegex(ended.out, r"Takt: reduce, run \S+, 3 ranks, took ")
        self.assertRegex(ended.out, r"\n  path 3 +6 .* 2 of 3\n")
        # The position of the line break depends on the length of the directory's name.
        self.assertIn(f"each rank to its end: takt report {self.runs}/", " ".join(ended.out.split()))
        jobs = {each["run"]["rank"]: each["job"] for each in map(self.summary, self.directories())}
        self.assertEqual([jobs[1], jobs[2]], [None, None])
        self.assertEqual((jobs[0]["ranks"], jobs[0]["world_size"], jobs[0]["missing_ranks"]), (3, 3, []))
        path = next(each for each in jobs[0]["paths"] if each["path"] == "Batch/path 0")
        self.assertEqual((path["n"], path["total"]["min_rank"], path["total"]["max_rank"]), (9, 0, 2))
        self.assertEqual((path["total"]["min_ns"], path["total"]["max_ns"]), (3_003_000, 9_003_000))

    def test_rank_0_prints_the_trials_of_all_ranks_as_the_report_does(self):
        ended = self.reduce(3, "trials", TAKT_TABLE=1)
        printed = ended.out[ended.out.index("Takt: trials of reduce, run "):]
        self.assertEqual(printed.count(", 3 ranks, took "), 1 + 1, ended)  # and the table's
        rates = re.findall(r"(?m)^([012]) +\S+ +.* samples/s ", printed)
        self.assertEqual(rates, ["0", "1", "2"], ended)
        if COMMAND:
            told = subprocess.run([COMMAND, "report", next(self.runs.iterdir())], stdout=subprocess.PIPE, text=True, check=True).stdout
            told = told[told.index("Takt: trials of reduce, run "):].rstrip()
            self.assertIn(told, printed)

    def test_the_same_for_more_paths(self):
        self.assertIn("as in files", self.reduce(3, "all", 500).out)

    def test_only_the_absent_rank_is_missing(self):
        for ranks, absent in ((2, 1), (MANY, 1), (MANY, 4)):
            ended = self.reduce(ranks, "without", absent)
            self.assert_done(ended, ranks, absent)
            self.assertEqual(ended.err.count(f"{ranks - 1} of {ranks} ranks answered, each within 3000 ms; missing: {absent}; takt report"),
                             1, ended)

    def test_without_rank_0_the_others_continue(self):
        ended = self.reduce(3, "without", 0)
        self.assertEqual(sorted(re.findall(r"rank \d not done", ended.out)), ["rank 1 not done", "rank 2 not done"], ended)
        self.assertNotRegex(ended.out, r"rank \d done", ended)
        self.assertEqual(ended.err.count("took its part within 3000 ms"), 2, ended)

    def test_a_rank_that_was_killed(self):
        dead = MANY // 2
        ended = self.launch(MANY, "death", dead, options=GO_ON)
        if GO_ON:
            self.assert_done(ended, MANY, dead)
        if COMMAND:
            out = subprocess.run([COMMAND, "report", self.runs], capture_output=True, text=True, timeout=60).stdout
            self.assertRegex(out, rf"(?m)^rank {dead}: died.* in Batch > Forward", out)
            if GO_ON:
                self.assertEqual(out.count(": died"), 1, out)

    def test_halves_under_traffic(self):
        ended = self.reduce(5, "halves")
        self.assertEqual(sorted(re.findall(r"rank 0 done, \d of \d", ended.out)), ["rank 0 done, 2 of 2", "rank 0 done, 3 of 3"], ended)
        self.assertEqual(ended.err, "")

    def test_a_second_reduction_has_more_data(self):
        ended = self.reduce(3, "again")
        self.assertEqual(ended.out.splitlines(), ["round 1: 9", "round 2: 18"], ended)
        self.assertEqual(ended.err, "")

    def test_at_the_end_of_mpi(self):
        ended = self.reduce(5, "finalize")
        self.assertEqual(ended.out.count("not yet"), 5, ended)
        self.assertIn("rank 0 done, 5 of 5\n", ended.out, ended)
        self.assertEqual(ended.err, "")
        ended = self.reduce(2, "finalize-closed")
        self.assertIn("rank 0 not done\n", ended.out, ended)
        self.assertEqual(ended.err.count("it is closed; reduce before"), 2, ended)

    def test_data_that_cannot_be_reduced_is_reported(self):
        for case, words in (("early", "MPI is not initialised; this rank adds nothing"), ("late", "MPI has been finalised; this rank adds"),
                            ("unnamed", "give the Session takt::mpi::options()"), ("closed", "it is closed; reduce before")):
            ended = self.reduce(2, case)
            self.assertEqual(ended.err.count(words), 2, ended)
            self.assertNotIn("1\n", ended.out)


if __name__ == "__main__":
    rig.main()
