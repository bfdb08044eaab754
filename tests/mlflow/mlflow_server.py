# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""A real MLflow server as a child of the tests."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import rig

START_LIMIT = 240 * rig.SLACK

# Ends the whole group, which includes gunicorn and its workers, when the test is killed or the server ends.
WATCH = """import ctypes, os, signal, subprocess, sys
def end(*_): os.killpg(0, signal.SIGKILL)
signal.signal(signal.SIGTERM, end)
ctypes.CDLL(None).prctl(1, signal.SIGTERM)
subprocess.call(sys.argv[1:])
end()
"""


def pause():
    threading.Event().wait(0.2)


class Server:
    """A server on the loopback, with its data in `directory`, in a database or in files. It can be killed and
    restarted."""

    def __init__(self, directory, database=True, options=(), **env):
        self.directory = directory
        self.options = options
        self.env = env
        self.store = f"sqlite:///{directory}/mlflow.db" if database else str(directory / "mlruns")
        directory.mkdir()
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = one.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = None
        self.log = open(directory / "log", "ab")

    def start(self):
        """Starts the server unless it is running."""
        if self.process is not None and self.process.poll() is None:
            return
        command = [sys.executable, "-c", WATCH, sys.executable, "-m", "mlflow", "server", "--backend-store-uri",
                   self.store, "--artifacts-destination", f"{self.directory}/artifacts",
                   "--host", "127.0.0.1", "--port", str(self.port), "--workers", "1",
                   *(each.format(port=self.port) for each in self.options)]
        # MLflow starts gunicorn by name.
        path = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
        self.process = subprocess.Popen(command, env={**os.environ, "PATH": path, **self.env}, cwd=self.directory,
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True)
        end = time.monotonic() + START_LIMIT
        while time.monotonic() < end and self.process.poll() is None:
            try:
                with urllib.request.urlopen(self.url + "/health", timeout=5) as reply:
                    if reply.status == 200:
                        return
            except (urllib.error.URLError, OSError):
                pause()
        self.kill()
        raise AssertionError("the server did not start\n" + (self.directory / "log").read_text(errors="replace")[-4000:])

    def kill(self):
        if self.process is None:
            return
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process = None

    def stop(self):
        self.kill()
        self.log.close()
