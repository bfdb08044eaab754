# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""`takt merge` makes one file from many. Every command prints the same for it as for the directories, and tar can read
it."""

import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import tarfile
import unittest

import rig

COMMAND = os.environ["COMMAND"]
FORMS = (["report"], ["report", "--per-rank"], ["report", "--rank", "1"], ["report", "--json"], ["report", "--csv"],
         ["report", "--steps"], ["check"], ["trace"], ["trace", "--rank", "1"])


class Merge(rig.Case):
    def takt(self, *words, status=0, **env):
        done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True, timeout=60 * rig.SLACK, check=False,
                              cwd=self.scratch, env=rig.environment(**env))
        if status is not None:
            self.assertEqual(done.returncode, status, f"{words}\n--- stdout\n{done.stdout}\n--- stderr\n{done.stderr}")
        return done

    def merge(self, *directories, name="all.tar", **how):
        file = self.scratch / name
        self.takt("merge", *directories, "-o", file, **how)
        return file

    def printed(self, words, run):
        """Returns a command's output and files for a run, without paths and ages."""
        file = self.scratch / "time line.json"
        done = self.takt(*words, *(["-o", file] if words[0] == "trace" else []), run, status=None)
        text = done.stdout + "---\n" + done.stderr + str(done.returncode)
        if words[0] == "trace" and done.returncode == 0:
            text += file.read_text(encoding="utf-8")
        text = re.sub(r"; for\s+all\s+ranks:\s+takt\s+report\s+\S+", "", text)
        return re.sub(r", [\d.]+ \w+ ago", "", text.replace(str(run), "RUN"))

    def assert_same(self, run, in_file):
        for words in FORMS:
            with self.subTest(words):
                self.assertEqual(self.printed(words, run), self.printed(words, in_file))

    def job(self, world=5):
        """A job in which ranks 0 and 1 have ended, rank 2 was killed in a region, rank 3 has a damaged journal, and
        rank 4 is missing. Ranks 1 and 2 have a time line, too."""
        env = {"TAKT_RUN_ID": "job", "TAKT_WORLD_SIZE": world, "TAKT_PERIOD_MS": 10}
        self.run_program("stage", 0, TAKT_RANK=0, **env)
        self.run_program("stage", 0, TAKT_RANK=1, TAKT_TRACE=1, **env)
        killed = self.start("hang", stdin=subprocess.PIPE, TAKT_RANK=2, TAKT_TRACE=1, **env)
        self.assertEqual(killed.process.stdout.readline(), "ready\n")
        [directory] = self.runs.glob("*/rank-2-*")
        written = lambda kind, word: word in b"".join(each.read_bytes() for each in directory.glob(kind))
        self.assertTrue(rig.wait_until(lambda: written("*.tjl", b"Comm") and written("trace.json.part", b'"Batch"')))
        os.kill(killed.process.pid, signal.SIGKILL)
        killed.end(60 * rig.SLACK)
        self.run_program("stage", 0, TAKT_RANK=3, **env)
        [directory] = self.runs.glob("*/rank-3-*")
        journal = next(directory.glob("*.tjl"))
        bytes_ = bytearray(journal.read_bytes())
        bytes_[len(bytes_) // 2] ^= 0x10
        journal.write_bytes(bytes_)
        return self.runs / "command-job"

    def test_every_command_prints_the_same_from_the_file(self):
        run = self.job()
        file = self.merge(run)
        self.assert_same(run, file / run.name)
        for words in FORMS:
            whole = self.printed(words, file).replace("RUN/command-job", "RUN")
            self.assertEqual(whole, self.printed(words, file / run.name), words)
        [rank] = run.glob("rank-1-*")
        self.assert_same(rank, file / run.name / rank.name)

    def test_the_newest_attempt_counts_in_a_file_as_in_directories(self):
        for rank, world, attempt in ((0, 3, 0), (1, 3, 0), (2, 3, 0), (0, 2, 1), (1, 2, 1)):
            self.run_program("names", TAKT_RUN_ID="again", RANK=rank, WORLD_SIZE=world, LOCAL_RANK=rank,
                             TORCHELASTIC_RESTART_COUNT=attempt)
        [run] = self.runs.iterdir()
        self.assert_same(run, self.merge(run) / run.name)

    def test_runs_of_a_file_are_listed_compared_and_scaled_like_directories(self):
        for name, ranks in (("one", 1), ("two", 2), ("three", 2)):
            for rank in range(ranks):
                self.run_program("stage", 0, TAKT_RUN_ID=name, TAKT_RANK=rank, TAKT_WORLD_SIZE=ranks)
        file = self.merge(self.runs)
        text = lambda *words: self.takt(*words, status=None).stdout.replace(str(file), str(self.runs))
        runs = lambda directory, *names: [directory / f"command-{name}" for name in names]
        for words in (["ls"], ["ls", "--json"], ["check"], ["report"], ["report", "--json"]):
            self.assertEqual(text(*words, file), text(*words, self.runs), words)
        self.assertIn("using the latest of 3 runs in ", self.takt("report", file).stderr)
        for form in ([], ["--json"], ["--markdown"]):
            self.assertEqual(text("diff", *form, *runs(file, "one"), "--", *runs(file, "two"), "--reason", "a test"),
                             text("diff", *form, *runs(self.runs, "one"), "--", *runs(self.runs, "two"), "--reason", "a test"))
        # No samples are counted here, so the text is the same.
        of_file, of_directories = (self.takt("scaling", *runs(directory, "one", "two"), status=None) for directory in (file, self.runs))
        self.assertEqual((of_file.returncode, of_file.stderr), (of_directories.returncode, of_directories.stderr))

    def test_a_directory_of_runs_may_hold_merged_files(self):
        for name in ("one", "two"):
            self.run_program("names", TAKT_RUN_ID=name)
        self.takt("merge", self.runs / "command-one", "-o", self.runs / "one.tar")
        shutil.rmtree(self.runs / "command-one")
        (self.runs / "notes.tar").write_bytes(b"\0" * 10240)
        listed = json.loads(self.takt("ls", "--json", self.runs).stdout)["runs"]
        self.assertEqual([each["directory"] for each in listed],
                         [f"{self.runs}/command-two", f"{self.runs}/one.tar/command-one"])
        self.assertIn("run command-two", self.takt("report", self.runs).stdout)
        self.assertIn("run command-one", self.takt("report", self.runs / "one.tar").stdout)
        again = self.merge(self.runs)
        self.assertEqual(len(json.loads(self.takt("ls", "--json", again).stdout)["runs"]), 2)

    def test_tar_extracts_the_original_directories(self):
        run = self.job()
        file = self.merge(run)
        with tarfile.open(file) as tar:
            self.assertEqual(tar.format, tarfile.DEFAULT_FORMAT)
            for entry in tar:
                self.assertEqual(entry.mode, 0o700 if entry.isdir() else 0o600, entry.name)
        out = self.scratch / "out"
        out.mkdir()
        subprocess.run(["tar", "xf", file, "-C", out], check=True)
        self.assertEqual(sorted(each.name for each in out.iterdir()), ["command-job", "takt-merged.json"])
        for path in run.rglob("*"):
            if path.suffix in (".tjl", ".json"):
                twin = out / path.relative_to(self.runs)
                self.assertEqual(twin.read_bytes(), path.read_bytes(), path)
                self.assertEqual(twin.stat().st_mtime_ns, path.stat().st_mtime_ns, path)
        for name in ("trace.json", "trace.json.part"):
            [twin] = out.rglob(name)
            self.assertEqual(twin.read_bytes(), (self.runs / twin.relative_to(out)).read_bytes())
        self.assertIn("regions that 2 of them recorded", self.printed(["trace"], file))
        self.assert_same(run, out / run.name)

    def test_sync_names_how_to_unpack(self):
        for rank in range(3):
            self.run_program("names", TAKT_RUN_ID="job", TAKT_RANK=rank, TAKT_WORLD_SIZE=3)
        file = self.merge(self.runs)
        done = self.takt("sync", "--to", "tensorboard", file, status=1)
        self.assertEqual(done.stderr.count("\n"), 1)
        [_, command] = re.findall(r"\((tar .*)\), and (.*)\n", done.stderr)[0]
        out = self.scratch / "DIR"
        out.mkdir()
        subprocess.run(re.findall(r"\((tar .*)\)", done.stderr)[0], shell=True, check=True, cwd=self.scratch)
        self.assertEqual(command, "run takt sync DIR/<run id>")
        self.takt("sync", "--to", "tensorboard", "DIR/command-job")
        [directory] = {each.parent.parent for each in out.rglob("events*")}
        self.assertTrue(directory.name.startswith("rank-0-"), directory)

    def test_a_running_rank_is_named_and_its_data_is_included(self):
        started = self.start("hang", stdin=subprocess.PIPE, TAKT_PERIOD_MS=10)
        self.assertEqual(started.process.stdout.readline(), "ready\n")
        self.assertTrue(rig.wait_until(lambda: "Comm" in self.takt("report", self.runs).stdout))
        done = self.takt("merge", self.runs, "-o", self.scratch / "now.tar")
        self.assertRegex(done.stderr, r"^takt: rank 0 of run \S+ is still running; the file has its data so far\n$")
        self.assertIn("still running in Epoch > Batch > Comm", self.takt("report", self.scratch / "now.tar").stdout)
        self.assertEqual(started.end(60 * rig.SLACK, "go\n").status, 0)
        # The merged file is the shorter one by now.
        later = self.merge(self.scratch / "now.tar", self.runs)
        self.assertIn("rank 0: finished", self.takt("report", later).stdout)
        self.assertIn("1 rank of 1 run", self.takt("merge", self.runs, "now.tar", "-o", "again.tar").stdout)

    def test_an_existing_file_is_replaced_only_on_request(self):
        self.run_program("names")
        for file, words in ((self.scratch / "theirs", b"a thesis"), (self.scratch / "theirs.tar", b"\0" * 10240)):
            file.write_bytes(words)
            self.assertIn("--force", self.takt("merge", self.runs, "-o", file, status=1).stderr)
            self.assertIn("is kept", self.takt("merge", self.runs, "-o", file, "--force", status=1).stderr)
            self.assertEqual(file.read_bytes(), words)
        file = self.merge(self.runs)
        self.takt("merge", self.runs, "-o", file, status=1)
        self.takt("merge", self.runs, file, "-o", file, "--force")
        self.assertEqual(sorted(each.name for each in self.scratch.glob("*.part*")), [])
        self.takt("merge", status=2)
        self.takt("merge", self.runs, status=2)
        self.assertIn("there is no directory", self.takt("merge", "nowhere", "-o", "x", status=1).stderr)
        self.assertIn("name another file with -o", self.takt("merge", self.runs, "-o", "no/x", status=1).stderr)

    def test_a_truncated_file_is_reported_and_the_rest_is_read(self):
        run = self.job()
        whole = self.merge(run).read_bytes()
        file = self.scratch / "cut.tar"
        for left in range(0, len(whole) - 1024, len(whole) // 60):  # followed by the end-of-archive blocks
            file.write_bytes(whole[:left])
            for words in (["report"], ["check"], ["ls"], ["report", "--json"]):
                done = self.takt(*words, file, status=1)
                if left > 1024:
                    self.assertRegex(done.stdout + done.stderr, "truncated|there is no run in")

    def test_bytes_changed_at_random_crash_nothing(self):
        run = self.job()
        whole = self.merge(run).read_bytes()
        seed = random.randrange(1 << 32)
        print(f"seed {seed}")
        changes = random.Random(seed)
        file = self.scratch / "changed.tar"
        for _ in range(60):
            bytes_ = bytearray(whole)
            for _ in range(changes.randrange(1, 40)):
                bytes_[changes.randrange(len(bytes_))] = changes.randrange(256)
            file.write_bytes(bytes_)
            for words in (["report", "--per-rank"], ["check"], ["ls"], ["trace", "-o", self.scratch / "time line.json"],
                          ["merge", "--force", "-o", self.scratch / "again.tar"]):
                done = self.takt(*words, file, status=None)
                self.assertIn(done.returncode, (0, 1), done)

    def test_a_hostile_archive_changes_nothing_outside(self):
        self.run_program("names")
        file = self.merge(self.runs)
        [rank] = self.runs.glob("*/rank-*")
        inner = f"{rank.parent.name}/{rank.name}"
        secret = self.scratch / "secret"
        secret.write_text("PRIVATE", encoding="utf-8")
        with tarfile.open(file, "a") as tar:
            for name, kind, link in ((f"{inner}/journal-00001.tjl", tarfile.SYMTYPE, str(secret)),
                                     (f"{inner}/journal-00002.tjl", tarfile.LNKTYPE, str(secret)),
                                     (f"{inner}/journal-00003.tjl", tarfile.FIFOTYPE, ""),
                                     (f"{inner}/journal-00004.tjl", tarfile.CHRTYPE, ""),
                                     ("../../secret", tarfile.REGTYPE, ""), ("/tmp/secret", tarfile.REGTYPE, "")):
                entry = tarfile.TarInfo(name)
                entry.type, entry.linkname = kind, link
                tar.addfile(entry, io.BytesIO())
        for words in (["report"], ["check"], ["trace", "-o", self.scratch / "time line.json"],
                      ["merge", "-o", self.scratch / "again.tar"]):
            done = self.takt(*words, file, status=1)
            self.assertEqual((done.stdout + done.stderr).count("is a link or a device; it is skipped"), 4, done)
            self.assertEqual((done.stdout + done.stderr).count("is an invalid name; it is skipped"), 2, done)
        self.assertNotIn(b"PRIVATE", (self.scratch / "again.tar").read_bytes())
        self.assertEqual(secret.read_text(encoding="utf-8"), "PRIVATE")


if __name__ == "__main__":
    rig.main()
