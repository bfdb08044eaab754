# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a program sends to a real MLflow server, read back with MLflow's own client."""

import collections
import hashlib
import http.client
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))
os.environ.update(MLFLOW_DISABLE_TELEMETRY="true", DO_NOT_TRACK="true", MLFLOW_SERVER_ENABLE_JOB_EXECUTION="false",
                  MLFLOW_ALLOW_FILE_STORE="true",
                  NO_PROXY="127.0.0.1", no_proxy="127.0.0.1", GIT_PYTHON_REFRESH="quiet")

import mlflow  # noqa: E402
import loopback  # noqa: E402
import rig  # noqa: E402
from mlflow.tracking import MlflowClient  # noqa: E402

STEPS = 2501
COMMAND = os.environ.get("COMMAND")
START_LIMIT = 240 * rig.SLACK
LARGEST = sys.float_info.max


# Ends the whole group, of which gunicorn and its workers are part, when the test is killed or the server ends.
WATCH = """import ctypes, os, signal, subprocess, sys
def end(*_): os.killpg(0, signal.SIGKILL)
signal.signal(signal.SIGTERM, end)
ctypes.CDLL(None).prctl(1, signal.SIGTERM)
subprocess.call(sys.argv[1:])
end()
"""


def pause():
    threading.Event().wait(0.2)


def double_of(bits):
    return struct.unpack("<d", struct.pack("<Q", int(bits, 16)))[0]


class Server:
    """One on the loopback, with its data in `folder`, in a database or in files; can be killed and started again."""

    def __init__(self, folder, database=True):
        self.folder = folder
        self.store = f"sqlite:///{folder}/mlflow.db" if database else str(folder / "mlruns")
        folder.mkdir()
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = one.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = None
        self.log = open(folder / "log", "ab")

    def start(self):
        command = [sys.executable, "-c", WATCH, sys.executable, "-m", "mlflow", "server", "--backend-store-uri",
                   self.store, "--artifacts-destination", f"{self.folder}/artifacts",
                   "--host", "127.0.0.1", "--port", str(self.port), "--workers", "1"]
        # MLflow starts gunicorn by its name.
        path = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
        self.process = subprocess.Popen(command, env={**os.environ, "PATH": path}, cwd=self.folder, stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log, start_new_session=True)
        end = time.monotonic() + START_LIMIT
        while time.monotonic() < end and self.process.poll() is None:
            try:
                with urllib.request.urlopen(self.url + "/health", timeout=5) as reply:
                    if reply.status == 200:
                        return
            except (urllib.error.URLError, OSError):
                pause()
        self.kill()
        raise AssertionError("the server did not start\n" + (self.folder / "log").read_text(errors="replace")[-4000:])

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


class Forgetful(loopback.LoopbackServer):
    """Stands before a server, and loses the reply to the first runs/create and to every second log-batch."""

    def __init__(self, server):
        self.server = server
        self.lost = 0
        self.asked = collections.Counter()
        super().__init__(self.answer)

    def answer(self, method, path, headers, body):
        headers = {name: value for name, value in headers.items() if name not in ("Host", "Content-Length")}
        onward = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        onward.request(method, path, body, headers)
        reply = onward.getresponse()
        content = reply.read()
        onward.close()
        self.asked[path] += 1
        if path.endswith("runs/log-batch") and self.asked[path] % 2 or path.endswith("runs/create") and self.asked[path] == 1:
            self.lost += 1
            return None
        return reply.status, reply.getheader("Content-Type", "text/plain"), content


class Case(rig.Case):
    DATABASE = True

    def setUp(self):
        super().setUp()
        self.server = Server(self.scratch / "server", self.DATABASE)
        self.addCleanup(self.server.stop)
        self.server.start()
        mlflow.set_tracking_uri(self.server.url)  # 2.2.2 downloads artifacts from there, whatever its client was told
        self.client = MlflowClient(self.server.url)

    def start_program(self, experiment, *arguments, steps=STEPS, pause_us=300, **env):
        # A step of no length at all would record rows faster than they are collected.
        self.sent_file = self.scratch / f"{experiment}.sent"
        return self.start(self.sent_file, steps, pause_us, *arguments,
                          **{"MLFLOW_TRACKING_URI": self.server.url + "/", "MLFLOW_EXPERIMENT_NAME": experiment,
                             "TAKT_EXIT_MS": 240_000, "TAKT_TABLE": 0, "TAKT_PERIOD_MS": 50, **env})

    def only_run(self, experiment):
        found = self.client.get_experiment_by_name(experiment)
        runs = self.client.search_runs([found.experiment_id]) if found else []
        self.assertLessEqual(len(runs), 1)
        return runs[0] if runs else None

    def sent(self):
        """What the program says it sent: {(source, name): Counter of (step, ms, value)}, start in ms, run id of Takt."""
        lines = self.sent_file.read_text(encoding="utf-8").splitlines()
        _, start_ms, run_id = lines[0].split(" ")
        points = collections.defaultdict(collections.Counter)
        for line in lines[1:]:
            source, step, ms, bits, name = line.split(" ", 4)
            points[source, name][int(step), int(ms), double_of(bits)] += 1
        return points, int(start_ms), run_id

    def key_of(self, run, source, name):
        if source == "metric":
            return name
        if name == "Batch/ns::f<int>":
            keys = [key for key in run.data.metrics if key.startswith("time/Batch/ns__f_int__") and key.endswith("/step_s")]
            self.assertEqual(len(keys), 1, keys)
            return keys[0]
        return f"time/{name}/step_s"

    def check_points(self, run, steps=STEPS):
        points, start_ms, _ = self.sent()
        self.assertEqual(sum(points["row", "Batch"].values()), steps, "rows that the program itself did not get")
        self.assertEqual(set(points), {("row", "Batch"), ("row", "Batch/IO"), ("row", "Batch/ns::f<int>"), ("metric", "loss"),
                                       ("metric", "limit")})
        for (source, name), expected in points.items():
            history = self.client.get_metric_history(run.info.run_id, self.key_of(run, source, name))
            found = collections.Counter((each.step, each.timestamp, each.value) for each in history)
            if name == "limit":
                # Databases have no infinity: MLflow keeps the largest number there is.
                largest = LARGEST if self.DATABASE else float("inf")
                expected = collections.Counter({(step, ms, min(value, largest)): n for (step, ms, value), n in expected.items()})
            else:
                self.assertEqual(sum(found.values()), steps, name)
            self.assertEqual(found, expected, name)
        self.assertEqual(run.info.start_time, start_ms)
        self.assertLess(abs(start_ms / 1000 - time.time()), 3600)
        self.assertGreaterEqual(run.info.end_time, start_ms)

    def sync(self, experiment, status, url=None):
        env = {"MLFLOW_TRACKING_URI": url or self.server.url, "MLFLOW_EXPERIMENT_NAME": experiment}
        done = subprocess.run([COMMAND, "sync", str(self.runs)], capture_output=True, text=True, check=False,
                              timeout=120 * rig.SLACK, env=rig.environment(**env))
        self.assertEqual(done.returncode, status, f"{done.stdout}\n{done.stderr}")
        return done


class MlflowTest(Case):
    def test_everything_sent_is_read_back(self):
        ended = self.start_program("plain", TAKT_TRACE=1).end(300)
        self.assertEqual(ended.status, 0, ended)
        self.assertIn("delivered 1", ended.out, ended)
        run = self.only_run("plain")
        self.assertEqual(run.info.status, "FINISHED", ended)
        self.check_points(run)
        self.assertEqual(run.data.params, {**{f"param {number}": str(number) for number in range(101)}, "long": "x" * 500})
        self.assertEqual(run.data.tags["purpose"], "café")
        self.assertEqual(run.data.tags["mlflow.runName"], "mlflow-test")
        self.assertEqual(run.data.tags["takt.run_id"], self.sent()[2])
        self.assertEqual(run.data.metrics["total/time/Batch/count"], STEPS)
        self.check_artifacts(run)

    def check_artifacts(self, run):
        sizes = {each.path: each.file_size for each in self.client.list_artifacts(run.info.run_id, "takt")}
        self.assertEqual(set(sizes), {"takt/summary.json", "takt/table.txt", "takt/trace.json"})
        for name in ("summary.json", "trace.json"):
            here = (self.folder() / name).read_bytes()
            there = pathlib.Path(self.client.download_artifacts(run.info.run_id, f"takt/{name}", str(self.scratch))).read_bytes()
            self.assertEqual(sizes[f"takt/{name}"], len(here))
            self.assertEqual(hashlib.sha256(there).hexdigest(), hashlib.sha256(here).hexdigest(), name)

    def test_a_failed_run_is_marked_as_failed(self):
        ended = self.start_program("failed", "failed", steps=20).end(120)
        self.assertEqual(ended.status, 0, ended)
        run = self.only_run("failed")
        self.assertEqual(run.info.status, "FAILED", ended)
        self.check_points(run, 20)

    def test_a_server_killed_and_started_again_gets_everything_once(self):
        program = self.start_program("killed", pause_us=4000)
        end = time.monotonic() + 60 * rig.SLACK
        while time.monotonic() < end:
            run = self.only_run("killed")
            if run is not None and "loss" in run.data.metrics:
                break
            pause()
        self.assertIsNone(program.process.poll(), "the program was too fast for this test")
        self.server.kill()
        self.server.start()
        ended = program.end(300)
        self.assertEqual(ended.status, 0, ended)
        self.assertIn("delivered 1", ended.out, ended)
        run = self.only_run("killed")
        self.assertEqual(run.info.status, "FINISHED", ended)
        self.check_points(run)

    def test_lost_replies_leave_one_run_and_one_copy_of_each_point(self):
        proxy = Forgetful(self.server)
        self.addCleanup(proxy.stop)
        ended = self.start_program("lost", MLFLOW_TRACKING_URI=proxy.url).end(300)
        self.assertIn("delivered 1", ended.out, ended)
        self.assertGreater(proxy.lost, 3)
        self.check_points(self.only_run("lost"))

    def test_a_server_that_is_away_costs_no_more_than_the_time_to_exit(self):
        self.server.kill()
        ended = self.start_program("away", steps=100, TAKT_EXIT_MS=500).end(60)
        self.assertEqual(ended.status, 0, ended)
        self.assertLess(ended.seconds, 3 * rig.SLACK, ended)
        self.assertIn("delivered 0", ended.out, ended)
        self.assertIn("takt: MLflow at " + self.server.url, ended.err)

    @unittest.skipUnless(COMMAND, "the command takt was not built")
    def test_takt_sync_delivers_what_the_run_could_not(self):
        self.server.kill()
        ended = self.start_program("later", TAKT_EXIT_MS=500).end(120)
        self.assertIn("delivered 0", ended.out, ended)
        self.assertIn("takt sync", ended.err)
        self.server.start()
        self.assertIn("complete; ", self.sync("ignored", 0).stdout)
        run = self.only_run("later")
        self.assertEqual(run.info.status, "FINISHED")
        self.check_points(run)
        self.assertEqual(run.data.params["param 7"], "7")
        self.assertEqual(run.data.tags["purpose"], "café")
        self.assertIn("all is delivered", self.sync("later", 0).stdout)
        self.check_points(self.only_run("later"))

    @unittest.skipUnless(COMMAND, "the command takt was not built")
    def test_takt_sync_ends_a_killed_run(self):
        program = self.start_program("dead", pause_us=4000)
        self.assertTrue(rig.wait_until(lambda: self.only_run("dead") and "loss" in self.only_run("dead").data.metrics, 60))
        self.assertEqual(self.sync("dead", 3).stdout, "")  # the program is delivering
        program.kill()
        program.end(60)
        self.assertIn("complete; ", self.sync("dead", 0).stdout)
        run = self.only_run("dead")
        self.assertEqual(run.info.status, "KILLED")
        steps = [each.step for each in self.client.get_metric_history(run.info.run_id, "loss")]
        self.assertEqual(sorted(steps), list(range(len(steps))))
        walls = [each.step for each in self.client.get_metric_history(run.info.run_id, "time/Batch/step_s")]
        self.assertEqual(sorted(walls), list(range(len(walls))))
        self.assertEqual(run.data.metrics["total/time/Batch/count"], len(walls))

    def test_a_run_is_joined_by_its_id(self):
        experiment = self.client.create_experiment("joined")
        run_id = self.client.create_run(experiment).info.run_id
        ended = self.start_program("joined", steps=20, MLFLOW_RUN_ID=run_id).end(120)
        self.assertIn("delivered 1", ended.out, ended)
        run = self.only_run("joined")
        self.assertEqual((run.info.run_id, run.info.status), (run_id, "FINISHED"))
        self.assertEqual(run.data.metrics["total/time/Batch/count"], 20)

class FilesTest(Case):
    """A server without a database keeps two copies of what it is sent twice."""

    DATABASE = False
    STEPS = 901

    def test_lost_replies_leave_one_copy_of_each_point(self):
        proxy = Forgetful(self.server)
        self.addCleanup(proxy.stop)
        ended = self.start_program("lost", steps=self.STEPS, MLFLOW_TRACKING_URI=proxy.url).end(300)
        self.assertIn("delivered 1", ended.out, ended)
        self.assertGreater(proxy.lost, 2)
        self.check_points(self.only_run("lost"), self.STEPS)

    @unittest.skipUnless(COMMAND, "the command takt was not built")
    def test_takt_sync_leaves_one_copy_of_each_point_too(self):
        """The program ends before it can ask what became of its last request; then replies to the command are lost."""
        proxy = Forgetful(self.server)
        self.addCleanup(proxy.stop)
        ended = self.start_program("rest", steps=self.STEPS, MLFLOW_TRACKING_URI=proxy.url, TAKT_EXIT_MS=300).end(300)
        self.assertIn("delivered 0", ended.out, ended)
        self.assertIn("complete; ", self.sync("rest", 0, proxy.url).stdout)
        self.assertGreater(proxy.lost, 2)
        self.check_points(self.only_run("rest"), self.STEPS)


if __name__ == "__main__":
    rig.main()
