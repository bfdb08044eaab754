# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""All paths are inside the scratch directory, because a command that fails this test destroys the targets.

Whatever a run directory contains, no command changes anything outside it, waits forever, or sends data that is not the
run's."""

import hashlib
import json
import os
import shutil
import stat
import subprocess
import unittest

import rig

COMMAND = os.environ["COMMAND"]
HAS_MLFLOW = "HAS_MLFLOW" in os.environ
NAMES = ("journal-00000.tjl", "journal-00001.tjl", "mlflow.json", "mlflow.json.part", "mlflow.json.part.old", "mlflow.lease",
         "wandb.json", "wandb.json.part", "wandb.json.part.old", "wandb.lease", "tensorboard", "tensorboard.lease", "summary.json",
         "summary.json.part", "steps.csv", "trace.json", "trace.json.part")
HOLES = 1 << 34


def tree(directory):
    """Returns everything below a directory: kind, mode, times and contents of files."""
    found = {}
    for path in sorted(directory.rglob("*")):
        status = path.lstat()
        what = [stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode), status.st_size]
        if stat.S_ISREG(status.st_mode):
            what += [status.st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest()]
        elif stat.S_ISLNK(status.st_mode):
            what = [stat.S_IFMT(status.st_mode), os.readlink(path)]
        else:
            what = what[:2]
        found[str(path)] = what
    return found


class HostileDirectory(rig.Case):
    def setUp(self):
        super().setUp()
        self.outside = self.scratch / "outside"
        self.wandb = self.scratch / "of takt"
        self.logs = self.scratch / "logs of takt"
        self.run_program("hang", stdin=subprocess.DEVNULL)
        self.good = self.scratch / "good"
        os.rename(self.directory(), self.good)
        shutil.rmtree(self.runs)

    def prepare(self):
        """Creates a run directory for planted files, and files next to it that must not change."""
        for directory in (self.outside, self.wandb, self.logs, self.runs):
            shutil.rmtree(directory, ignore_errors=True)
        run = self.runs / "run" / "rank-0-0-1"
        shutil.copytree(self.good, run)
        log = self.outside / "wandb" / "offline-run-20261122_173059-abcdefgh" / "run-abcdefgh.wandb"
        log.parent.mkdir(parents=True)
        log.write_bytes(b":W&B\xe1\xbe\0" + b"x" * 7815)
        log.with_name(log.name + ".synced").write_bytes(b"")
        (self.outside / "secret").write_text("-----BEGIN OPENSSH PRIVATE KEY-----\n", encoding="utf-8")
        (self.outside / "lease").write_text(f"{os.uname().nodename} 1073741823 0\n", encoding="utf-8")
        (self.outside / "notes.json").write_text("{}", encoding="utf-8")
        (self.outside / "directory").mkdir()
        (self.outside / "directory" / "inner").write_text("inner", encoding="utf-8")
        (self.outside / "pipe").parent.mkdir(exist_ok=True)
        return run, log

    def commands(self, run):
        sync = {"WANDB_DIR": self.wandb, "WANDB_MODE": "offline"}
        yield ("report", run), {}
        yield ("report", "--json", run), {}
        yield ("report", "--steps", run), {}
        yield ("report", "--csv", run.parent.parent), {}
        yield ("check", run.parent), {}
        yield ("ls", run.parent.parent), {}
        yield ("ls", "--json", run), {}
        yield ("diff", run, "--", run), {}
        yield ("diff", run, "--", run.parent, "--reason", "none"), {}
        yield ("trace", run, "-o", self.scratch / "time line.json"), {}
        yield ("sync", "--to", "wandb", run), sync
        yield ("sync", "--to", "wandb", run.parent), sync
        yield ("sync", "--to", "tensorboard", run), {}
        yield ("sync", "--to", "tensorboard", run), {"TAKT_TENSORBOARD_DIR": self.logs}
        if HAS_MLFLOW:
            yield ("sync", "--to", "mlflow", "--patience", "0", run), {"MLFLOW_TRACKING_URI": "http://127.0.0.1:1"}

    def try_all(self, run):
        """Checks that every command ends, changes nothing outside, and prints no control sequences."""
        self.wandb.mkdir(exist_ok=True)
        before = tree(self.outside)
        for words, variables in self.commands(run):
            done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, check=False, timeout=60 * rig.SLACK,
                                  cwd=self.scratch, env=rig.environment(HOME=self.scratch, **variables))
            statuses = (0, 2) if words[0] == "diff" else (0, 1, 3, 4)
            self.assertIn(done.returncode, statuses, (words, done))
            self.assertEqual(tree(self.outside), before, words)
            for text in (done.stdout, done.stderr):
                for each in text.decode():
                    self.assertTrue(each in "\n\t" or (ord(each) >= 32 and not 0x7f <= ord(each) < 0xa0 and each not in
                                                       "\u202e\u2066\u200b\u200f\ufeff"), (words, text))
        # The secret is neither linked nor copied to a place that is uploaded.
        secret = (self.outside / "secret").read_bytes()
        for path in (*self.wandb.rglob("*"), *self.logs.rglob("*")):
            self.assertFalse(path.is_symlink(), path)
            if path.is_file():
                self.assertNotIn(secret, path.read_bytes(), path)

    def plant(self, run, name, how):
        path = run / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.exists() or path.is_symlink():
            if how == "truncated":
                os.truncate(path, path.stat().st_size // 2)
                return
            path.unlink()
        if how in ("secret", "lease", "notes.json", "nowhere", "directory"):
            path.symlink_to(self.outside / how)
        elif how == "relative":
            path.symlink_to("../../../outside/secret")
        elif how == "hardlink":
            os.link(self.outside / "secret", path)
        elif how == "hardlinked lease":
            os.link(self.outside / "lease", path)
        elif how == "pipe":
            os.mkfifo(path)
        elif how == "directory":
            path.mkdir()
            (path / "inner").write_text("inner", encoding="utf-8")
        elif how == "device":
            path.symlink_to("/dev/zero")  # writes do not change it
        elif how == "holes":
            with open(path, "wb") as file:
                os.truncate(file.fileno(), HOLES)
        elif how == "noise":
            path.write_bytes(bytes(range(256)) * 64)
        elif how == "truncated":
            path.write_bytes(b"")

    def test_every_name_planted_in_every_way(self):
        for how in ("secret", "lease", "notes.json", "nowhere", "directory", "relative", "hardlink", "hardlinked lease", "pipe",
                    "directory", "device", "noise", "truncated"):
            with self.subTest(how):
                run, _ = self.prepare()
                for name in NAMES[1:]:  # with a readable journal, so that the commands get that far
                    self.plant(run, name, how)
                self.try_all(run)
                # One at a time, because a rejected file may hide the next.
                for name in ("mlflow.json", "wandb.json", "trace.json", "journal-00000.tjl"):
                    run, _ = self.prepare()
                    self.plant(run, name, how)
                    self.try_all(run)

    def test_sparse_files_take_neither_memory_nor_time(self):
        run, _ = self.prepare()
        for name in NAMES[2:]:
            self.plant(run, name, "holes")
        self.try_all(run)

    def test_a_link_in_place_of_a_rank_directory_is_not_followed(self):
        run, _ = self.prepare()
        shutil.copytree(self.good, self.outside / "rank-0-0-1")
        (run.parent / "rank-1-0-1").symlink_to(self.outside / "rank-0-0-1")
        self.try_all(run)
        done = subprocess.run([COMMAND, "report", str(run.parent)], capture_output=True, text=True, check=False, timeout=60)
        self.assertIn("rank-1-0-1 is a symbolic link, which is not followed", done.stderr)
        shutil.rmtree(run)
        run.symlink_to(self.outside / "rank-0-0-1")
        before = tree(self.outside)
        for words, variables in self.commands(run):
            if run not in words:
                subprocess.run([COMMAND, *map(str, words)], capture_output=True, check=False, timeout=60, cwd=self.scratch,
                               env=rig.environment(HOME=self.scratch, **variables))
                self.assertEqual(tree(self.outside), before, words)

    def test_a_planted_event_file_changes_nothing_outside(self):
        run, _ = self.prepare()
        sync = [COMMAND, "sync", "--to", "tensorboard", str(run)]
        subprocess.run(sync, check=True, timeout=60, env=rig.environment())
        [name] = os.listdir(run / "tensorboard")
        for how in ("secret", "nowhere", "directory", "relative", "hardlink", "pipe", "directory", "device", "holes", "noise"):
            for planted in (name, "takt-sync.part"):
                with self.subTest(how, planted=planted):
                    run, _ = self.prepare()
                    (run / "tensorboard").mkdir()
                    self.plant(run / "tensorboard", planted, how)
                    self.try_all(run)

    def cursor(self, run):
        self.wandb.mkdir(exist_ok=True)
        done = subprocess.run([COMMAND, "sync", "--to", "wandb", str(run)], capture_output=True, text=True, check=False, timeout=60,
                              cwd=self.scratch, env=rig.environment(WANDB_DIR=self.wandb, WANDB_MODE="offline"))
        self.assertEqual(done.returncode, 0, done)
        return json.loads((run / "wandb.json").read_text(encoding="utf-8"))

    def test_a_log_outside_the_directory_named_by_wandb_json_is_not_changed(self):
        for ended in (False, True):
            run, log = self.prepare()
            cursor = {**self.cursor(run), "ended": ended}
            own = cursor["log"]
            for name in (log, self.outside / "secret", "../outside/secret", "secret",
                         f"{own}/../../../../outside/secret", os.path.dirname(own), ""):
                for size in (0, 7, 100, log.stat().st_size, 1 << 40):
                    with self.subTest(str(name), size=size):
                        (run / "wandb.json").write_text(json.dumps({**cursor, "log": str(name), "bytes": size}), encoding="utf-8")
                        before = tree(self.wandb)
                        self.try_all(run)
                        self.assertEqual(tree(self.wandb), before)

    def test_a_damaged_size_does_not_truncate_the_log(self):
        run, _ = self.prepare()
        cursor = {**self.cursor(run), "ended": False}
        before = tree(self.wandb)
        for size in (0, 7, 100, cursor["bytes"] - 1, cursor["bytes"] + 1, 1 << 60):
            (run / "wandb.json").write_text(json.dumps({**cursor, "bytes": size}), encoding="utf-8")
            done = subprocess.run([COMMAND, "sync", "--to", "wandb", str(run)], capture_output=True, text=True, check=False,
                                  timeout=60, cwd=self.scratch,
                                  env=rig.environment(WANDB_DIR=self.wandb, WANDB_MODE="offline"))
            self.assertEqual(done.returncode, 1, done)
            self.assertIn("To start a new run at W&B, remove", done.stderr)
            self.assertEqual(tree(self.wandb), before)


if __name__ == "__main__":
    rig.main()
