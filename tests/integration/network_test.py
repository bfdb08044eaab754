# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""No fault of a server or of the way to it changes what a program trains, keeps it from ending, or loses a point.

For each fault: what is trained is the same, the program ends with 0 and within TAKT_EXIT_MS, the journal has every step, what it
says is missing is what is missing, and `takt sync` to the mended server brings the rest, so that each point is there once, on a
server that would keep two.

 1 closed port                          closed_port, server_comes_up
 2 connection never accepted            full_backlog; unit: "nobody there, or nobody who speaks"
 3 no reply, or only its head           silent_*; unit: the same
 4 one byte now and then                slow_reply; unit: the same
 5 connection reset inside the request  reset_in_the_body
 6 stored, then no reply                reply_lost, reply_cut; tests/mlflow: lost replies, on real servers
 7 429 with Retry-After                 asked_to_wait
 8 absurd Retry-After                   asked_to_wait_for_ever; unit: "Retry-After is kept to, up to a bound"
 9 every second request fails, many     many_programs_at_a_failing_server
10 400, 413, 422                        refused_point, too_large; unit: "a point that is refused"
11 401, 403, 404                        denied
12 a page, the wrong type, half JSON    page_instead_of_json, half_json, wrong_type
13 redirection                          redirected; unit: "nothing follows a redirection"
14 endless reply                        endless_reply
15 TLS                                  tls_test.py
16 no such host                         no_such_host
17 no network at all                    no_network
18 dead proxy                           dead_proxy
   408, 500, 502, 503, 504              fails_for_a_while, fails_for_good
   server killed, another in its place  server_comes_up; tests/mlflow: a server killed and started again"""

import csv
import io
import os
import random
import re
import select
import shutil
import socket
import struct
import subprocess
import threading
import time
import unittest

import rig
import tracking

COMMAND = os.environ["COMMAND"]
STEPS = 40
EXIT_MS = 700  # more than the half second that an exporter may be at a request without looking up
PERIOD_MS = 20
SECRET = "s3cr3t-t0ken"
PROGRAMS = 64 if rig.SLACK == 1 else 6


def failing(status, headers="", words="no"):
    """A reply as of a server that will not."""
    def reply(handler):
        body = f'{{"error_code":"X","message":"{words}"}}'
        handler.wfile.write(f"HTTP/1.1 {status} Fault\r\nContent-Length: {len(body)}\r\n{headers}\r\n{body}".encode())
    return reply


def raw(text):
    return lambda handler: handler.wfile.write(text.encode())


def reset(handler):
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()


class Network(rig.Case):
    def setUp(self):
        super().setUp()
        self.met = threading.Event()  # the fault has been
        self.over = threading.Event()  # the test is
        self.addCleanup(self.over.set)

    # The program

    def begin(self, url, steps=STEPS, **env):
        self.program = self.start(stdin=subprocess.PIPE, **self.environment_for(url, **env))
        self.assertEqual(self.program.process.stdout.readline(), "ready\n")
        self.steps_made = 0
        self.make(steps)

    def environment_for(self, url, **env):
        return {"MLFLOW_TRACKING_URI": url, "MLFLOW_TRACKING_TOKEN": SECRET, "TAKT_TABLE": 0, "TAKT_EXIT_MS": EXIT_MS,
                "TAKT_PERIOD_MS": PERIOD_MS, "http_proxy": None, "no_proxy": None, "NO_PROXY": None, **env}

    def make(self, steps):
        self.program.process.stdin.write(f"{steps}\n")
        self.program.process.stdin.flush()
        self.steps_made += steps
        self.assertEqual(self.program.process.stdout.readline(), f"done {self.steps_made}\n")

    def finish(self, exit_ms=EXIT_MS):
        """Ends the program. Returns what it said, and whether all was delivered."""
        begin = time.monotonic()
        ended = self.program.end(60 * rig.SLACK)
        self.assertLess(time.monotonic() - begin, exit_ms / 1000 + 0.5 * rig.SLACK, ended)
        self.assertEqual(ended.status, 0, ended)
        self.assertEqual(re.findall(r"result (\S+)", ended.out), [self.trained(self.steps_made)], ended)
        self.assertNotIn(SECRET, ended.out + ended.err)
        self.check_journal(self.folder(), self.steps_made)
        return ended, "delivered 1" in ended.out

    TRAINED = {}

    def trained(self, steps):
        """What comes of so many steps without any server."""
        if steps not in self.TRAINED:
            ended = self.start(stdin=subprocess.PIPE, TAKT_FILES=0, TAKT_TABLE=0).end(60, f"{steps}\n")
            self.TRAINED[steps] = re.findall(r"result (\S+)", ended.out)[0]
        return self.TRAINED[steps]

    # The journal

    def takt(self, *words, **env):
        return subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True, check=False, timeout=60 * rig.SLACK,
                              env=rig.environment(**env))

    def journal_steps(self, folder):
        rows = csv.DictReader(io.StringIO(self.takt("report", "--steps", folder).stdout))
        return [int(row["step"]) for row in rows if row["path"] == "Batch/IO"]

    def check_journal(self, folder, steps):
        self.assertEqual(self.journal_steps(folder), list(range(steps)))
        self.assertIn("whole, nothing lost", self.takt("check", folder).stdout)
        for path in folder.iterdir():
            self.assertNotIn(SECRET.encode(), path.read_bytes(), path)

    # The server

    def serve(self, fault=lambda *_: None, **how):
        server = tracking.TrackingServer(fault, **how)
        self.addCleanup(server.stop)
        return server

    def at(self, endpoint, reply, times=None):
        """A fault at requests to `endpoint`, the first ones or all."""
        left = [times]

        def fault(_method, asked, _body):
            if asked != endpoint or left[0] == 0:
                return None
            left[0] = None if left[0] is None else left[0] - 1
            self.met.set()
            return reply
        return fault

    def sync(self, server, folder=None):
        server.fault = lambda *_: None
        done = self.takt("sync", folder or self.folder(), MLFLOW_TRACKING_URI=server.url, MLFLOW_TRACKING_TOKEN=SECRET)
        self.assertEqual(done.returncode, 0, f"{done.stdout}\n{done.stderr}")

    def check_all_once(self, server, lacking=0):
        run = server.only_run()
        self.assertEqual(run.status, "FINISHED")
        self.assertEqual(run.copies(), 0)
        for key in ("weight", "time/Batch/step_s", "time/Batch/IO/step_s", "time/Batch/Forward/step_s"):
            self.assertLessEqual(len(run.steps(key)), self.steps_made)
            self.assertGreaterEqual(len(run.steps(key)), self.steps_made - lacking)
            self.assertEqual(len(set(run.steps(key))), len(run.steps(key)))

    def check_rest_is_synced(self, server, ended):
        """What was said to be missing is what comes now."""
        missing = re.findall(r"(\d+) points are missing", ended.err)
        before = server.only_run().points() if server.runs else 0
        self.sync(server)
        self.check_all_once(server)
        if missing:
            # Of a request without an answer nobody knew.
            self.assertGreaterEqual(int(missing[0]), server.only_run().points() - before)

    def suffer(self, server, says):
        """A run through a fault that stays; then it is mended."""
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
        """A run through a fault that passes."""
        self.begin(server.url)
        self.assertTrue(rig.wait_until(lambda: server.runs and len(server.only_run().steps("weight")) >= STEPS - lacking, 30))
        ended, delivered = self.finish()
        self.assertTrue(delivered or lacking, ended)
        if says is not None:
            self.assertRegex(ended.err, says)
        self.sync(server)
        self.check_all_once(server, lacking)
        return ended

    # The faults

    def closed_port(self):
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            return one.getsockname()[1]

    def test_closed_port(self):
        port = self.closed_port()
        self.met.set()
        self.begin(f"http://127.0.0.1:{port}", TAKT_EXIT_MS=None)
        ended, delivered = self.finish(2000)
        self.assertFalse(delivered)
        self.assertRegex(ended.err, "onnect")
        self.check_rest_is_synced(self.serve(port=port), ended)

    def test_server_comes_up(self):
        """And is killed, and another one with the same memory takes its place."""
        port = self.closed_port()
        self.begin(f"http://127.0.0.1:{port}")
        first = self.serve(port=port)
        self.wait_for_all(first)
        first.stop()
        self.make(STEPS)
        second = self.serve(port=port)
        second.runs = first.runs
        self.make(STEPS)
        self.wait_for_all(second)
        ended, delivered = self.finish()
        self.assertTrue(delivered, ended)
        self.check_all_once(second)

    def wait_for_all(self, server):
        self.assertTrue(rig.wait_until(lambda: server.runs and len(server.only_run().steps("weight")) >= self.steps_made, 30))

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
        for endpoint in ("runs/create", "runs/log-batch"):
            self.check_silence(endpoint, "")

    def test_silent_behind_the_head(self):
        self.check_silence("runs/log-batch", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")

    def check_silence(self, endpoint, words):
        """Meanwhile the journal is written, period by period."""
        with self.subTest(endpoint, words=words):
            self.setUp()
            server = self.serve(self.at(endpoint, self.hang(words)))
            self.begin(server.url)
            self.assertTrue(self.met.wait(30 * rig.SLACK))
            for _ in range(3):
                self.make(STEPS)
                made = time.monotonic()
                self.assertTrue(rig.wait_until(lambda: len(self.journal_steps(self.folder())) == self.steps_made, 5))
                # The command itself takes its time.
                self.assertLess(time.monotonic() - made, PERIOD_MS / 1000 + 0.5 * rig.SLACK)
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
        self.suffer(self.serve(self.at("runs/log-batch", reply)), "points are missing")

    def test_reset_in_the_body(self):
        left = [2]

        def takes_body(_method, path):
            if path.endswith("log-batch") and left[0] > 0:
                left[0] -= 1
                return False
            return True
        server = self.serve(lambda _method, endpoint, body: reset if endpoint == "runs/log-batch" and not body else None,
                            takes_body=takes_body)
        self.survive(server, "does not answer as it should")
        self.assertEqual(left[0], 0)

    def test_reply_lost(self):
        lost = []

        def fault(_method, endpoint, body):
            if endpoint not in ("runs/create", "runs/log-batch") or len(lost) == 2:
                return None
            lost.append(endpoint)
            self.server.good(endpoint, {}, body)
            return lambda handler: None
        self.server = self.serve(fault)
        self.survive(self.server, "does not answer as it should")
        self.assertEqual(self.server.count("runs/create"), 1)
        self.assertGreater(self.server.count("runs/get"), 0)

    def test_reply_cut(self):
        """After it was stored; and until the program ends the server does not tell what it has."""
        def fault(_method, endpoint, body):
            if endpoint == "runs/get" and self.met.is_set():
                return failing(503)
            if endpoint != "runs/log-batch":
                return None
            self.server.good(endpoint, {}, body)
            self.met.set()
            return raw("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{\"a\":")
        self.server = self.serve(fault)
        self.suffer(self.server, "does not answer as it should")

    def test_asked_to_wait(self):
        times = []

        def fault(_method, endpoint, _body):
            if endpoint != "runs/log-batch":
                return None
            times.append(time.monotonic())
            return failing(429, "Retry-After: 1\r\n") if len(times) == 1 else None
        self.survive(self.serve(fault), "HTTP 429")
        self.assertGreater(times[1] - times[0], 0.95)

    def test_asked_to_wait_for_ever(self):
        for after in ("1000000000", "Fri, 31 Dec 9999 23:59:59 GMT", "soon", "-1"):
            with self.subTest(after):
                self.setUp()
                self.suffer(self.serve(self.at("runs/create", failing(503, f"Retry-After: {after}\r\n"))), "HTTP 503")

    def test_fails_for_a_while(self):
        for status in (408, 500, 502, 503, 504):
            with self.subTest(status):
                self.setUp()
                self.survive(self.serve(self.at("runs/log-batch", failing(status), 1)), f"HTTP {status}: no")

    def test_fails_for_good(self):
        self.suffer(self.serve(self.at("runs/log-batch", (500, "text/html", b"<h1>Internal Server Error</h1>"))), "HTTP 500")

    def test_refused_point(self):
        for status in (400, 422):
            with self.subTest(status):
                self.setUp()
                server = self.serve(lambda _method, endpoint, body, status=status:
                                    failing(status) if b'"step":7,' in body and b'"weight"' in body else None)
                ended = self.survive(server, f"HTTP {status}", lacking=1)
                self.assertIn("which is left out", ended.err)
                self.assertNotIn(7, server.only_run().steps("weight"))

    def test_too_large(self):
        server = self.serve(lambda _method, endpoint, body: failing(413) if len(body) > 2000 else None)
        self.survive(server)
        self.assertGreater(server.count("runs/log-batch"), 5)

    def test_denied(self):
        for status, cure in ((401, "MLFLOW_TRACKING_TOKEN"), (403, "may not do this"), (404, "Check MLFLOW_TRACKING_URI")):
            with self.subTest(status):
                self.setUp()
                server = self.serve(self.at("runs/create", failing(status)))
                ended = self.suffer(server, cure)
                self.assertEqual(ended.err.count(f"HTTP {status}"), 1, ended)

    def test_page_instead_of_json(self):
        reply = (200, "text/html", f"<html>Log in. {SECRET}</html>".encode())
        self.suffer(self.serve(self.at("runs/log-batch", reply)), "does not answer as it should: HTTP 200: <html>Log in")

    def test_half_json(self):
        """A length that is too small."""
        reply = raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\n{\"run\":{\"info\":{}}}")
        self.suffer(self.serve(self.at("runs/create", reply)), "does not answer as it should")

    def test_wrong_type(self):
        def fault(_method, endpoint, body):
            if endpoint != "runs/log-batch":
                return None
            self.server.good(endpoint, {}, body)
            return 200, "text/plain", b"{}"
        self.server = self.serve(fault)
        self.survive(self.server)

    def test_redirected(self):
        other = self.serve()
        server = self.serve(self.at("runs/create", failing(307, f"Location: {other.url}/elsewhere\r\n")))
        self.suffer(server, "Redirections are not followed; set MLFLOW_TRACKING_URI to where it is: " + other.url)
        self.assertEqual(other.requests, [])

    def test_endless_reply(self):
        sent = [0]

        def reply(handler):
            handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            while not self.over.is_set():
                handler.wfile.write(b"x" * 65536)
                sent[0] += 65536
        self.suffer(self.serve(self.at("runs/create", reply)), "the reply is longer than")
        self.assertLess(sent[0], 100e6)

    def test_no_such_host(self):
        self.begin("https://tracking.invalid")
        ended, delivered = self.finish()
        self.assertFalse(delivered)
        self.check_rest_is_synced(self.serve(), ended)

    def test_dead_proxy(self):
        proxy = f"http://127.0.0.1:{self.closed_port()}"
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
        # The leak checker may not look into a process in a namespace of its own.
        env = rig.environment(TAKT_DIR=self.runs, ASAN_OPTIONS="detect_leaks=0", **self.environment_for(server.url))
        self.program = rig.Started([*alone, rig.PROGRAM], env, subprocess.PIPE, subprocess.PIPE, 64 * rig.MIB, None)
        self.addCleanup(self.program.kill)
        self.assertEqual(self.program.process.stdout.readline(), "ready\n")
        self.steps_made = 0
        self.make(STEPS)
        ended, delivered = self.finish()
        self.assertFalse(delivered)
        self.assertEqual(server.requests, [])
        self.check_rest_is_synced(server, ended)

    def test_many_programs_at_a_failing_server(self):
        """They do not come back all at once."""
        chance = random.Random(1)
        failed = {}  # run: when
        waits = []

        def fault(_method, endpoint, body):
            if endpoint == "runs/log-batch" and body[-12:] in failed:
                waits.append(time.monotonic() - failed.pop(body[-12:]))
            if chance.random() < 0.5:
                return None
            if endpoint == "runs/log-batch":
                failed[body[-12:]] = time.monotonic()  # the end of it is the name of the run
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
        for folder in self.folders() if delivered < PROGRAMS else ():
            self.sync(server, folder)
        self.assertEqual(len(server.runs), PROGRAMS)
        for run in server.runs.values():
            self.assertEqual((sorted(run.steps("weight")), run.copies(), run.status), (list(range(5)), 0, "FINISHED"))
        if rig.SLACK != 1:
            return  # too few for what follows
        self.assertGreater(len(waits), PROGRAMS // 4)
        waits.sort()
        self.assertGreater(waits[len(waits) * 3 // 4] - waits[len(waits) // 4], 0.1)


if __name__ == "__main__":
    rig.main()
