# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""While a server fails, Takt makes no system calls, takes no locks and allocates nothing on the training thread. The
first argument is hot_path_program, which counts them, and the second is the exporter."""

import pathlib
import select
import signal
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "wandb"))
import rig  # noqa: E402
import tracking  # noqa: E402
from faults import failing, raw, reset  # noqa: E402
from loopback import closed_port  # noqa: E402
from wandb_server import WandbServer  # noqa: E402

EXPORTER = sys.argv.pop()
# For Mantik only the token routes; the other requests are MLflow's.
CREATE, BATCH = {"mlflow": ("runs/create", "runs/log-batch"), "mantik": ("/mantik/tokens/create", "/mantik/tokens/create"),
                 "wandb": ("UpsertBucket", "file_stream")}[EXPORTER]
NO_FILTER = 77  # the kernel does not allow the process to filter system calls
PART = "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n{"


def silent(handler):
    handler.rfile.read(1)  # until the client disconnects


def slow(handler):
    raw(PART)(handler)
    while not select.select([handler.connection], [], [], 0.02)[0]:
        handler.wfile.write(b" ")


def reset_in_the_reply(handler):
    raw(PART)(handler)
    reset(handler)


class HotPath(rig.Case):
    def count(self, url, was_met):
        program = self.start(EXPORTER, url, self.scratch, stdin=subprocess.PIPE)
        self.assertEqual(program.process.stdout.readline(), "ready\n")
        self.assertTrue(was_met(program.process), "the exporter has not met the fault")
        ended = program.end(60 * rig.SLACK, "count\n")
        self.assertNotEqual(ended.status, -signal.SIGSYS, f"a system call\n{ended}")
        self.assertEqual(ended.status, 0, ended)
        self.assertIn("steps: 0 allocations, 0 locks\n", ended.out)

    def suffer(self, request, reply):
        met = threading.Event()

        def fault(asked):
            if asked != request:
                return None
            met.set()
            return reply
        if EXPORTER == "wandb":
            server = WandbServer(lambda kind, _number: fault(kind))
        else:
            server = tracking.TrackingServer(lambda _method, endpoint, _body: fault(endpoint))
        self.addCleanup(server.stop)
        self.count(server.url, lambda _process: met.wait(30 * rig.SLACK))

    def test_no_server(self):
        def was_met(process):
            return select.select([process.stderr], [], [], 30 * rig.SLACK)[0] and "onnect" in process.stderr.readline()
        self.count(f"http://127.0.0.1:{closed_port()}", was_met)

    def test_silent(self):
        self.suffer(CREATE, silent)

    def test_slow_reply(self):
        self.suffer(BATCH, slow)

    def test_reset_in_the_reply(self):
        self.suffer(BATCH, reset_in_the_reply)

    def test_fails(self):
        self.suffer(BATCH, failing(500))

    def test_asked_to_wait(self):
        self.suffer(BATCH, failing(429, "Retry-After: 1\r\n"))

    def test_redirected(self):
        self.suffer(BATCH, failing(307, f"Location: http://127.0.0.1:{closed_port()}/elsewhere\r\n"))


if __name__ == "__main__":
    if subprocess.run(sys.argv[1:2], check=False).returncode == NO_FILTER:
        sys.exit(NO_FILTER)
    rig.main()
