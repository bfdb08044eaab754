# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Ranks of one communicator form one run: mpi_test.py <program>, with MPIRUN and EXAMPLE in the environment."""

import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import rig  # noqa: E402

MPIRUN = os.environ["MPIRUN"].split()
EXAMPLE = os.environ.get("EXAMPLE")
COMMAND = os.environ.get("COMMAND")
# MPICH busy-waits: with more ranks than this, few processors take minutes.
MOST = int(os.environ["MOST"])


class Mpi(rig.Case):
    def launch(self, ranks, *command, **env):
        # Open MPI rejects root by default.
        extra = {"OMPI_ALLOW_RUN_AS_ROOT": 1, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": 1, "TAKT_TABLE": 0, "TAKT_DIR": self.runs, **env}
        started = rig.Started([*MPIRUN, "-n", str(ranks), *command], rig.environment(**extra), subprocess.DEVNULL, subprocess.PIPE,
                              file_bytes=1 << 30, prepare=None)
        self.addCleanup(started.kill)
        return started.end(180 * rig.SLACK)

    def tell(self, ranks, case="all", **env):
        ended = self.launch(ranks, rig.PROGRAM, case, **env)
        self.assertEqual(ended.status, 0, ended)
        lines = [line.split() for line in ended.out.splitlines()]
        self.assertEqual(len(lines), ranks, ended)
        return ended, sorted((int(rank), int(size), int(local), run) for rank, size, local, run in lines)

    def test_ranks_are_one_run(self):
        for ranks in [n for n in (1, 2, 3, 5, 7, 31, 64) if n <= MOST]:
            ended, told = self.tell(ranks)
            self.assertEqual([each[:3] for each in told], [(rank, ranks, rank) for rank in range(ranks)])
            self.assertEqual(len({each[3] for each in told}), 1, ended)
            self.assertEqual(ended.err, "")

    def test_two_jobs_are_two_runs(self):
        runs = {self.tell(2)[1][0][3] for _ in range(2)}
        self.assertEqual(len(runs), 2)

    def test_halves_of_a_job_are_two_runs_even_under_one_name(self):
        for env in ({}, {"TAKT_RUN_ID": "mine"}):
            ended, told = self.tell(5, "halves", **env)
            runs = {}
            for rank, size, _, run in told:
                runs.setdefault(run, []).append((rank, size))
            self.assertEqual(sorted(runs.values()), [[(0, 2), (1, 2)], [(0, 3), (1, 3), (2, 3)]], ended)
            self.assertEqual(ended.err, "")

    def test_messages_of_the_program_are_not_received(self):
        self.tell(3, "traffic")

    def test_communicators_without_ranks_are_rejected(self):
        ended = self.launch(2, rig.PROGRAM, "refusals")
        self.assertEqual(ended.status, 0, ended)
        self.assertEqual(ended.out.count("MPI_COMM_NULL has no ranks; give"), 2)
        self.assertEqual(ended.out.count("an inter-communicator has two groups; give"), 2)

    def test_without_mpi_the_launcher_counts(self):
        for case, words in (("early", "not initialized"), ("late", "is finalized")):
            ended, told = self.tell(2, case)
            self.assertEqual([each[:2] for each in told], [(0, 2), (1, 2)], ended)
            self.assertEqual(ended.err.count(words), 2, ended)

    def test_conflicting_variables_are_reported_and_ignored(self):
        ended, told = self.tell(2, TAKT_RANK=1, TAKT_WORLD_SIZE=9)
        self.assertEqual([each[:2] for each in told], [(0, 2), (1, 2)])
        self.assertEqual(ended.err.count("is 9, but MPI reports 2; using MPI's value"), 2, ended)
        self.assertEqual(ended.err.count("is 1, but MPI reports 0; using MPI's value"), 1, ended)

    def test_the_run_may_be_named(self):
        self.assertEqual({each[3] for each in self.tell(2, TAKT_RUN_ID="mine")[1]}, {"mpi-mine"})

    @unittest.skipUnless(EXAMPLE, "the examples are not built")
    def test_the_example_learns(self):
        ended = self.launch(2, EXAMPLE)
        self.assertEqual(ended.status, 0, ended)
        self.assertIn("on 2 ranks", ended.out)
        summaries = [self.summary(directory) for directory in self.directories()]
        self.assertEqual(sorted(each["run"]["rank"] for each in summaries), [0, 1])
        self.assertEqual({rig.calls(each, "Epoch/Batch/Comm") for each in summaries}, {345})

    @unittest.skipUnless(EXAMPLE and COMMAND, "the examples or the command are not built")
    def test_rank_0_names_the_rank_that_makes_the_others_wait_as_the_report_does(self):
        ended = self.launch(3, EXAMPLE, "--epochs", "3", "--slow-rank", "1", "--by", "20", TAKT_TABLE=1)
        self.assertLess(ended.status, 2, ended)  # three epochs may be too few to reach the accuracy
        report = [COMMAND, "report", self.runs]
        out = subprocess.run(report, capture_output=True, text=True, check=True, timeout=60).stdout
        for page in (ended.out, out):
            self.assertRegex(page, r"\nrank 1 \(host .*\) makes the others\s+wait:\s+Backward\s+takes")
            self.assertRegex(page, r"The\s+others\s+wait\s+in\s+Comm\.")
            self.assertLess(page.index("makes the others"), page.index("imbalance"), page)
        told = json.loads(subprocess.run([*report, "--json"], capture_output=True, text=True, check=True, timeout=60).stdout)
        jobs = {each["run"]["rank"]: each["job"] for each in map(self.summary, self.directories())}
        for field in ("findings", "steps", "one_step_in", "ranks_left_out", "steps_unexposed", "efficiency", "pipeline", "throughput"):
            self.assertEqual(jobs[0][field], told["runs"][0]["job"][field], field)
        self.assertEqual(jobs[0]["steps"], 59)  # of 69, after warm-up


if __name__ == "__main__":
    rig.main()
