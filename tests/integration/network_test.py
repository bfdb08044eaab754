# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Effects of server and network errors on the delivery to MLflow (faults.py), and errors that only MLflow has. The
server keeps duplicates."""

import os
import random
import subprocess
import time
import unittest

import mlflow_faults
import rig
import tracking
from faults import EXIT_MS, STEPS, failing, raw

PRELOADED = os.environ.get("PRELOADED")
PROGRAMS = 64 if rig.SLACK == 1 else 6


class Network(mlflow_faults.MlflowFaults, rig.Case):
    CREATE, BATCH = "runs/create", "runs/log-batch"
    URL_VARIABLE = "MLFLOW_TRACKING_URI"
    SECRET = "s3cr3t-t0ken"
    REST_MS = EXIT_MS
    DENIED = ((CREATE, 401, "MLFLOW_TRACKING_TOKEN"), (CREATE, 403, "has no permission"), (CREATE, 404, "Check MLFLOW_TRACKING_URI"))

    def credentials(self, url):
        return {"MLFLOW_TRACKING_URI": url, "MLFLOW_TRACKING_TOKEN": self.SECRET}

    def serve(self, fault=lambda *_: None, **how):
        server = tracking.TrackingServer(fault, **how)
        self.addCleanup(server.stop)
        return server

    def test_reply_lost(self):
        lost = []

        def fault(_method, endpoint, body):
            if endpoint not in ("runs/create", "runs/log-batch") or len(lost) == 2:
                return None
            lost.append(endpoint)
            self.server.good(endpoint, {}, body)
            return lambda handler: None
        self.server = self.serve(fault)
        self.survive(self.server, "does not respond correctly")
        self.assertEqual(self.server.count("runs/create"), 1)
        self.assertGreater(self.server.count("runs/get"), 0)

    def test_reply_cut(self):
        """The reply is cut off after the data was stored, and the server does not list its data until the program
        ends."""
        def fault(_method, endpoint, body):
            if endpoint == "runs/get" and self.met.is_set():
                return failing(503)
            if endpoint != "runs/log-batch":
                return None
            self.server.good(endpoint, {}, body)
            self.met.set()
            return raw("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{\"a\":")
        self.server = self.serve(fault)
        self.suffer(self.server, "does not respond correctly")

    def test_refused_point(self):
        for status in (400, 422):
            with self.subTest(status):
                self.setUp()
                server = self.serve(lambda _method, endpoint, body, status=status:
                                    failing(status) if b'"step":7,' in body and b'"weight"' in body else None)
                ended = self.survive(server, f"HTTP {status}", lacking=1)
                self.assertIn("which is not sent", ended.err)
                self.assertNotIn(7, server.only_run().steps("weight"))

    def test_too_large(self):
        server = self.serve(lambda _method, endpoint, body: failing(413) if len(body) > 2000 else None)
        self.survive(server)
        self.assertGreater(server.count("runs/log-batch"), 5)

    def test_wrong_type(self):
        def fault(_method, endpoint, body):
            if endpoint != "runs/log-batch":
                return None
            self.server.good(endpoint, {}, body)
            return 200, "text/plain", b"{}"
        self.server = self.serve(fault)
        self.survive(self.server)

    @unittest.skipUnless(PRELOADED, "nothing is preloaded under a sanitizer")
    def test_clock_set_back_an_hour(self):
        """Just after the program started."""
        sign = self.scratch / "sign"
        server = self.serve()
        self.begin(server.url, LD_PRELOAD=PRELOADED, CLOCK_SIGN=sign)
        self.make(STEPS)
        ended, delivered = self.finish()
        self.assertTrue(delivered, ended)
        self.assertTrue(sign.exists(), "nobody read that clock")
        self.check_all_once(server)
        points = sorted(server.only_run().metrics["weight"], key=lambda each: each["step"])
        stamps = [each["timestamp"] for each in points]
        self.assertEqual(stamps, sorted(stamps))
        self.assertLess(abs(time.time() * 1000 - stamps[-1]), 60_000 * rig.SLACK)

    def test_many_programs_at_a_failing_server(self):
        """They do not retry all at once."""
        chance = random.Random(1)
        failed = {}  # run: time
        waits = []

        def fault(_method, endpoint, body):
            if endpoint == "runs/log-batch" and body[-12:] in failed:
                waits.append(time.monotonic() - failed.pop(body[-12:]))
            if chance.random() < 0.5:
                return None
            if endpoint == "runs/log-batch":
                failed[body[-12:]] = time.monotonic()  # the body ends with the run's name
            return failing(503)
        server = self.serve(fault)
        programs = [self.start(stdin=subprocess.PIPE, **self.environment_for(server.url, TAKT_EXIT_MS=4000))
                    for _ in range(PROGRAMS)]
        for each in programs:
            each.process.stdin.write("5\n")
            each.process.stdin.close()
            each.process.stdin = None  # as if it never had one
        ended = [each.end(60 * rig.SLACK) for each in programs]
        delivered = sum("delivered 1" in each.out for each in ended)
        self.assertGreater(delivered, 0)
        for directory in self.directories() if delivered < PROGRAMS else ():
            self.sync(server, directory)
        self.assertEqual(len(server.runs), PROGRAMS)
        for run in server.runs.values():
            self.assertEqual((sorted(run.steps("weight")), run.copies(), run.status), (list(range(5)), 0, "FINISHED"))
        if rig.SLACK != 1:
            return  # too few for the checks below
        self.assertGreater(len(waits), PROGRAMS // 4)
        waits.sort()
        self.assertGreater(waits[len(waits) * 3 // 4] - waits[len(waits) // 4], 0.1)


if __name__ == "__main__":
    rig.main()
