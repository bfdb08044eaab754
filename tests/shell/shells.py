# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""A program on its own terminal, with which a test types and reads the screen."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

SLACK = float(os.environ.get("SLACK", 1))
CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\x1b\][^\x07]*\x07|[\x07\x00\r]")


class Terminal:
    def __init__(self, words, env, cwd, kind="xterm"):
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execvpe(words[0], words, {**env, "TERM": kind})
        self.resize(100, 40)
        self.shown = ""
        self.status = None

    def resize(self, columns, lines):
        fcntl.ioctl(self.end, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def settings(self):
        return termios.tcgetattr(self.end)

    def write(self, text):
        os.write(self.end, text.encode())

    def type(self, text):
        """Types text and forgets the earlier output."""
        self.shown = ""
        self.write(text)

    def wait_for(self, pattern, seconds=60):
        """Reads until the output since the last type(), without control characters, contains the text. Returns that
        output."""
        self.read_until(lambda: re.search(pattern, CONTROL.sub("", self.shown)), pattern, seconds)
        return CONTROL.sub("", self.shown)

    def read_raw(self, text, seconds=60):
        """Reads until new output, including control characters, contains the text."""
        self.shown = ""
        self.read_until(lambda: text in self.shown, repr(text), seconds)

    def read_until(self, found, what, seconds):
        end = time.monotonic() + seconds * SLACK
        while not found():
            ready, _, _ = select.select([self.end], [], [], max(0, end - time.monotonic()))
            if not ready or not self.read_some():
                raise AssertionError(f"{what} is not in {self.shown!r}")

    def read_some(self):
        """Returns False if the terminal was closed."""
        try:
            self.shown += os.read(self.end, 65536).decode(errors="replace")
        except OSError:
            return False
        return True

    def wait(self):
        """Reads to the end and returns the program's exit status."""
        while self.read_some():
            pass
        _, self.status = os.waitpid(self.pid, 0)
        return self.status

    def close(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.end)
