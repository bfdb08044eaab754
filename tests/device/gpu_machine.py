# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the programs of a packed directory (gpu_pack.py), each with its own time limit. Needs only Python 3.8 and its
standard library."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

LIMIT = 240  # default time limit of a program, in seconds
AFTER_KILL = 5  # seconds to wait for a killed program; one that hangs in the driver may stay longer


def joined(*directories):
    return ":".join(str(directory) for directory in directories if directory)


class Machine:
    """Runs programs one at a time in an environment without variables of Takt, and keeps track of the remaining
    time."""

    def __init__(self, pack, scratch, seconds=float("inf")):
        self.end = time.monotonic() + seconds
        self.pack = pathlib.Path(pack)
        self.scratch = scratch
        self.gpu_check = self.program("gpu_check")
        self.training = self.program("gpu_training")
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(("TAKT_", "CUDA_DEVICE_MAX"))}
        self.env.update(TAKT_DIR=str(scratch), TAKT_TABLE="0", LD_LIBRARY_PATH=self.libraries())

    def program(self, name):
        return self.pack / "bin" / name

    def libraries(self, *before):
        """Returns the library search path of the programs."""
        return joined(*before, self.pack / "lib", os.environ.get("LD_LIBRARY_PATH"))

    @staticmethod
    def counted():
        """Preloads the call counter, by name because a space in a path would split it."""
        return {"LD_PRELOAD": "libcount_calls.so"}

    def hip(self):
        """Puts HIP's library on top of this CUDA driver."""
        return {"LD_LIBRARY_PATH": joined(self.pack / "lib" / "hip_on_cuda", self.env["LD_LIBRARY_PATH"])}

    def run(self, command, limit=LIMIT, **env):
        """Returns (status, stdout, stderr, seconds). Status None: it timed out; the output up to then is returned."""
        limit = min(limit, self.end - time.monotonic())
        if limit <= 0:
            return None, "", "no time was left for it", 0
        begin = time.monotonic()
        with tempfile.TemporaryFile("w+", dir=self.scratch) as out, tempfile.TemporaryFile("w+", dir=self.scratch) as err:
            # Files instead of pipes: an orphaned child that keeps them open does not block this program.
            hold(signal.SIG_BLOCK)  # otherwise a child that is just starting would run on unregistered
            try:
                child = subprocess.Popen([str(word) for word in command], env={**self.env, **env}, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                         start_new_session=True, preexec_fn=lambda: hold(signal.SIG_UNBLOCK))
                try:
                    hold(signal.SIG_UNBLOCK)
                    status = ended(child, limit)
                finally:  # also if this program is terminated: the GPU must not stay busy
                    if child.returncode is None:
                        end_all_of(child)
            finally:
                hold(signal.SIG_UNBLOCK)
            taken = time.monotonic() - begin
            printed, complained = (text(file) for file in (out, err))
        if status is None:
            complained += f"\nnot ended after {limit:.0f} s"
        return status, printed, complained, taken

    def check(self, *arguments, **options):
        return self.run([self.gpu_check, *arguments], **options)


def hold(how):
    """Blocks or unblocks SIGTERM, which ends the checks."""
    signal.pthread_sigmask(how, {signal.SIGTERM})


def ended(child, limit):
    """Returns the exit status, or None."""
    try:
        return child.wait(timeout=limit)
    except subprocess.TimeoutExpired:
        return None


def end_all_of(child):
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    ended(child, AFTER_KILL)


def text(file):
    file.seek(0)
    return file.read()


def nvidia_smi(machine, *arguments):
    """Returns the output, or None."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    status, out, _, _ = machine.run([tool, *arguments], limit=30)
    return out if status == 0 else None
