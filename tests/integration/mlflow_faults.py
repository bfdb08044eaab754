# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""The errors (faults.py) for delivery to an MLflow tracking server."""

import re

import faults
import rig
from faults import STEPS
from loopback import closed_port


class MlflowFaults(faults.Faults):
    UNSENT = "points are missing"

    def has_arrived(self, server, lacking=0):
        return server.runs and len(server.only_run().steps("weight")) >= STEPS - lacking

    def asked(self, server):
        return server.requests

    def sync(self, server, directory=None, lacking=0):
        server.fault = lambda *_: None
        done = self.takt("sync", directory or self.directory(), **self.credentials(server.url))
        self.assertEqual(done.returncode, 4 if lacking else 0, f"{done.stdout}\n{done.stderr}")

    def check_all_once(self, server, lacking=0):
        run = server.only_run()
        self.assertEqual(run.status, "FINISHED")
        self.assertEqual(run.copies(), 0)
        for key in ("weight", "time/Batch/step_s", "time/Batch/IO/step_s", "time/Batch/Forward/step_s"):
            self.assertLessEqual(len(run.steps(key)), self.steps_made)
            self.assertGreaterEqual(len(run.steps(key)), self.steps_made - lacking)
            self.assertEqual(len(set(run.steps(key))), len(run.steps(key)))

    def check_rest_is_synced(self, server, ended):
        """Checks that the data reported as missing is sent now."""
        missing = re.findall(r"(\d+) points are missing", ended.err)
        before = server.only_run().points() if server.runs else 0
        self.sync(server)
        self.check_all_once(server)
        if missing:
            # For requests without a reply, the outcome is unknown.
            self.assertGreaterEqual(int(missing[0]), server.only_run().points() - before)

    def test_server_comes_up(self):
        """The server is also killed, and another one with the same data replaces it."""
        port = closed_port()
        self.begin(f"http://127.0.0.1:{port}")
        first = self.serve(port=port)
        self.wait_for_all(first)
        first.kill()
        self.make(STEPS)
        second = self.serve(port=port, runs=first.runs)
        self.make(STEPS)
        self.wait_for_all(second)
        ended, delivered = self.finish()
        self.assertTrue(delivered, ended)
        self.check_all_once(second)

    def wait_for_all(self, server):
        self.assertTrue(rig.wait_until(lambda: server.runs and len(server.only_run().steps("weight")) >= self.steps_made, 120))
