# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""No error of a server or of the network changes a program's training, blocks its end, or drops a value.

For each error and each tracker: the training's result is the same, the program ends with 0 within TAKT_EXIT_MS, the
journal has every step, the reported dropped data is exact, and `takt sync` to the repaired server sends the rest, so
that the server has each value once. network_test.py: MLflow; mantik_network_test.py: MLflow behind a login whose routes
have the errors; wandb_network_test.py: W&B. Tests in [] exist only for MLflow without a login, except server_comes_up.

 1 closed port                          closed_port, [server_comes_up]
 2 connection never accepted            full_backlog; unit: MLflow client, Mantik login
 3 no reply, or only its head           silent_*; unit: the same
 4 occasional single bytes              slow_reply; unit: the same
 5 connection reset inside the request  reset_in_the_body
 6 stored, then no reply                reply_lost, [reply_cut]; tests/mlflow: lost replies, on real servers
 7 429 with Retry-After                 asked_to_wait
 8 absurd Retry-After                   asked_to_wait_for_ever; unit: MLflow client
 9 every second request fails, many     [many_programs_at_a_failing_server]
10 400, 413, 422                        [refused_point, too_large]; unit: MLflow client; W&B: denied
11 401, 403, 404                        denied; Mantik: token_ends_in_mid_run, refresh_refused
12 a page, the wrong type, half JSON    page_instead_of_json, half_json, [wrong_type]
13 redirection                          redirected; unit: MLflow client
14 endless reply                        endless_reply
15 TLS                                  tls_test.py; tests/wandb: a_server_with_an_untrusted_certificate
16 no such host                         no_such_host
17 no network at all                    no_network
18 dead proxy                           dead_proxy
   408, 500, 502, 503, 504              fails_for_a_while, fails_for_good
   server killed and replaced           [server_comes_up]; tests/mlflow: a server killed and started again;
                                        tests/wandb: a_restarted_server_gets_the_rest

hot_path_test.py counts the training thread's system calls, locks and allocations meanwhile."""

import csv
import io
import os
import re
import select
import shutil
import socket
import struct
import subprocess
import threading
import time

import rig
from loopback import closed_port

COMMAND = os.environ.get("COMMAND")
STEPS = 40
# the journal is written within this time even on a busy machine; longer than an exporter may be in a request without a
# check
EXIT_MS = 2000
PERIOD_MS = 20


def failing(status, headers="", words="no"):
    """Returns an error reply in the tracker's format."""
    def reply(handler):
        body = f'{{"error_code":"X","message":"{words}","error":"{words}"}}'
        handler.wfile.write(f"HTTP/1.1 {status} Fault\r\nContent-Length: {len(body)}\r\n{headers}\r\n{body}".encode())
    return reply


def raw(text):
    return lambda handler: handler.wfile.write(text.encode())


def reset(handler):
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()


class Faults:
    """Mixin for rig.Case. Each tracker defines:

    CREATE, BATCH           requests that create a run, and that send its values
    URL_VARIABLE            variable with the server's URL
    SECRET                  the credential
    UNSENT                  message about a run that has not arrived
    DENIED                  (request, status, message) of rejections
    PASSING                 statuses of transient errors
    REST_MS                 time limit for sending the rest
    AWAY, FAILS, PAGE, REDIRECTED   messages about a server that is unreachable, fails, returns a page, or redirects
    credentials(url)        variables with the credentials
    serve(fault)            starts a server: `fault(method, request, body)` may reply instead
    has_arrived(server)     returns true if the server has all data that is sent during the run
    asked(server)           returns the requests so far
    sync(server)            runs `takt sync` to the server, without errors
    check_all_once(server)  checks that the server has each value once
    check_rest_is_synced(server, ended)   checks that `takt sync` sends exactly the data that was reported missing"""

    PASSING = (408, 500, 502, 503, 504)
    AWAY = "does not respond correctly"
    FAILS = "HTTP {status}: no"
    PAGE = AWAY + ": HTTP 200: <html>Log in"
    REDIRECTED = "Redirects are not followed; set {variable} to the target: {url}"

    def setUp(self):
        super().setUp()
        self.met = threading.Event()  # set when the error occurred
        self.over = threading.Event()  # set when the test is over
        self.addCleanup(self.over.set)

    # The program

    def environment_for(self, url, **env):
        return {**self.credentials(url), "TAKT_TABLE": 0, "TAKT_EXIT_MS": EXIT_MS, "TAKT_PERIOD_MS": PERIOD_MS, "http_proxy": None,
                "no_proxy": None, "NO_PROXY": None, **env}

    def begin(self, url, steps=STEPS, **env):
        self.program = self.start(stdin=subprocess.PIPE, **self.environment_for(url, **env))
        self.assertEqual(self.program.process.stdout.readline(), "ready\n")
        self.steps_made = 0
        self.make(steps)

    def make(self, steps):
        self.program.process.stdin.write(f"{steps}\n")
        self.program.process.stdin.flush()
        self.steps_made += steps
        self.assertEqual(self.program.process.stdout.readline(), f"done {self.steps_made}\n")

    def finish(self, exit_ms=EXIT_MS):
        """Ends the program. Returns its stderr, and true if all data was delivered."""
        begin = time.monotonic()
        ended = self.program.end(60 * rig.SLACK)
        self.assertLess(time.monotonic() - begin, exit_ms / 1000 + rig.LATE, ended)
        self.assertEqual(ended.status, 0, ended)
        self.assertEqual(re.findall(r"result (\S+)", ended.out), [self.trained(self.steps_made)], ended)
        self.assertNotIn(self.SECRET, ended.out + ended.err)
        self.check_journal(self.directory(), self.steps_made)
        return ended, "delivered 1" in ended.out

    TRAINED = {}

    def trained(self, steps):
        """Returns the training's result for this many steps without a server."""
        if steps not in self.TRAINED:
            ended = self.start(stdin=subprocess.PIPE, TAKT_FILES=0, TAKT_TABLE=0).end(60, f"{steps}\n")
            self.TRAINED[steps] = re.findall(r"result (\S+)", ended.out)[0]
        return self.TRAINED[steps]

    # The journal

    def takt(self, *words, **env):
        return subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True, check=False, timeout=60 * rig.SLACK,
                              env=rig.environment(**env))

    def journal_steps(self, directory):
        rows = csv.DictReader(io.StringIO(self.takt("report", "--steps", directory).stdout))
        return [int(row["step"]) for row in rows if row["path"] == "Batch/IO"]

    def check_journal(self, directory, steps):
        self.assertEqual(self.journal_steps(directory), list(range(steps)))
        self.assertIn("complete, nothing lost", self.takt("check", directory).stdout)
        for path in self.scratch.rglob("*"):
            if path.is_file():
                self.assertNotIn(self.SECRET.encode(), path.read_bytes(), path)

    # The server

    def at(self, endpoint, reply, times=None):
        """Injects an error into the first requests to `endpoint`, or into all."""
        left = [times]

        def fault(_method, asked, _body):
            if asked != endpoint or left[0] == 0:
                return None
            left[0] = None if left[0] is None else left[0] - 1
            self.met.set()
            return reply
        return fault

    def suffer(self, server, says):
        """Runs a program during an error that lasts beyond its end, and then repairs it."""
        self.begin(server.url)
        self.assertTrue(self.met.wait(30 * rig.SLACK))
        ended, delivered = self.finish()
        self.assertFalse(delivered, ended)
        self.assertRegex(ended.err, says)
        self.assertLessEqual(len(ended.err.splitlines()), 4, ended)
        self.over.set()
        self.check_rest_is_synced(server, ended)
        return ended

    def survive(self, server, says=None, lacking=0):
        """Runs a program during a transient error."""
        self.begin(server.url, TAKT_EXIT_MS=self.REST_MS)
        self.assertTrue(rig.wait_until(lambda: self.has_arrived(server, lacking), 30))
        ended, delivered = self.finish(self.REST_MS)
        self.assertTrue(delivered or lacking, ended)
        if says is not None:
            self.assertRegex(ended.err, says)
        self.sync(server, lacking=lacking)
        self.check_all_once(server, lacking)
        return ended

    # The errors

    def test_closed_port(self):
        port = closed_port()
        self.met.set()
        self.begin(f"http://127.0.0.1:{port}", TAKT_EXIT_MS=None)
        ended, delivered = self.finish(2000)
        self.assertFalse(delivered)
        self.assertRegex(ended.err, "onnect")
        self.check_rest_is_synced(self.serve(port=port), ended)

    def test_full_backlog(self):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen(0)
            port = listener.getsockname()[1]
            waiting = [socket.socket() for _ in range(4)]
            for each in waiting:
                each.setblocking(False)
                each.connect_ex(("127.0.0.1", port))
            self.begin(f"http://127.0.0.1:{port}")
            ended, delivered = self.finish()
            for each in waiting:
                each.close()
        self.assertFalse(delivered)
        self.check_rest_is_synced(self.serve(port=port), ended)

    def hang(self, words=""):
        def reply(handler):
            handler.wfile.write(words.encode())
            handler.wfile.flush()
            self.over.wait()
        return reply

    def test_silent_before_the_head(self):
        for endpoint in (self.CREATE, self.BATCH):
            self.check_silence(endpoint, "")

    def test_silent_after_the_head(self):
        self.check_silence(self.BATCH, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")

    def check_silence(self, endpoint, words):
        """The journal is written meanwhile, without waiting for the 30 s of a request's timeout."""
        with self.subTest(endpoint, words=words):
            self.setUp()
            server = self.serve(self.at(endpoint, self.hang(words)))
            self.begin(server.url)
            self.assertTrue(self.met.wait(30 * rig.SLACK))
            for _ in range(3):
                self.make(STEPS)
                self.assertTrue(rig.wait_until(lambda: len(self.journal_steps(self.directory())) == self.steps_made, 10 if rig.SLACK == 1 else 2))
            ended, delivered = self.finish()
            self.assertFalse(delivered)
            self.over.set()
            self.check_rest_is_synced(server, ended)

    def test_slow_reply(self):
        def reply(handler):
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            while not self.over.is_set():
                handler.wfile.write(b" ")
                handler.wfile.flush()
                select.select([], [], [], 0.02)
        self.suffer(self.serve(self.at(self.BATCH, reply)), self.UNSENT)

    def test_reset_in_the_body(self):
        left = [2]

        def takes_body(_method, path):
            if path.endswith(self.BATCH) and left[0] > 0:
                left[0] -= 1
                return False
            return True
        server = self.serve(lambda _method, endpoint, body: reset if endpoint == self.BATCH and not body else None,
                            takes_body=takes_body)
        self.survive(server, self.AWAY)
        self.assertEqual(left[0], 0)

    def test_asked_to_wait(self):
        times = []

        def fault(_method, endpoint, _body):
            if endpoint != self.BATCH:
                return None
            times.append(time.monotonic())
            return failing(429, "Retry-After: 1\r\n") if len(times) == 1 else None
        self.survive(self.serve(fault), "HTTP 429")
        self.assertGreater(times[1] - times[0], 0.95)

    def test_asked_to_wait_for_ever(self):
        for after in ("1000000000", "Fri, 31 Dec 9999 23:59:59 GMT", "soon", "-1"):
            with self.subTest(after):
                self.setUp()
                self.suffer(self.serve(self.at(self.CREATE, failing(503, f"Retry-After: {after}\r\n"))), "HTTP 503")

    def test_fails_for_a_while(self):
        for status in self.PASSING:
            with self.subTest(status):
                self.setUp()
                self.survive(self.serve(self.at(self.BATCH, failing(status), 1)), self.FAILS.format(status=status))

    def test_fails_for_good(self):
        self.suffer(self.serve(self.at(self.BATCH, (500, "text/html", b"<h1>Internal Server Error</h1>"))), "HTTP 500")

    def test_denied(self):
        for endpoint, status, cure in self.DENIED:
            with self.subTest(endpoint, status=status):
                self.setUp()
                server = self.serve(self.at(endpoint, failing(status)))
                ended = self.suffer(server, cure)
                self.assertEqual(ended.err.count(f"HTTP {status}"), 1, ended)

    def test_page_instead_of_json(self):
        reply = (200, "text/html", f"<html>Log in. {self.SECRET}</html>".encode())
        self.suffer(self.serve(self.at(self.BATCH, reply)), self.PAGE)

    def test_half_json(self):
        """The content length is too small."""
        reply = raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\n{\"run\":{\"info\":{}}}")
        self.suffer(self.serve(self.at(self.CREATE, reply)), self.AWAY)

    def test_redirected(self):
        other = self.serve()
        server = self.serve(self.at(self.CREATE, failing(307, f"Location: {other.url}/elsewhere\r\n")))
        self.suffer(server, self.REDIRECTED.format(variable=self.URL_VARIABLE, url=other.url))
        self.assertEqual(self.asked(other), [])

    def test_endless_reply(self):
        sent = [0]

        def reply(handler):
            try:
                handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
                while not self.over.is_set():
                    handler.wfile.write(b"x" * 65536)
                    sent[0] += 65536
            finally:
                self.met.set()  # the client gave up
        self.suffer(self.serve(lambda _method, endpoint, _body: reply if endpoint == self.CREATE else None),
                    "the reply is longer than")
        self.assertLess(sent[0], 200e6)  # in a few attempts

    def test_no_such_host(self):
        self.begin("https://tracking.invalid")
        ended, delivered = self.finish()
        self.assertFalse(delivered)
        self.check_rest_is_synced(self.serve(), ended)

    def test_dead_proxy(self):
        proxy = f"http://127.0.0.1:{closed_port()}"
        self.begin("https://tracking.invalid", https_proxy=proxy, HTTPS_PROXY=proxy)
        ended, delivered = self.finish()
        self.assertFalse(delivered)
        self.assertRegex(ended.err, "onnect")
        self.check_rest_is_synced(self.serve(), ended)

    def test_no_network(self):
        alone = ["unshare", "--user", "--net"]
        if shutil.which("unshare") is None or subprocess.run([*alone, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no network namespaces here")
        server = self.serve()
        # The leak checker cannot inspect a process in another namespace.
        env = rig.environment(TAKT_DIR=self.runs, ASAN_OPTIONS="detect_leaks=0", **self.environment_for(server.url))
        self.program = rig.Started([*alone, rig.PROGRAM], env, subprocess.PIPE, subprocess.PIPE, 64 * rig.MIB, None)
        self.addCleanup(self.program.kill)
        self.assertEqual(self.program.process.stdout.readline(), "ready\n")
        self.steps_made = 0
        self.make(STEPS)
        ended, delivered = self.finish()
        self.assertFalse(delivered)
        self.assertEqual(self.asked(server), [])
        self.check_rest_is_synced(server, ended)
