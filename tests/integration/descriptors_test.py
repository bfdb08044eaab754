# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""A program may close descriptors that it did not open, or start without any: its own files stay intact, and so do
Takt's."""

import os
import subprocess
import unittest

import rig


class Descriptors(rig.Case):
    def test_files_that_reuse_takts_descriptors_stay_intact(self):
        for background in (["by-hand"], []):
            with self.subTest(background):
                self.runs = self.scratch / f"runs {len(background)}"
                own = self.scratch / f"own {len(background)}"
                own.mkdir()
                started = self.start(*background, "steps", 20, "poll", "wait", "seize", own, "steps", 30, "poll", "steps", 5, "poll",
                                     "close", stdin=subprocess.PIPE, TAKT_TRACE=1, TAKT_SIGTERM=1, TAKT_PERIOD_MS=10)
                self.assertEqual(started.process.stdout.readline(), "ready\n")
                names = ("journal-00000.tjl", "steps.csv.part", "trace.json.part")
                self.assertTrue(rig.wait_until(lambda: all((self.directory() / each).exists() for each in names)), "no files")
                ended = started.end(60, "go\n")
                self.assertEqual(ended.status, 0, ended)
                self.assertIn("closed 1", ended.out)
                self.assertEqual(ended.err.count("closed a file that belongs to Takt"), 1, ended)
                seized = sorted(own.iterdir())
                self.assertGreater(len(seized), 2)
                for each in seized:
                    self.assertEqual(each.read_bytes(), b"", each)
                self.assertEqual(rig.calls(self.summary(), "Batch"), 55)
                self.assertEqual(sorted({int(row["step"]) for row in self.steps()}), list(range(55)))
                self.assert_no_parts()

    def test_a_moved_run_directory_gets_all_files_and_is_reported(self):
        for background in (["by-hand"], []):
            with self.subTest(background):
                self.runs = self.scratch / f"moved {len(background)}"
                started = self.start(*background, "steps", 20, "poll", "wait", "steps", 30, "poll", "wait", "steps", 5, "close",
                                     stdin=subprocess.PIPE, TAKT_TRACE=1, TAKT_HTML=1, TAKT_PERIOD_MS=10)
                for name in ("first", "second"):
                    self.assertEqual(started.process.stdout.readline(), "ready\n")
                    self.assertTrue(rig.wait_until(lambda: (self.directory() / "journal-00000.tjl").exists()), "no journal")
                    self.directory().parent.rename(self.runs / name)
                    started.process.stdin.write("go\n")
                    started.process.stdin.flush()
                ended = started.end(60, "")
                self.assertEqual(ended.status, 0, ended)
                self.assertIn("closed 1", ended.out)
                self.assertIn(f"files: {self.runs}/second/rank-0-", ended.out)
                self.assertEqual(ended.err, "")
                self.assertEqual(self.directory().parent.name, "second")
                self.assertEqual({each.name for each in self.directory().iterdir()},
                                 {"journal-00000.tjl", "steps.csv", "summary.json", "trace.json", "run.html"})
                self.assertEqual(rig.calls(self.summary(), "Batch"), 55)
                self.assertEqual(self.summary()["run"]["directory"], str(self.directory()))
                self.assertEqual(len({row["step"] for row in self.steps()}), 55)
                self.assert_no_parts()

    def test_closed_sessions_keep_no_file_open(self):
        started = self.start("sessions", 200, stdin=subprocess.PIPE, TAKT_TABLE=0, TAKT_TRACE=1, TAKT_HTML=1)
        ended = started.end(120, "")
        self.assertEqual(ended.status, 0, ended)
        self.assertIn("open 0", ended.out)
        self.assertEqual(len(self.directories()), 201)
        for directory in self.directories():
            self.assertTrue((directory / "summary.json").exists(), directory)

    def close_streams(self, *numbers):
        def close():
            for number in numbers:
                os.close(number)
        return close

    def test_output_without_standard_streams_is_not_written_to_takts_files(self):
        command = [rig.PROGRAM, "by-hand", "steps", "5", "poll", "print-words", "steps", "5", "poll", "print-words", "close"]
        done = subprocess.run(command, check=False, timeout=60 * rig.SLACK, close_fds=True, preexec_fn=self.close_streams(0, 1, 2),
                              env=rig.environment(TAKT_DIR=self.runs, TAKT_TRACE=1))
        self.assertEqual(done.returncode, 0)
        for path in self.directory().iterdir():
            text = path.read_bytes()
            self.assertNotIn(b"printed", text, path)
            self.assertNotIn(b"complained", text, path)
        self.assertEqual(len({row["step"] for row in self.steps()}), 10)

    def test_nothing_is_printed_to_a_file_that_reuses_the_number_of_a_stream(self):
        out, err = self.scratch / "data 1", self.scratch / "data 2"
        command = [rig.PROGRAM, "by-hand", "data", "1", str(out), "data", "2", str(err), "steps", "5", "poll", "close"]
        done = subprocess.run(command, check=False, timeout=60 * rig.SLACK, stdin=subprocess.DEVNULL, close_fds=True,
                              preexec_fn=self.close_streams(1, 2), env=rig.environment(TAKT_DIR=self.runs, TAKT_PERIOD="typo"))
        self.assertEqual(done.returncode, 0)
        self.assertEqual(err.read_bytes(), b"")
        self.assertEqual(out.read_bytes(), b"closed 1\n")  # printed by the program itself; the table was not printed

    def test_a_stream_redirected_by_the_program_is_used(self):
        out, err = self.scratch / "out", self.scratch / "err"
        with open(out, "wb") as to, open(err, "wb") as complaints:
            done = subprocess.run([rig.PROGRAM, "by-hand", "steps", "5", "close"], check=False, timeout=60 * rig.SLACK, stdout=to,
                                  stderr=complaints, env=rig.environment(TAKT_DIR=self.runs, TAKT_PERIOD="typo"))
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"Batch", out.read_bytes())
        self.assertIn(b"takt: ", err.read_bytes())


if __name__ == "__main__":
    rig.main()
