# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Shells complete commands, options, values, runs and regions of `takt`, and the completions match --help."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import shells

COMMAND = os.environ["COMMAND"]


class Completion(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="takt-shell-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.env = {**os.environ, "PATH": f"{os.path.dirname(COMMAND)}:{os.environ['PATH']}", "HOME": str(self.scratch),
                    "PS1": "ready> ", "INPUTRC": "/dev/null", "LC_ALL": "C.UTF-8", "TAKT_DIR": "takt-runs", "TAKT_RUN_ID": "one"}
        subprocess.run([os.environ["PROGRAM"], "stage", "0"], cwd=self.scratch, env=self.env, check=True, capture_output=True)
        (self.scratch / "elsewhere").mkdir()
        self.run_directory, = (self.scratch / "takt-runs").iterdir()

    def takt(self, *words):
        return subprocess.run([COMMAND, *words], cwd=self.scratch, env=self.env, check=True, capture_output=True, text=True,
                              timeout=60 * shells.SLACK).stdout

    def words(self, *words):
        """Returns the completions without their descriptions, and the suffix."""
        *lines, last = self.takt("complete", "--", *words).splitlines()
        return [line.partition("\t")[0] for line in lines], last

    # Completions

    def test_every_command_and_option_of_the_help_is_completed(self):
        commands, _ = self.words("")
        helped = re.findall(r"^  ([a-z-]+) ", self.takt("--help").partition("Commands:")[2].partition("\n\n")[0], re.MULTILINE)
        self.assertEqual(commands, helped)
        self.assertIn("report", commands)
        for command in commands:
            if command == "help":  # whose options are those of takt itself
                continue
            with self.subTest(command):
                options = set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", self.takt(command, "--help"), re.MULTILINE))
                self.assertEqual({each for each in self.words(command, "-")[0] if each.startswith("--")}, options)

    def test_given_options_are_not_offered_again_and_values_are(self):
        self.assertNotIn("--json", self.words("report", "--json", "--")[0])
        self.assertIn("--param", self.words("ls", "--param", "x", "--")[0])
        self.assertEqual(self.words("sync", "--to", "t"), (["tensorboard"], ":"))
        self.assertEqual(self.words("sync", "--to=t"), (["--to=tensorboard"], ":"))
        self.assertEqual(self.words("sync", "--to", "=", "t"), (["tensorboard"], ":"))  # as bash splits it
        self.assertEqual(self.words("trace", "-o", ""), ([], ":files"))
        self.assertEqual(self.words("report", "--rank", ""), ([], ":"))
        self.assertEqual(self.words("help", "tr"), (["trace"], ":"))
        self.assertEqual(self.words("nonsense", ""), ([], ":"))
        self.assertEqual(self.words(), (self.words("")[0], ":"))

    def test_existing_runs_and_regions_are_completed(self):
        run = f"takt-runs/{self.run_directory.name}"
        self.assertEqual(self.words("report", ""), ([run], ":"))
        self.assertEqual(self.words("report", "elsewhere"), ([], ":directories"))
        self.assertEqual(self.words("diff", run, "--", "ta"), ([run], ":"))
        self.assertEqual(self.words("diff", run, "--", run, "--region", ""), (["step", "Batch", "Batch/Forward", "Batch/Comm"], ":"))
        self.assertEqual(self.words("diff", run, "--region=Batch/F"), (["--region=Batch/Forward"], ":"))
        self.assertEqual(self.words("diff", "nowhere", "--region", ""), ([], ":"))
        self.assertEqual(self.words("predict-check", ""), ([], ":files"))
        self.assertEqual(self.words("predict-check", "predicted.csv", ""), ([run], ":"))
        self.assertEqual(self.words("merge", run, "ta"), ([run], ":"))
        shutil.rmtree(self.scratch / "takt-runs")
        self.assertEqual(self.words("report", ""), ([], ":directories"))

    def test_names_that_need_quoting_are_not_offered(self):
        for name in ("$(touch x)", "a b", "a\nb", "a;b", "-a", "a\x1b[2Jb", "ü"):
            shutil.copytree(self.run_directory, self.scratch / "takt-runs" / name)
        found, _ = self.words("report", "")
        self.assertEqual(found, ["takt-runs/-a", f"takt-runs/{self.run_directory.name}"])

    # Use in shells

    def shell(self, *words):
        if shutil.which(words[0]) is None:
            self.skipTest(f"no {words[0]}")
        terminal = shells.Terminal(words, self.env, self.scratch)
        self.addCleanup(terminal.close)
        return terminal

    def check_shell(self, shell):
        """Checks the line after typing."""
        run = self.run_directory.name
        for typed, becomes in (("takt rep\t", "takt report "), ("takt report --per\t", "takt report --per-rank "),
                               ("takt sync --to ten\t", "takt sync --to tensorboard "),
                               ("takt sync --to=ten\t", "takt sync --to=tensorboard "),
                               ("takt report takt-r\t", f"takt report takt-runs/{run} "), ("takt report \t", f"takt report takt-runs/{run} "),
                               ("takt report els\t", "takt report elsewhere/"),
                               (f"takt diff takt-runs/{run} --region st\t", f"takt diff takt-runs/{run} --region step "),
                               ("takt trace -o takt-r\t", "takt trace -o takt-runs/")):
            with self.subTest(typed):
                shell.type(typed)
                shell.wait_for(re.escape(becomes))
                shell.type("\x15")  # deletes the line
        shell.type("takt sync --to \t\t")
        shown = shell.wait_for("wandb")
        self.assertIn("mlflow", shown)
        self.assertIn("tensorboard", shown)

    def test_bash(self):
        bash = self.shell("bash", "--norc", "--noprofile", "-i")
        bash.wait_for("ready> ")
        bash.type("source <(takt completion bash); echo is$((1+1))on\n")
        bash.wait_for("is2on")
        self.check_shell(bash)

    def test_bash_completion_loads_it_on_demand(self):
        """bash-completion loads it on demand from the installed location."""
        loader = pathlib.Path("/usr/share/bash-completion/bash_completion")
        if not loader.exists():
            self.skipTest("no bash-completion")
        directory = self.scratch / "share" / "bash-completion" / "completions"
        directory.mkdir(parents=True)
        (directory / "takt").write_text(self.takt("completion", "bash"), encoding="utf-8")
        self.env["XDG_DATA_DIRS"] = str(self.scratch / "share")
        bash = self.shell("bash", "--norc", "--noprofile", "-i")
        bash.wait_for("ready> ")
        bash.type(f"source {loader}; echo is$((1+1))on\n")
        bash.wait_for("is2on")
        self.check_shell(bash)

    def test_zsh(self):
        directory = self.scratch / "functions"
        directory.mkdir()
        (directory / "_takt").write_text(self.takt("completion", "zsh"), encoding="utf-8")
        zsh = self.shell("zsh", "-f", "-i")
        zsh.wait_for("ready> ")
        zsh.type(f"fpath=({directory} $fpath); autoload -Uz compinit; compinit -u -D; setopt nobeep; echo is$((1+1))on\n")
        zsh.wait_for("is2on")
        self.check_shell(zsh)

    def test_fish(self):
        if shutil.which("fish") is None:
            self.skipTest("no fish")
        script = self.scratch / "takt.fish"
        script.write_text(self.takt("completion", "fish"), encoding="utf-8")
        run = self.run_directory.name

        def completed(line):
            done = subprocess.run(["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"], cwd=self.scratch, env=self.env,
                                  check=True, capture_output=True, text=True, timeout=60 * shells.SLACK)
            self.assertEqual(done.stderr, "")
            return [each.partition("\t")[0] for each in done.stdout.splitlines()]
        self.assertEqual(completed("takt rep"), ["report"])
        self.assertEqual(completed("takt report --per"), ["--per-rank"])
        self.assertEqual(completed("takt sync --to ten"), ["tensorboard"])
        self.assertEqual(completed("takt sync --to=ten"), ["--to=tensorboard"])
        self.assertEqual(completed("takt report "), [f"takt-runs/{run}"])
        self.assertEqual(completed("takt report els"), ["elsewhere/"])
        self.assertEqual(completed(f"takt diff takt-runs/{run} --region st"), ["step"])
        self.assertEqual(completed("takt trace -o takt.f"), ["takt.fish"])
        self.assertEqual(set(completed("takt sync --to ")), {"mlflow", "mantik", "wandb", "tensorboard"})


if __name__ == "__main__":
    unittest.main(verbosity=2)
