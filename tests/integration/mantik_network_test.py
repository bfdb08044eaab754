# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Effects of server and network errors on the delivery to Mantik (faults.py). They occur in the token routes: at the
login, and during the run because the first token expires with the first values sent with it. The password is sent only
to the login."""

import json

import mlflow_faults
import rig
import tracking
from faults import EXIT_MS, STEPS, failing
from mantik_tokens import PASSWORD, USER, TokenRoutes

ROUTES = "/mantik/tokens/"


class Mantik(TokenRoutes, tracking.TrackingServer):
    def __init__(self, *arguments, **how):
        self.told_password = set()  # the routes that received the password
        self.ended = False  # the first token expired
        super().__init__(*arguments, **how)

    def answer(self, method, path, headers, body):
        if b"ss w" in body:
            self.told_password.add(path)
        return super().answer(method, path, headers, body)

    def good(self, endpoint, query, body):
        if endpoint.startswith(ROUTES):
            return self.answer_for_token(endpoint.removeprefix(ROUTES), json.loads(body))
        if endpoint == "runs/log-batch" and not self.ended and not any(run.points() for run in self.runs.values()):
            self.ended = True
            self.valid.clear()
        if not self.lets_in(self.requests[-1][1]):
            return 401, "text/plain", b"Invalid token"
        return super().good(endpoint, query, body)

    def tokens(self):
        return [endpoint.removeprefix(ROUTES) for endpoint, _ in self.requests if endpoint.startswith(ROUTES)]


class MantikNetwork(mlflow_faults.MlflowFaults, rig.Case):
    CREATE, BATCH = ROUTES + "create", ROUTES + "refresh"
    URL_VARIABLE = "MANTIK_API_URL"
    SECRET = PASSWORD
    REST_MS = EXIT_MS
    DENIED = ((CREATE, 401, "MANTIK_USERNAME"), (CREATE, 403, "MANTIK_USERNAME"), (CREATE, 404, "MANTIK_API_URL"),
              ("runs/create", 401, "of one platform"), ("runs/log-batch", 401, "of one platform"))
    PASSING = (408, 503)  # MLflow's code decides which statuses are transient
    # Never the server's text, which may repeat the password.
    AWAY = "does not issue a token: |sent no valid token"
    FAILS = r"does not issue a token \(HTTP {status}\)"
    PAGE = "sent no valid token"
    REDIRECTED = r"redirects \(HTTP 307\), which is not followed. Set {variable} to the redirect's target"

    def setUp(self):
        super().setUp()
        self.servers = []

    def credentials(self, url):
        return {"HOME": self.scratch, "MANTIK_USERNAME": USER, "MANTIK_PASSWORD": PASSWORD, "MANTIK_API_URL": url,
                "MLFLOW_TRACKING_URI": url, "MLFLOW_EXPERIMENT_ID": 1}

    def serve(self, fault=lambda *_: None, **how):
        self.servers.append(Mantik(fault, **how))
        self.addCleanup(self.servers[-1].stop)
        return self.servers[-1]

    def finish(self, exit_ms=EXIT_MS):
        ended, delivered = super().finish(exit_ms)
        for token in ("access-", "refresh-"):
            self.assertNotIn(token, ended.err)
            for path in self.runs.rglob("*"):
                self.assertFalse(path.is_file() and token.encode() in path.read_bytes(), path)
        for server in self.servers:
            self.assertLessEqual(server.told_password, {self.CREATE})
        return ended, delivered

    def test_token_ends_in_mid_run(self):
        server = self.serve()
        ended = self.survive(server)
        self.assertEqual(ended.err, "")
        self.assertEqual(server.tokens(), ["create", "refresh"])

    def test_reply_lost(self):
        """For each route: a token was issued, but the reply was lost."""
        lost = []

        def fault(_method, endpoint, body):
            if not endpoint.startswith(ROUTES) or endpoint in lost:
                return None
            lost.append(endpoint)
            server.good(endpoint, {}, body)
            return lambda handler: None
        server = self.serve(fault)
        self.survive(server, "does not issue a token: ")
        self.assertEqual(lost, [self.CREATE, self.BATCH])
        self.assertEqual(server.tokens(), ["create", "create", "refresh", "refresh"])

    def test_refresh_refused(self):
        """The password helps, and is sent only to the login."""
        other = self.serve()
        for status in (401, 403, 404, 307):
            with self.subTest(status):
                self.setUp()
                server = self.serve(self.at(self.BATCH, failing(status, f"Location: {other.url}/elsewhere\r\n")))
                self.survive(server)
                self.assertEqual(server.tokens(), ["create", "refresh", "create"])
        self.assertEqual(self.asked(other), [])

    def test_a_temporary_lack_of_tokens_drops_no_value(self):
        """No tokens are issued, and existing ones are rejected, while steps are made."""
        server = self.serve(self.at(self.BATCH, failing(500)))
        self.begin(server.url, TAKT_EXIT_MS=self.REST_MS)
        self.assertTrue(self.met.wait(30 * rig.SLACK))
        self.make(STEPS)
        server.fault = lambda *_: None
        self.wait_for_all(server)
        ended, delivered = self.finish()
        self.assertTrue(delivered, ended)
        self.check_all_once(server)

    def test_killed_while_it_requests_a_token(self):
        """Other programs do not wait for it."""
        for route in (self.CREATE, self.BATCH):
            with self.subTest(route):
                self.setUp()
                server = self.serve(self.at(route, self.hang()))
                self.begin(server.url)
                self.assertTrue(self.met.wait(30 * rig.SLACK))
                self.assertTrue(rig.wait_until(lambda: self.journal_steps(self.directory()) == list(range(STEPS))))
                self.assertEqual(len(list(self.scratch.glob(".mantik/*.lease"))), 1)
                self.program.kill()
                self.program.end(60 * rig.SLACK)
                self.over.set()
                self.sync(server)  # faster than the timeout for a live program
                run = server.only_run()
                self.assertEqual((sorted(run.steps("weight")), run.copies()), (list(range(STEPS)), 0))
                self.assertEqual(list(self.scratch.glob(".mantik/*.lease")), [])


if __name__ == "__main__":
    rig.main()
