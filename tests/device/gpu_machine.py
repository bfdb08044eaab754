# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the programs of a packed directory (gpu_pack.py), each with a time limit of its own. Python 3.8 and its library are enough."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

LIMIT = 240  # seconds that a program may take, where nobody says otherwise
AFTER_KILL = 5  # seconds that a killed one has to go: one that is stuck in the driver stays for longer


def joined(*directories):
    return ":".join(str(directory) for directory in directories if directory)


class Machine:
    """Programs, run one at a time with an environment that has nothing of Takt's; and how much time is left."""

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
        """What programs look for their libraries in."""
        return joined(*before, self.pack / "lib", os.environ.get("LD_LIBRARY_PATH"))

    @staticmethod
    def counted():
        """Calls of the driver are counted. By name, not by path: a space would end it."""
        return {"LD_PRELOAD": "libcount_calls.so"}

    def hip(self):
        """With this CUDA's driver is HIP's library, too."""
        return {"LD_LIBRARY_PATH": joined(self.pack / "lib" / "hip_on_cuda", self.env["LD_LIBRARY_PATH"])}

    def run(self, command, limit=LIMIT, **env):
        """(status, what it printed, what it complained, seconds). A status of None: it did not end in time, and what it had printed is there."""
        limit = min(limit, self.end - time.monotonic())
        if limit <= 0:
            return None, "", "no time was left for it", 0
        begin = time.monotonic()
        with tempfile.TemporaryFile("w+", dir=self.scratch) as out, tempfile.TemporaryFile("w+", dir=self.scratch) as err:
            # Files and not pipes: nobody has to wait for the end of what a child of it keeps open.
            hold(signal.SIG_BLOCK)  # else one that begins just now would go on, known to nobody
            try:
                child = subprocess.Popen([str(word) for word in command], env={**self.env, **env}, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                         start_new_session=True, preexec_fn=lambda: hold(signal.SIG_UNBLOCK))
                try:
                    hold(signal.SIG_UNBLOCK)
                    status = ended(child, limit)
                finally:  # also where somebody ends this program: a GPU must not stay busy
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
    """SIGTERM, which ends the checks, comes later, or now."""
    signal.pthread_sigmask(how, {signal.SIGTERM})


def ended(child, limit):
    """Its status, or None."""
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
    """What it prints, or None."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    status, out, _, _ = machine.run([tool, *arguments], limit=30)
    return out if status == 0 else None
