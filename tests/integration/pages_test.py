# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Tests which processes write a run's page, and its contents, with the digits example. tests/page tests its layout."""

import json
import os
import re
import stat
import subprocess
import unittest

import rig

COMMAND = os.environ["COMMAND"]
BEGIN = '<script type="application/json" id="data">'


def data_of(page):
    return json.loads(page[page.index(BEGIN) + len(BEGIN):].split("</script>")[0])


class Pages(rig.Case):
    def takt(self, *words, status=0):
        done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True, timeout=60 * rig.SLACK, check=False,
                              cwd=self.scratch, env=rig.environment(TAKT_DIR=self.runs))
        if status is not None:
            self.assertEqual(done.returncode, status, f"{words}\n--- stdout\n{done.stdout}\n--- stderr\n{done.stderr}")
        return done

    def train(self, *options, **env):
        """Returns the run's directory. Ignores the exit status, because one epoch is too short to reach the
        accuracy."""
        before = set(self.runs.glob("*"))
        self.start("--epochs", 1, *options, **env).end(120 * rig.SLACK)
        return (set(self.runs.glob("*")) - before or before).pop()

    def page(self, *words, **how):
        file = self.scratch / "page.html"
        done = self.takt("report", "--html", file, *words, **how)
        text = file.read_text(encoding="utf-8")
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600)
        self.assertEqual(text[:15], "<!doctype html>")
        self.assertIn("page.html: the page of run", done.stdout)
        return text

    def assert_has(self, page, words):
        self.assertTrue(words in page, words)  # the page itself is long

    def assert_figures(self, page, summary):
        shown = data_of(page)["paths"]
        self.assertEqual([(each["name"], each["n"], each["total_ns"], each["self_ns"], each["p50_ns"]) for each in shown],
                         [(each["name"], each["host"]["n"], each["host"]["total_ns"], each["self_ns"], each["host"]["p50_ns"])
                          for each in summary["paths"]])

    def test_command_writes_the_page_of_a_run(self):
        run = self.train()
        page = self.page(run)
        report = json.loads(self.takt("report", "--json", run).stdout)["runs"][0]
        self.assert_figures(page, report["summary"])
        data = data_of(page)
        self.assertEqual(data["series"][0]["steps"], 23)
        self.assertEqual([metric["name"] for metric in data["metrics"]], ["epoch/samples_per_s", "epoch/steps", "epoch/time_s", "loss", "test_accuracy"])
        self.assertTrue(re.search("(finished|failed) after", re.sub("<[^>]*>", "", page)))
        self.assertNotIn("rank 0", re.sub(r"<script.*|<style.*?</style>", "", page, flags=re.DOTALL))
        self.assert_has(page, run.name)

    def test_program_writes_it_at_its_end(self):
        run = self.train(TAKT_HTML=1)
        directory, = run.glob("rank-*")
        page = (directory / "run.html").read_text(encoding="utf-8")
        summary = self.summary(directory)
        self.assert_figures(page, summary)
        of_command = data_of(self.page(run))
        of_program = data_of(page)
        self.assertEqual(of_program["series"], of_command["series"])
        self.assertEqual(of_program["metrics"], of_command["metrics"])
        self.assert_no_parts(directory)
        other = self.train(TAKT_HTML=1, TAKT_FILES=0)
        directory, = other.glob("rank-*")
        self.assertEqual([file.name for file in directory.iterdir()], ["run.html"])

    def test_several_ranks_are_on_one_page(self):
        ranks = {"WORLD_SIZE": 3, "LOCAL_WORLD_SIZE": 3, "TAKT_RUN_ID": "job"}
        for rank in range(3):
            run = self.train(RANK=rank, LOCAL_RANK=rank, **ranks)
        page = self.page(run)
        report = json.loads(self.takt("report", "--json", run).stdout)["runs"][0]
        self.assert_figures(page, report["summary"])
        data = data_of(page)
        self.assertEqual(data["run"]["rank"], -1)
        self.assertEqual(data["heat"]["ranks"], [0, 1, 2])
        self.assertEqual(len(data["heat"]["cells"]), 3 * len(data["heat"]["first"]))
        self.assertEqual(data["series"][0]["steps"], 23)  # one rank
        self.assert_has(page, "Metrics, step time in numbers and Epochs are of rank 0.")
        for finding in report["job"]["findings"]:
            self.assert_has(page, finding["sentence"].split(";")[0])
        of_one = data_of(self.page(run, "--rank", 2))
        self.assertEqual((of_one["run"]["rank"], of_one["heat"]), (2, None))

    def test_a_failed_run_has_a_page(self):
        run = self.train()
        directory, = run.glob("rank-*")
        journal = directory / "journal-00000.tjl"
        whole = journal.read_bytes()
        for size in (len(whole) - 1, len(whole) // 2, 200, 0):
            with self.subTest(size):
                journal.write_bytes(whole[:size])
                done = self.takt("report", run, status=None)
                if done.returncode != 0:
                    self.takt("report", "--html", self.scratch / "none.html", run, status=done.returncode)
                    self.assertFalse((self.scratch / "none.html").exists())
                    continue
                self.assertTrue(re.search("not finished|the journal is damaged|died", self.page(run)))

    def test_invalid_page_requests_are_reported(self):
        first, second = self.train(), self.train()
        file = self.scratch / "page.html"
        self.assertIn("a page shows one run, but 2 are given; name one", self.takt("report", "--html", file, first, second, status=1).stderr)
        self.assertIn("nowhere/page.html", self.takt("report", "--html", "nowhere/page.html", first, status=1).stderr)
        self.takt("report", "--html", file, "--json", first, status=2)
        self.assertFalse(file.exists())

    def test_a_comparison_has_a_page_besides_its_text(self):
        base, new = self.train(), self.train("--batch", 32)
        file = self.scratch / "diff.html"
        text = self.takt("diff", base, "--html", file, "--fail-on", "2%", "--", new, status=3).stdout
        self.assertRegex(text, "\\Ainconclusive: ")
        page = file.read_text(encoding="utf-8")
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600)
        document = json.loads(self.takt("diff", "--json", "--html", file, base, "--", new).stdout)
        data = data_of(page)
        self.assertEqual([(each["path"], each["change"]) for each in data["regions"]],
                         [(region["path"], region["figures"][0]["change"]) for region in document["regions"]])
        self.assertEqual([(run["side"], run["name"], run["last"]) for run in data["drawn"]],
                         [("base", base.name, 22), ("new", new.name, 44)])
        self.assertTrue(re.search("inconclusive</span>", page))
        self.assert_has(page, "parameter batch: base 64; new 32")
        self.assertIn("nowhere", self.takt("diff", "--html", "nowhere/diff.html", base, "--", new, status=2).stderr)


if __name__ == "__main__":
    rig.main()
