# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""A program on a terminal of its own, to which a test types and of which it reads what is shown."""

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
    def __init__(self, words, env, cwd, columns=100, lines=40):
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execvpe(words[0], words, {**env, "TERM": "xterm"})
        fcntl.ioctl(self.end, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.shown = ""

    def type(self, text):
        """Forgets what was shown before."""
        self.shown = ""
        os.write(self.end, text.encode())

    def wait_for(self, pattern, seconds=60):
        """Reads on until what was shown since the last type(), without control characters, has it; returns that."""
        end = time.monotonic() + seconds * SLACK
        while not re.search(pattern, CONTROL.sub("", self.shown)):
            ready, _, _ = select.select([self.end], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise AssertionError(f"{pattern} is not in {self.shown!r}")
            try:
                self.shown += os.read(self.end, 65536).decode(errors="replace")
            except OSError as error:  # nobody has it open any more
                raise AssertionError(f"{pattern} is not in {self.shown!r}") from error
        return CONTROL.sub("", self.shown)

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.end)
