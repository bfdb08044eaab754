# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""The command `takt` lists the runs of a folder; the program is the digits example."""

import json
import os
import subprocess
import unittest

import rig

COMMAND = os.environ["COMMAND"]


class Runs(rig.Case):
    def takt(self, *words, status=0, **env):
        done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True, timeout=60 * rig.SLACK, check=False,
                              cwd=self.scratch, env=rig.environment(TAKT_DIR=self.runs, **env))
        self.assertEqual(done.returncode, status, f"{words}\n--- stdout\n{done.stdout}\n--- stderr\n{done.stderr}")
        return done

    def train(self, *options):
        """Returns the folder of the run. One epoch is too little to learn enough: the status does not count."""
        before = set(self.runs.glob("*"))
        self.start("--epochs", 1, *options).end(120 * rig.SLACK)
        new, = set(self.runs.glob("*")) - before
        return new

    def listed(self, *words):
        document = json.loads(self.takt("ls", "--json", *words).stdout)
        self.assertEqual(document["schema"], "takt-ls/1")
        return document["runs"]

    def test_runs_are_listed_with_the_newest_first(self):
        old = self.train()
        new = self.train("--batch", 32)
        runs = self.listed()
        self.assertEqual([run["run_id"] for run in runs], [new.name, old.name])
        self.assertEqual([run["steps"] for run in runs], [45, 23])
        self.assertEqual([(run["ranks"], run["world_size"]) for run in runs], [(1, 1), (1, 1)])
        self.assertEqual({run["name"] for run in runs}, {"digits"})
        self.assertTrue(all(run["items_per_s"] > 0 and run["start_unix_ns"] > 0 for run in runs))
        self.assertEqual(runs[0]["params"]["batch"], "32")
        lines = self.takt("ls").stdout.splitlines()
        self.assertEqual(len(lines), 3)
        self.assertTrue(lines[1].startswith(new.name), lines)
        self.assertRegex(lines[1], r"digits  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d +1 +45 +[\d .]+M? +(finished|failed)$")

    def test_filters_are_all_to_hold(self):
        old = self.train()
        new = self.train("--batch", 32)
        names = lambda *words: [run["run_id"] for run in self.listed(*words)]
        self.assertEqual(names("--name", "dig*"), [new.name, old.name])
        self.assertEqual(names("--name", "dig"), [])
        self.assertEqual(names("--param", "batch=32"), [new.name])
        self.assertEqual(names("--param", "batch", "--param", "batch=6*"), [old.name])
        self.assertEqual(names("--param", "batch=32", "--param", "batch=64"), [])
        self.assertEqual(names("--tag", "model=conv*", "--param", "batch=64"), [old.name])
        self.assertEqual(names("--tag", "nobody"), [])
        self.assertIn("none of 2 runs is as you ask", self.takt("ls", "--tag", "nobody").stderr)

    def test_what_cannot_be_read_is_told_and_the_others_are_there(self):
        run = self.train()
        empty = self.runs / "another" / "rank-0-0-1"
        empty.mkdir(parents=True)
        done = self.takt("ls", status=1)
        self.assertIn(run.name, done.stdout)
        self.assertIn("another", done.stderr)
        self.assertIn("there is no folder", self.takt("ls", self.scratch / "nowhere", status=1).stderr)

    def test_ranks_that_are_missing_are_counted(self):
        self.start("--epochs", 1, RANK=1, LOCAL_RANK=1, WORLD_SIZE=4, LOCAL_WORLD_SIZE=4, MASTER_ADDR="127.0.0.1", MASTER_PORT=29500).end(120 * rig.SLACK)
        run, = self.listed()
        self.assertEqual((run["ranks"], run["world_size"]), (1, 4))
        self.assertIn(" 1 of 4 ", self.takt("ls").stdout)


if __name__ == "__main__":
    rig.main()
