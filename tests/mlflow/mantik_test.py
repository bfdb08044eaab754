# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Takt and Mantik's own Python client against the same Mantik: fake token routes in front of a real MLflow server of
the version that Mantik uses. Mantik itself cannot be tested from outside."""

import collections
import http.client
import json
import os
import pathlib
import stat
import subprocess
import sys
import threading
import unittest

import mlflow_test  # first: it sets variables that MLflow reads at import
import digits
import loopback
import rig
from mantik_tokens import PASSWORD, USER, TokenRoutes

CLIENT, EXAMPLE = os.environ.get("MANTIK_CLIENT"), os.environ.get("EXAMPLE")
STEPS = 300
# Expected token requests of each client: method, path, type and fields.
QUESTIONS = {("POST", "/mantik/tokens/create", "application/json", ("password", "username")),
             ("POST", "/mantik/tokens/refresh", "application/json", ("refresh_token", "username"))}


class Mantik(TokenRoutes, loopback.LoopbackServer):
    """Issues tokens below /mantik/tokens, and forwards requests below /tracking/api with a valid token to `server`."""

    def __init__(self, server):
        self.server = server
        self.lock = threading.Lock()
        self.asked = collections.Counter()
        self.questions = set()
        self.batches = []  # (status, body)
        self.silence = None  # an Event; no replies until it is set
        self.deaf_after = None  # number of log-batch requests after which no token is valid
        super().__init__(self.answer)

    def answer(self, method, path, headers, body):
        if self.silence is not None:
            self.silence.wait(60)
            return None
        with self.lock:
            self.asked[path.partition("?")[0]] += 1
            if path.startswith("/mantik/tokens/"):
                self.questions.add((method, path, headers["Content-Type"], tuple(sorted(json.loads(body)))))
                return self.answer_for_token(path.rpartition("/")[2], json.loads(body))
            if self.deaf_after is not None and len(self.batches) >= self.deaf_after:
                self.deaf_after = None
                self.valid.clear()
            allowed = self.lets_in(headers)
        reply = self.lead_on(method, path, headers, body) if allowed else (401, "text/plain", b"Invalid token")
        if path.endswith("runs/log-batch"):
            with self.lock:
                self.batches.append((reply[0], body))
        return reply

    def lead_on(self, method, path, headers, body):
        onward = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        names = ("Host", "Content-Length", "Authorization")
        onward.request(method, path.removeprefix("/tracking"), body, {n: v for n, v in headers.items() if n not in names})
        reply = onward.getresponse()
        content = reply.read()
        onward.close()
        return reply.status, reply.getheader("Content-Type", "text/plain"), content

    def tokens(self):
        return {route: self.asked[f"/mantik/tokens/{route}"] for route in ("create", "refresh")}


class MantikTest(mlflow_test.Case):
    def setUp(self):
        super().setUp()
        self.mantik = Mantik(self.server)
        self.addCleanup(self.mantik.stop)
        self.home = self.scratch / "home"
        self.home.mkdir()
        self.file = self.home / ".mantik" / "tokens.json"  # used by the official client
        self.of_host = self.file.with_name(f"tokens-127.0.0.1%3A{self.mantik.port}.json")
        self.experiment = self.client.create_experiment(self.id())
        self.variables = {"HOME": self.home, "MANTIK_USERNAME": USER, "MANTIK_PASSWORD": PASSWORD,
                          "MANTIK_API_URL": self.mantik.url, "MLFLOW_TRACKING_URI": self.mantik.url + "/tracking/",
                          "MLFLOW_EXPERIMENT_ID": self.experiment}

    def tearDown(self):
        super().tearDown()
        self.assertLessEqual(self.mantik.questions, QUESTIONS)

    def start_program(self, name="sent", steps=STEPS, pause_us=300, **env):
        settings = {"TAKT_EXIT_MS": 60_000, "TAKT_TABLE": 0, "TAKT_PERIOD_MS": 50, **self.variables, **env}
        return self.start(self.scratch / name, steps, pause_us, **settings)

    def run_to_mantik(self, **how):
        ended = self.start_program(**how).end(120)
        self.assertEqual(ended.status, 0, ended)
        self.assertIn("delivered 1", ended.out, ended)
        self.assertNotIn("access-", ended.err)
        self.assertNotIn(PASSWORD, ended.err)
        return ended

    def check_runs(self, count, steps=STEPS):
        """Checks for `count` finished runs with each step once, and that no experiment was created."""
        runs = self.client.search_runs([self.experiment])
        self.assertEqual([run.info.status for run in runs], ["FINISHED"] * count)
        for run in runs:
            self.assertEqual(run.data.tags["mlflow.user"], USER)
            found = [each.step for each in self.client.get_metric_history(run.info.run_id, "time/Batch/step_s")]
            self.assertEqual(sorted(found), list(range(steps)))
        self.assertEqual(self.mantik.asked["/tracking/api/2.0/mlflow/experiments/create"], 0)
        return runs

    def official(self, code):
        """Returns the output of Mantik's own client, run in the same home directory."""
        done = subprocess.run([sys.executable, "-c", "import mantik, mantik.authentication.auth as auth\n" + code],
                              env=rig.environment(PYTHONPATH=CLIENT, **self.variables), capture_output=True, text=True,
                              timeout=120 * rig.SLACK, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def test_the_official_client_uses_the_tokens_of_takt(self):
        self.run_to_mantik(TOKEN_FILE=self.file)
        run, = self.check_runs(1)
        self.assertEqual(self.mantik.tokens(), {"create": 1, "refresh": 0})
        self.assertEqual(stat.S_IMODE(self.file.stat().st_mode), 0o600)
        self.assertEqual(sorted(path.name for path in self.file.parent.iterdir()), ["tokens.json"])
        self.check_secrets()
        name = self.official("import mlflow\nmantik.init_tracking()\n"
                             f"print(mlflow.get_run('{run.info.run_id}').data.tags['mlflow.runName'])")
        self.assertEqual(name, "mlflow-test")
        self.assertEqual(self.mantik.tokens(), {"create": 1, "refresh": 0})
        # Even the refresh token is in the right field.
        written = self.file.read_text(encoding="utf-8")
        expired = {**json.loads(written), "expires_at": "2022-05-24T09:40:19+00:00"}
        self.file.write_text(json.dumps(expired), encoding="utf-8")
        self.assertEqual(self.official("print(auth.get_valid_access_token())"), "access-2")
        self.assertEqual(self.mantik.tokens(), {"create": 1, "refresh": 1})

    def check_secrets(self):
        """Checks that the run directory contains no secrets."""
        files = [path for path in self.runs.rglob("*") if path.is_file()]
        self.assertIn("mlflow.json", [path.name for path in files])
        for path in files:
            content = path.read_bytes()
            for secret in (PASSWORD.encode(), b"access-", b"refresh-"):
                self.assertNotIn(secret, content, path)

    def test_takt_uses_the_tokens_of_the_official_client(self):
        self.assertEqual(self.official("print(auth.get_valid_access_token())"), "access-1")
        self.run_to_mantik(TOKEN_FILE=self.file)
        self.assertEqual(self.mantik.tokens(), {"create": 1, "refresh": 0})
        self.official("import dataclasses, datetime\nfile = auth._MANTIK_TOKEN_FILE\n"
                      "tokens = auth._tokens.Tokens.from_file(file)\n"
                      "ended = datetime.datetime.now(datetime.timezone.utc)\n"
                      "dataclasses.replace(tokens, expires_at=ended).write_to_file(file)")
        self.run_to_mantik(TOKEN_FILE=self.file)
        self.assertEqual(self.mantik.tokens(), {"create": 1, "refresh": 1})
        self.assertEqual(json.loads(self.file.read_text(encoding="utf-8"))["refresh_token"], "refresh-1")
        self.check_runs(2)

    def test_tokens_of_another_platform_are_neither_sent_nor_changed(self):
        other = Mantik(self.server)
        self.addCleanup(other.stop)
        theirs = {"MANTIK_API_URL": other.url, "MLFLOW_TRACKING_URI": other.url + "/tracking/"}
        ours, self.variables = self.variables, {**self.variables, **theirs}
        self.assertEqual(self.official("print(auth.get_valid_access_token())"), "access-1")
        before = self.file.read_bytes()
        self.variables = ours
        self.mantik.given = 10  # makes its tokens differ
        self.run_to_mantik()
        self.check_runs(1)
        self.assertEqual(self.mantik.tokens(), {"create": 1, "refresh": 0})
        self.assertEqual(self.file.read_bytes(), before)
        self.assertEqual(json.loads(self.of_host.read_text(encoding="utf-8"))["access_token"], "access-11")
        self.assertEqual(stat.S_IMODE(self.of_host.stat().st_mode), 0o600)

    def test_a_token_that_expires_during_the_run_is_refreshed_and_the_batch_sent_again(self):
        self.mantik.deaf_after = 3
        self.run_to_mantik()
        self.check_runs(1)
        self.assertEqual(self.mantik.tokens(), {"create": 1, "refresh": 1})
        refused = [number for number, (status, _) in enumerate(self.mantik.batches) if status == 401]
        self.assertEqual(len(refused), 1)
        self.assertEqual(self.mantik.batches[refused[0]][1], self.mantik.batches[refused[0] + 1][1])

    def test_programs_that_start_together_request_one_token(self):
        programs = [self.start_program(f"sent-{number}", TAKT_RUN_ID=number) for number in range(3)]
        for program in programs:
            ended = program.end(120)
            self.assertIn("delivered 1", ended.out, ended)
        self.check_runs(3)
        self.assertEqual(self.mantik.tokens(), {"create": 1, "refresh": 0})

    @unittest.skipUnless(EXAMPLE, "the examples were not built")
    def test_the_digits_example_reaches_mantik_with_variables_only(self):
        self.assertEqual(digits.run(EXAMPLE, TAKT_DIR=self.runs, TAKT_EXIT_MS=60_000, **self.variables), "")
        run, = self.client.search_runs([self.experiment])
        self.assertEqual((run.info.status, run.data.tags["mlflow.user"]), ("FINISHED", USER))
        self.assertEqual(digits.MLFLOW_METRICS, set(run.data.metrics))
        losses = sorted((each.step, each.value) for each in self.client.get_metric_history(run.info.run_id, "loss"))
        summary = self.summary()
        self.assertEqual(len(losses), rig.calls(summary, "Epoch/Batch"))
        self.assertLess(losses[-1][1], losses[0][1])

    def test_a_wrong_password_stops_the_delivery_and_nothing_else(self):
        ended = self.start_program(MANTIK_PASSWORD="wr0ng").end(120)
        self.assertEqual(ended.status, 0, ended)
        self.assertIn("rejects the user name or password (HTTP 401). Set MANTIK_USERNAME and MANTIK_PASSWORD", ended.err)
        self.assertNotIn("wr0ng", ended.err)
        self.assertEqual(self.mantik.tokens(), {"create": 1, "refresh": 0})
        self.assertEqual(list(self.home.rglob("*.json")), [])

    @unittest.skipUnless(mlflow_test.COMMAND, "the command takt was not built")
    def test_takt_sync_delivers_what_was_left_while_mantik_was_silent(self):
        silence = self.mantik.silence = threading.Event()
        self.addCleanup(silence.set)
        ended = self.start_program(TAKT_EXIT_MS=1000).end(60)
        self.assertEqual(ended.status, 0, ended)
        self.assertLess(ended.seconds, 1 + rig.LATE, ended)
        self.assertIn("delivered 0", ended.out, ended)
        self.assertIn("the run ended before all data was sent to MLflow", ended.err)
        self.assertEqual(list(self.file.parent.iterdir()), [])
        self.mantik.silence = None
        self.assertIn("complete; ", self.sync("--to", "mantik").stdout)
        self.check_runs(1)
        self.assertEqual(self.mantik.tokens(), {"create": 1, "refresh": 0})
        self.check_secrets()
        without = self.sync("--to", "mantik", MANTIK_USERNAME=None, MANTIK_PASSWORD=None, status=1)
        self.assertIn("needs a Mantik login", without.stderr)

    def sync(self, *arguments, status=0, **env):
        done = subprocess.run([mlflow_test.COMMAND, "sync", *arguments, str(self.runs)], capture_output=True, text=True,
                              check=False, timeout=120 * rig.SLACK, env=rig.environment(**{**self.variables, **env}))
        self.assertEqual(done.returncode, status, f"{done.stdout}\n{done.stderr}")
        return done


if __name__ == "__main__":
    rig.main()
