# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""The command `takt` lists the runs of a directory and compares runs of the digits example."""

import json
import os
import shutil
import subprocess
import unittest

import rig

COMMAND = os.environ["COMMAND"]


class Runs(rig.Case):
    def takt(self, *words, status=0, **env):
        done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True, timeout=60 * rig.SLACK, check=False,
                              cwd=self.scratch, env=rig.environment(TAKT_DIR=self.runs, **env))
        if status is not None:
            self.assertEqual(done.returncode, status, f"{words}\n--- stdout\n{done.stdout}\n--- stderr\n{done.stderr}")
        return done

    def train(self, *options):
        """Returns the run's directory. Ignores the exit status, because one epoch is too short to reach the
        accuracy."""
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

    def test_all_filters_must_match(self):
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
        self.assertIn("none of 2 runs matches", self.takt("ls", "--tag", "nobody").stderr)

    def test_unreadable_files_are_reported_and_the_others_are_listed(self):
        run = self.train()
        empty = self.runs / "another" / "rank-0-0-1"
        empty.mkdir(parents=True)
        done = self.takt("ls", status=1)
        self.assertIn(run.name, done.stdout)
        self.assertIn("another", done.stderr)
        self.assertIn("there is no directory", self.takt("ls", self.scratch / "nowhere", status=1).stderr)

    def test_inaccessible_directories_are_reported(self):
        run = self.train()
        closed = self.runs / "closed"
        closed.mkdir(mode=0)
        try:
            done = subprocess.run([COMMAND, "ls", self.runs], capture_output=True, text=True, check=False, timeout=60 * rig.SLACK,
                                  env=rig.environment(), preexec_fn=rig.without_might)
            compared = subprocess.run([COMMAND, "diff", self.runs, "--", self.runs], capture_output=True, text=True, check=False,
                                      timeout=60 * rig.SLACK, env=rig.environment(), preexec_fn=rig.without_might)
            newest = subprocess.run([COMMAND, "report", self.runs], capture_output=True, text=True, check=False,
                                    timeout=60 * rig.SLACK, env=rig.environment(), preexec_fn=rig.without_might)
        finally:
            closed.chmod(0o700)
        told = f"takt: {closed} cannot be opened: Permission denied; run takt as the user who ran the program\n"
        self.assertEqual((done.returncode, done.stderr), (1, told))
        self.assertIn(run.name, done.stdout)
        self.assertIn("is on both sides", compared.stderr)
        self.assertEqual((newest.returncode, newest.stderr), (0, told))

    def test_ranks_that_are_missing_are_counted(self):
        self.start("--epochs", 1, RANK=1, LOCAL_RANK=1, WORLD_SIZE=4, LOCAL_WORLD_SIZE=4, MASTER_ADDR="127.0.0.1", MASTER_PORT=29500).end(120 * rig.SLACK)
        run, = self.listed()
        self.assertEqual((run["ranks"], run["world_size"]), (1, 4))
        self.assertIn(" 1 of 4 ", self.takt("ls").stdout)

    # Comparing

    def sides(self, count, *new_options):
        """Makes `count` runs for each side, alternately."""
        base, new = [], []
        for _ in range(count):
            base.append(self.train())
            new.append(self.train(*new_options))
        return base, new

    def test_three_alternating_runs_per_side_have_an_interval(self):
        base, new = self.sides(3)
        document = json.loads(self.takt("diff", "--json", *base, "--", *new).stdout)
        self.assertEqual(document["schema"], "takt-diff/1")
        self.assertEqual([run["run"] for run in document["base"]], [run.name for run in base])
        step = document["regions"][0]
        self.assertEqual(step["path"], "(step)")
        self.assertEqual({figure["basis"] for region in document["regions"] for figure in region["figures"]} - {"pairs", "runs"}, set())
        self.assertEqual((document["statistic"], document["pairs"], document["in_turn"]), ("p25", 3, True))
        self.assertEqual({region["figures"][0]["figure"] for region in document["regions"]}, {"p25"})
        self.assertLess(step["figures"][0]["low"], step["figures"][0]["change"])
        self.assertEqual((document["obstacles"], document["reason"], document["answer"]), ([], None, None))
        text = self.takt("diff", *base, "--", *new).stdout
        self.assertRegex(text, r"\Aa step takes .* instead of .*, by its p25: ")
        self.assertIn("samples/s", text)
        self.assertIn("of 3 pairs of adjacent runs", text)
        # Not alternating, so the machine may cause the difference.
        document = json.loads(self.takt("diff", "--json", "--fail-on", "1000%", base[0], new[0], base[1], "--", new[1], base[2], new[2], status=3).stdout)
        self.assertEqual((document["in_turn"], document["answer"], document["pairs"]), (False, "inconclusive", 0))
        self.assertEqual({region["mark"] for region in document["regions"]}, {None})
        self.assertEqual({figure["basis"] for region in document["regions"] for figure in region["figures"]}, {"runs"})

    def test_the_deciding_metric_can_be_chosen(self):
        base, new = self.sides(1)
        for word, figure in (("p50", "p50"), ("mean", "mean"), ("p95", "p95"), ("throughput", "time_an_item")):
            document = json.loads(self.takt("diff", "--json", "--on", word, *base, "--", *new).stdout)
            self.assertEqual((document["statistic"], document["regions"][0]["figures"][0]["figure"]), (word, figure))
            for form in ((), ("--markdown",)):
                self.assertIn(f"by {word}", self.takt("diff", "--on", word, *form, *base, "--", *new).stdout)

    def test_the_exit_status_follows_the_gate(self):
        base, new = self.sides(3)
        # No machine makes three short runs differ by so little, or by so much.
        tight = json.loads(self.takt("diff", "--json", *base, "--fail-on", "0.001%", "--", *new, status=None).stdout)
        self.assertIn(tight["answer"], ("inconclusive", "regression"))
        self.assertGreater(tight["regions"][0]["gate"]["runs_needed"], 3)
        wide = self.takt("diff", *base[:1], "--", *new[:1], "--fail-on", "1000%", "--noise", "10%", "--region", "Epoch/Batch")
        self.assertRegex(wide.stdout, "\\Ano regression: ")
        text = self.takt("diff", *base[:1], "--", *new[:1], "--fail-on", "2%", status=3).stdout
        self.assertIn("no intervals", text)
        self.assertIn("inconclusive", text)

    def test_a_severalfold_slowdown_is_a_regression_and_a_speedup_is_not(self):
        base, new = self.sides(3, "--batch", 8)  # each takes an eighth of the 64
        self.assertIn("(step) may take up to 2.00 % more, by its p25: regression", self.takt("diff", *new, "--", *base, "--fail-on", "2%", status=1).stdout)
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([COMMAND, "diff", *base, "--", *new], stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 2)

    def test_a_directory_of_runs_means_all_its_runs(self):
        base, new = self.sides(2)
        for side, runs in (("base", base), ("new", new)):
            (self.scratch / side).mkdir()
            for run in runs:
                run.rename(self.scratch / side / run.name)
        document = json.loads(self.takt("diff", self.scratch / "base", "--", self.scratch / "new", "--json").stdout)
        self.assertEqual([len(document["base"]), len(document["new"])], [2, 2])

    def test_a_copy_of_a_run_counts_once_and_not_on_both_sides(self):
        base, new = self.train(), self.train()
        copy = self.scratch / "copy"
        shutil.copytree(base, copy)
        done = self.takt("diff", "--json", base, copy, base, "--", new)
        self.assertEqual([run["run"] for run in json.loads(done.stdout)["base"]], [base.name])
        self.assertIn(f"{copy} is the same run as {base} and counts once", done.stderr)
        self.assertIn("is on both sides", self.takt("diff", base, "--", copy, status=2).stderr)

    def test_differences_are_reported_including_items(self):
        base, new = self.sides(1, "--batch", 32)
        text = self.takt("diff", *base, "--", *new).stdout
        self.assertIn("other difference: parameter batch: base 64; new 32", text)
        self.assertGreater(text.index("other difference"), text.index("95 % interval"))  # the verdict first, then the table
        self.assertIn(": compare samples/s, not the times of a step", text)

    def test_comparing_incomparable_runs_needs_a_reason(self):
        base = self.train()
        ranks = {"RANK": 0, "LOCAL_RANK": 0, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": 29500}
        self.start("--epochs", 1, **ranks).end(120 * rig.SLACK)
        new, = set(self.runs.glob("*")) - {base}
        refused = self.takt("diff", base, "--", new, status=2)
        self.assertIn("base runs have 1 ranks, new runs 2", refused.stderr)
        self.assertIn("--reason", refused.stderr)
        self.assertEqual(refused.stdout, "")
        text = self.takt("diff", base, "--", new, "--reason", "one |node| is down").stdout
        self.assertIn("compared anyway, for this reason: one |node| is down", text)
        page = self.takt("diff", base, "--", new, "--reason", "one |node| is down", "--markdown").stdout
        self.assertIn("this reason: one \\|node\\| is down", page)
        rows = [line for line in page.splitlines() if line.startswith("|")]
        self.assertEqual({line.replace("\\|", "").count("|") for line in rows}, {8})
        document = json.loads(self.takt("diff", base, "--", new, "--reason", "why", "--json").stdout)
        self.assertEqual((document["reason"], document["obstacles"][0]["what"]), ("why", "other_world_size"))

    def test_options_may_be_between_the_runs_of_a_side(self):
        runs = [self.train() for _ in range(4)]
        ended = self.takt("diff", runs[0], "--", runs[1], "--noise", "1%", runs[2], "--json", runs[3])
        document = json.loads(ended.stdout)
        self.assertEqual([len(document[side]) for side in ("base", "new")], [1, 3], document)

    def test_wrong_usage_is_no_regression(self):
        base, new = self.train(), self.train()
        for words, cure in (((base,), "BASE... -- NEW..."), ((base, "--", base), "is on both sides"),
                            ((base, "--", self.scratch / "nowhere"), "there is no directory"),
                            ((base, "--", new, "--fail-on", "2"), "not a percentage"), ((base, "--", new, "--fail-on", "0%"), "above 0 %"),
                            ((base, "--", new, "--noise", "-1%"), "not a percentage"),
                            ((base, "--", new, "--region", "step"), "--fail-on"), ((base, "--", new, "--on", "median"), "--on"),
                            ((base, "--", new, "--fail-on", "2%", "--on", "throughput", "--region", "step"), "--on mean"),
                            ((base, "--", new, "--fail-on", "2%", "--region", "Forwrad"), "did you mean Forward?"),
                            ((base, "--", new, "--fail-on", "2%", "--region", "Forward"), "several regions")):
            self.assertIn(cure, self.takt("diff", *words, status=2).stderr)


if __name__ == "__main__":
    rig.main()
