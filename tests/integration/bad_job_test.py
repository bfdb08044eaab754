# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that do not match, are damaged or died are named, and the others are reported."""

import json
import os
import shutil
import signal
import subprocess
import unittest

import rig

COMMAND = os.environ["COMMAND"]


class BadJob(rig.Case):
    def takt(self, *words, status=0):
        done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True, timeout=60 * rig.SLACK, check=False,
                              cwd=self.scratch, env=rig.environment())
        if status is not None:
            self.assertEqual(done.returncode, status, f"{words}\n--- stdout\n{done.stdout}\n--- stderr\n{done.stderr}")
        return done

    def runs_of(self, *directories, status=0):
        return json.loads(self.takt("report", "--json", *directories, status=status).stdout)["runs"]

    def rank(self, number, *words, world=3, run_id="job", **env):
        self.run_program(*(words or ("names",)), TAKT_RUN_ID=run_id, TAKT_RANK=number, TAKT_WORLD_SIZE=world, **env)
        [directory] = self.runs.glob(f"command-{run_id}/rank-{number}-*")
        return directory

    def test_a_rank_of_another_run_is_reported_separately(self):
        for number in (0, 1):
            self.rank(number)
        other = self.rank(2, run_id="other")
        shutil.copytree(other, self.runs / "command-job" / other.name)
        runs = self.runs_of(self.runs / "command-job")
        self.assertEqual([(each["run_id"], [rank["rank"] for rank in each["ranks"]], each["missing_ranks"]) for each in runs],
                         [("command-job", [0, 1], [2]), ("command-other", [2], [0, 1])])
        out = self.takt("report", self.runs / "command-job").stdout
        self.assertIn("1 of 3 ranks are not in this report: 2\n", out)
        self.assertIn("2 of 3 ranks are not in this report: 0, 1\n", out)

    def test_every_command_distinguishes_ranks_of_two_runs_in_one_directory(self):
        for number in (0, 1):
            self.rank(number)
        other = self.rank(2, run_id="other")
        run = self.runs / "command-job"
        shutil.copytree(other, run / other.name)
        shutil.rmtree(other.parent)
        listed = json.loads(self.takt("ls", "--json", self.runs).stdout)["runs"]
        self.assertEqual([(each["run_id"], each["ranks"], each["directory"]) for each in listed],
                         [("command-other", 1, str(run)), ("command-job", 2, str(run))])
        traced = self.takt("trace", "-o", self.scratch / "line.json", run)
        self.assertIn("these are ranks of 2 runs; using the latest: command-other\n", traced.stderr)
        line = json.loads((self.scratch / "line.json").read_text(encoding="utf-8"))
        self.assertEqual([each["rank"] for each in line["otherData"]["ranks"]], [2])
        self.assertIn(' run="command-other" ', self.takt("watch", "--once", run).stdout)
        self.takt("merge", self.runs, "-o", self.scratch / "all.tar")
        listed = json.loads(self.takt("ls", "--json", self.scratch / "all.tar").stdout)["runs"]
        self.assertEqual([each["run_id"] for each in listed], ["command-other", "command-job"])
        self.rank(0, run_id="third")
        compared = json.loads(self.takt("diff", "--json", "--reason", "a test", run, "--", self.runs / "command-third").stdout)
        self.assertEqual([each["ranks"] for each in compared["base"]], [2, 1])

    def test_a_time_line_of_one_rank_reports_unreadable_data_like_a_report(self):
        for number in (0, 1):
            self.rank(number)
        for journal in self.rank(2).glob("journal-*.tjl"):
            journal.write_bytes(b"")
        of_report = self.takt("report", "--rank", 1, self.runs, status=1).stderr
        of_trace = self.takt("trace", "--rank", 1, "-o", self.scratch / "line.json", self.runs, status=1).stderr
        self.assertIn("no readable data in the journal in ", of_trace)
        self.assertEqual(of_trace, of_report)

    def test_paths_that_some_ranks_lack_report_how_many_have_them(self):
        for number in (0, 1):
            self.rank(number)
        self.rank(2, "stage", 0)
        [run] = self.runs_of(self.runs)
        self.assertEqual({path["total"]["ranks"] for path in run["job"]["paths"]}, {1, 2})
        out = self.takt("report", self.runs).stdout
        self.assertRegex(out, r"\nBatch .* 1 of 3\n")
        self.assertRegex(out, r"\nerase.* 2 of 3\n")

    def test_a_truncated_journal_affects_only_its_own_rank(self):
        directory = self.rank(1)
        for number in (0, 2):
            self.rank(number)
        [journal] = directory.glob("journal-*.tjl")
        whole = journal.read_bytes()
        [before] = self.runs_of(self.runs)
        figures = {each["rank"]: each["paths"] for each in before["ranks"]}
        states = set()
        for left in [0, 1, 63, *range(64, len(whole), len(whole) // 12)]:
            journal.write_bytes(whole[:left])
            done = self.takt("report", "--json", self.runs, status=None)
            [run] = json.loads(done.stdout)["runs"]
            read = {each["rank"]: each for each in run["ranks"]}
            for number in (0, 2):
                self.assertEqual(read[number]["paths"], figures[number])
            if 1 in read:
                states.add(read[1]["state"])
                if read[1]["state"] == "finished":  # the last bytes only mark the end
                    self.assertEqual(read[1]["paths"], figures[1], left)
            else:
                self.assertEqual(done.returncode, 1)
                self.assertIn(directory.name, done.stderr)
                self.assertEqual(run["missing_ranks"], [1])
        self.assertIn("died", states)

    def test_one_of_64_torchrun_processes_is_killed(self):
        world, victim = 64, 17
        started = [self.start("hang", stdin=subprocess.PIPE, RANK=rank, WORLD_SIZE=world, LOCAL_RANK=rank % 8,
                              TORCHELASTIC_RUN_ID="plain", TORCHELASTIC_RESTART_COUNT=0, TAKT_RUN_ID="plain", TAKT_PERIOD_MS=100)
                   for rank in range(world)]
        for each in started:
            self.assertEqual(each.process.stdout.readline(), "ready\n")
        [directory] = self.runs.glob(f"*/rank-{victim}-*")
        self.assertTrue(rig.wait_until(lambda: "Comm" in self.takt("report", directory, status=None).stdout))
        os.kill(started[victim].process.pid, signal.SIGKILL)
        for rank, each in enumerate(started):
            self.assertEqual(each.end(60 * rig.SLACK, "" if rank == victim else "go\n").status, -signal.SIGKILL if rank == victim else 0)
        [run] = self.runs_of(self.runs)
        self.assertEqual([each["rank"] for each in run["ranks"]], list(range(world)))
        self.assertEqual([each["rank"] for each in run["ranks"] if each["state"] != "finished"], [victim])
        out = self.takt("report", self.runs).stdout
        self.assertRegex(out, rf"^rank {victim}: died in Epoch > Batch > Comm, open [\d.]+ \w+ \(thread main\); last heard of at ")
        self.assertEqual(("\n" + out).count("\nrank "), 1)
        shutil.rmtree(directory)
        out = self.takt("report", self.runs).stdout
        self.assertIn("63 ranks, took", out)
        self.assertIn(f"1 of 64 ranks are not in this report: {victim}\n", out)


if __name__ == "__main__":
    rig.main()
