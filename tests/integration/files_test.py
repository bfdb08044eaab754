# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""If a disk or a terminal fails, the program continues and ends as usual, and one line reports the missing output."""

import os
import resource
import shutil
import stat
import subprocess
import unittest

import rig


class Files(rig.Case):
    def assert_one_line(self, ended, *words):
        lines = ended.err.splitlines()
        self.assertEqual(len(lines), 1, ended)
        for word in words:
            self.assertIn(word, lines[0])

    def test_directory_that_cannot_be_created(self):
        (self.scratch / "file").write_text("mine", encoding="utf-8")
        for place in ("file", "file/below", "file/below/that"):
            with self.subTest(place):
                ended = self.run_program("steps", 3, "close", TAKT_DIR=self.scratch / place, TAKT_TRACE=1)
                self.assert_one_line(ended, "cannot make the directory", "Not a directory", "set TAKT_DIR",
                                     ". The run continues in memory only.")
                self.assertIn("Takt: run, run ", ended.out)
                self.assertIn("closed 0", ended.out)
        self.assertEqual((self.scratch / "file").read_text(encoding="utf-8"), "mine")

    def test_a_run_directory_that_is_a_link_is_rejected(self):
        elsewhere = self.scratch / "elsewhere"
        elsewhere.mkdir()
        self.runs.mkdir()
        (self.runs / "run-mine").symlink_to(elsewhere)
        ended = self.run_program("steps", 3, TAKT_RUN_ID="mine")
        self.assert_one_line(ended, "run-mine", "symbolic link", "continues in memory")
        self.assertEqual(list(elsewhere.iterdir()), [])
        self.assertIn("Takt: run, run ", ended.out)

    def test_modes_do_not_depend_on_the_umask(self):
        for umask in (0o000, 0o022, 0o777):
            with self.subTest(oct(umask)):
                shutil.rmtree(self.runs, ignore_errors=True)
                self.run_program("steps", 3, TAKT_TRACE=1, TAKT_HTML=1, prepare=lambda mask=umask: os.umask(mask))
                directory = self.directory()
                for each in (self.runs, directory.parent, directory):
                    self.assertEqual(stat.S_IMODE(each.stat().st_mode), 0o700, each)
                names = sorted(file.name for file in directory.iterdir())
                self.assertEqual(names, ["journal-00000.tjl", "run.html", "steps.csv", "summary.json", "trace.json"])
                for file in directory.iterdir():
                    self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600, file)

    def test_disk_is_full(self):
        exit_ms = round(1500 * min(rig.SLACK, 3))
        for words in (["steps", 5000, "close"],
                      ["steps", 2000, "wait", "steps", 3000, "close"],
                      ["by-hand", "steps", 2000, "poll", "steps", 3000, "poll", "steps", 10, "close"],
                      ["by-hand", "steps", 5000]):
            for trace in (0, 1):
                with self.subTest(words=words, trace=trace):
                    shutil.rmtree(self.runs, ignore_errors=True)
                    started = self.start(*words, file_bytes=16384, TAKT_TRACE=trace, TAKT_EXIT_MS=exit_ms, TAKT_PERIOD_MS=10,
                                         stdin=subprocess.PIPE)
                    ended = started.end(60, "\n")
                    self.assertEqual(ended.status, 0, ended)
                    self.assertEqual(ended.out.count("Takt: run, run "), 1, ended)
                    if "close" in words:
                        self.assertIn("closed 0", ended.out)
                    self.assertIn("cannot write", ended.err)
                    self.assertIn("File too large", ended.err)
                    # The second message appears on a busy machine.
                    self.assertRegex(ended.err, "\"csv\" (could not deliver all data|had not finished)")
                    # Smaller than the limit, so that the limit does not fail it; the other exporters do not delay it.
                    self.assertEqual(rig.calls(self.summary(), "Batch"), sum(n for n in words if isinstance(n, int)))
                    self.assertGreater(len(self.steps(name="steps.csv.part")), 100)

    def test_a_full_disk_that_gets_space_again_drops_nothing(self):
        started = self.start("by-hand", "steps", 500, "poll", "poll", "wait", "poll", "steps", 10, "close",
                             stdin=subprocess.PIPE, file_bytes=8192)
        self.assertEqual(started.process.stdout.readline(), "ready\n")
        limit = resource.prlimit(started.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(started.process.pid, resource.RLIMIT_FSIZE, (limit[1], limit[1]))
        ended = started.end(60, "\n")
        self.assertEqual(ended.status, 0, ended)
        self.assertIn("closed 1", ended.out)
        rows = self.steps()
        self.assertEqual([int(row["step"]) for row in rows if row["path"] == "Batch/IO"], list(range(510)))
        self.assertEqual(rig.losses(self.summary(), "not_exported"), 0)
        self.assert_no_parts()

    def test_directory_that_is_removed(self):
        started = self.start("by-hand", "steps", 3, "poll", "wait", "steps", 3, "poll", "close", stdin=subprocess.PIPE,
                             TAKT_EXIT_MS=300)
        self.assertEqual(started.process.stdout.readline(), "ready\n")
        shutil.rmtree(self.runs)
        ended = started.end(60, "\n")
        self.assertEqual(ended.status, 0, ended)
        self.assertIn("closed 0", ended.out)
        self.assertIn("Takt: run, run ", ended.out)
        self.assertIn("summary.json", ended.err)
        self.assertIn("steps.csv", ended.err)

    # It opens a pipe to check if an object is readable, and reports an unreadable one as an error.
    @unittest.skipIf("UBSAN" in os.environ, "UndefinedBehaviorSanitizer needs files of its own")
    def test_no_file_can_be_opened(self):
        words = ["descriptors", 3, "steps", 3, "poll", "close"]
        for words in (words, ["by-hand", *words]):
            with self.subTest(words):
                shutil.rmtree(self.runs, ignore_errors=True)
                # A leak checker needs its own files.
                ended = self.run_program(*words, TAKT_EXIT_MS=300, TAKT_TRACE=1, ASAN_OPTIONS="detect_leaks=0")
                self.assertIn("Takt: run, run ", ended.out)
                self.assertIn("closed 0", ended.out)
                self.assertIn("Too many open files", ended.err)

    def test_standard_output_is_a_file_at_its_limit(self):
        for words in (["steps", 3], ["by-hand", "steps", 3], ["by-hand", "steps", 3, "print"]):
            with self.subTest(words), open(self.scratch / "out", "w", encoding="utf-8") as out:
                ended = self.run_program(*words, stdout=out, file_bytes=200, TAKT_FILES=0)
                self.assert_one_line(ended, "cannot print the table", "File too large")

    def test_stdout_is_a_closed_pipe(self):
        for words in (["steps", 3], ["by-hand", "steps", 3], ["by-hand", "steps", 3, "print"]):
            with self.subTest(words):
                reading, writing = os.pipe()
                os.close(reading)
                ended = self.run_program(*words, stdout=writing)
                os.close(writing)
                self.assert_one_line(ended, "cannot print the table", "Broken pipe")

    def test_stdout_is_a_pipe_that_is_never_read(self):
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        self.addCleanup(os.close, writing)
        os.set_blocking(writing, False)
        try:
            while True:
                os.write(writing, b"x" * 65536)
        except BlockingIOError:
            os.set_blocking(writing, True)
        ended = self.run_program("steps", 3, stdout=writing, TAKT_EXIT_MS=500)
        self.assertLess(ended.seconds, 0.5 + rig.LATE)

    def test_run_directories_are_where_the_program_was_started(self):
        ended = self.run_program("steps", 3, TAKT_DIR="here", prepare=lambda: os.chdir(self.scratch))
        self.runs = self.scratch / "here"
        self.assertEqual(self.summary()["run"]["directory"], str(self.directory()))
        self.assertIn(str(self.directory()), ended.out)


if __name__ == "__main__":
    rig.main()
