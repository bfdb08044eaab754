# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Tests `takt watch` with a terminal and without."""

import os
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest

import shells

COMMAND = os.environ["COMMAND"]
ENTERED, LEFT = "\x1b[?1049h", "\x1b[?1049l"
LINE = re.compile(r'time=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ run="[^"]+" state=(\w+) ranks=(\d+) world_size=(\d+) steps=(\d+)( \w+=[^ ]+)*( finding=".*")?\n')


class Watch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="takt-watch-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.env = {**{name: value for name, value in os.environ.items() if not name.startswith("TAKT_")}, "TAKT_DIR": "takt-runs",
                    "TAKT_RUN_ID": "one"}

    def train(self, **env):
        """A program that has made three steps and continues until finish()."""
        program = subprocess.Popen([os.environ["PROGRAM"], "hang"], cwd=self.scratch, env={**self.env, **env}, text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(self.finish, program)
        self.assertEqual(program.stdout.readline(), "ready\n")
        return program

    def finish(self, program):
        program.communicate("\n" if program.poll() is None else None, timeout=60 * shells.SLACK)

    def on_terminal(self, *words, kind="xterm"):
        terminal = shells.Terminal([COMMAND, "watch", "--every", "0.1", *words], self.env, self.scratch, kind)
        self.addCleanup(terminal.close)
        return terminal

    def in_lines(self, *words):
        watch = subprocess.Popen([COMMAND, "watch", "--every", "0.1", *words], cwd=self.scratch, env=self.env, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(watch.communicate)
        self.addCleanup(watch.kill)
        return watch

    def next_line(self, watch, state, ranks, steps=None):
        """Returns the next line with that state, number of ranks and number of steps."""
        while line := watch.stdout.readline():
            found = LINE.fullmatch(line)
            self.assertIsNotNone(found, line)
            if (found[1], int(found[2])) == (state, ranks) and steps in (None, int(found[4])):
                return line
        raise AssertionError(f"no line says {state}, {ranks} ranks, {steps} steps: {watch.stderr.read()}")

    # On a terminal

    def last_page(self, terminal):
        """Returns the final output; the alternate screen is closed by then."""
        drawn, _, page = terminal.shown.rpartition(LEFT)
        self.assertTrue(drawn.rstrip().endswith("\x1b[?25h"), drawn[-50:])
        return page

    def test_the_table_follows_the_run_and_its_last_state_stays_on_the_terminal(self):
        program = self.train()
        terminal = self.on_terminal()
        terminal.wait_for("rank 0: still running.* in Epoch > Batch > Comm")
        self.assertIn(ENTERED, terminal.shown)
        self.assertNotIn(LEFT, terminal.shown)
        self.finish(program)
        self.assertEqual(os.waitstatus_to_exitcode(terminal.wait()), 0)
        page = self.last_page(terminal)
        self.assertIn("rank 0: finished", page)
        self.assertRegex(page, r"Epoch +1 ")

    def test_it_follows_the_terminals_size(self):
        self.train()
        terminal = self.on_terminal("--color", "never")
        terminal.wait_for("still running")
        terminal.resize(50, 8)
        terminal.wait_for(r"more lines: a higher window shows them\W*$")
        picture = shells.CONTROL.sub("", terminal.shown.rpartition("\x1b[?2026h")[2])
        self.assertEqual(picture.count("\n"), 7)
        terminal.resize(60, 50)
        terminal.type("")
        shown = terminal.wait_for("rank 0: still running.*\n")
        self.assertLessEqual(max(len(line) for line in shown.partition("rank 0")[0].split("\n")[1:]), 60)

    def test_ctrl_c_leaves_the_last_table_and_a_clean_terminal(self):
        self.train()
        terminal = self.on_terminal()
        before = terminal.settings()
        terminal.wait_for("still running")
        terminal.write("\x03")
        self.assertEqual(os.waitstatus_to_exitcode(terminal.wait()), -signal.SIGINT)
        self.assertIn("rank 0: still running", self.last_page(terminal))
        self.assertEqual(terminal.settings(), before)

    def test_a_stopped_watch_restores_the_terminal_meanwhile(self):
        self.train()
        terminal = self.on_terminal()
        terminal.wait_for("still running")
        os.kill(terminal.pid, signal.SIGTSTP)
        terminal.read_raw(LEFT)
        _, status = os.waitpid(terminal.pid, os.WUNTRACED)
        self.assertTrue(os.WIFSTOPPED(status))
        os.kill(terminal.pid, signal.SIGCONT)
        terminal.read_raw(ENTERED)
        terminal.wait_for("still running")

    def test_once_prints_the_table_without_changing_the_terminal(self):
        self.train()
        terminal = self.on_terminal("--once")
        self.assertEqual(os.waitstatus_to_exitcode(terminal.wait()), 0)
        self.assertIn("rank 0: still running", terminal.shown)
        self.assertNotIn(ENTERED, terminal.shown)

    def test_a_dumb_terminal_gets_lines(self):
        self.train()
        terminal = self.on_terminal("--once", kind="dumb")
        self.assertEqual(os.waitstatus_to_exitcode(terminal.wait()), 0)
        self.assertRegex(terminal.shown.replace("\r", ""), LINE)

    # Without a terminal

    def test_prints_one_line_per_period_until_the_run_has_ended(self):
        program = self.train()
        watch = self.in_lines()
        self.next_line(watch, "running", 1, steps=3)
        self.finish(program)
        self.next_line(watch, "finished", 1, steps=3)
        self.assertEqual(watch.communicate(timeout=60 * shells.SLACK), ("", ""))
        self.assertEqual(watch.returncode, 0)

    def test_ranks_start_and_die(self):
        first = self.train(TAKT_RANK="0", TAKT_WORLD_SIZE="2")
        watch = self.in_lines()
        self.assertIn("world_size=2", self.next_line(watch, "running", 1))
        second = self.train(TAKT_RANK="1", TAKT_WORLD_SIZE="2")
        self.next_line(watch, "running", 2)
        second.kill()
        second.wait()
        self.next_line(watch, "died", 2)
        self.assertIsNone(watch.poll())
        self.finish(first)
        watch.communicate(timeout=60 * shells.SLACK)
        self.assertEqual(watch.returncode, 0)

    def test_it_waits_for_a_run_with_wait(self):
        watch = self.in_lines("--wait")
        self.assertIn("takt: waiting: there is no directory takt-runs", watch.stderr.readline())
        self.finish(self.train())
        self.next_line(watch, "finished", 1)
        watch.communicate(timeout=60 * shells.SLACK)
        self.assertEqual(watch.returncode, 0)
        watch = self.in_lines("--wait")  # the other one has ended
        self.assertRegex(watch.stderr.readline(), "takt: waiting: the latest run, takt-runs/.*, has ended\n")
        program = self.train(TAKT_RUN_ID="two")
        self.assertIn("two", self.next_line(watch, "running", 1))
        self.finish(program)

    def test_an_empty_page_shows_the_cure(self):
        def told(*words):
            done = subprocess.run([COMMAND, "watch", *words], cwd=self.scratch, env=self.env, capture_output=True, text=True, check=False,
                                  timeout=60 * shells.SLACK)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            return done.stderr
        self.assertIn("there is no directory takt-runs", told())
        empty = self.scratch / "takt-runs" / "run"
        empty.mkdir(parents=True)
        self.assertIn("no run in takt-runs", told())
        (empty / "rank-0-0-1").mkdir()
        self.assertIn("use --wait to wait for data", told())
        self.finish(self.train())
        subprocess.run([COMMAND, "merge", "takt-runs", "-o", "all.tar"], cwd=self.scratch, env=self.env, capture_output=True, check=True)
        self.assertIn("is in the merged file all.tar, which never changes; use takt report to show it", told("all.tar"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
