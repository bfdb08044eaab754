# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Data sent to a real MLflow server by a program, read back with MLflow's own client."""

import base64
import collections
import csv
import hashlib
import http.client
import json
import math
import os
import pathlib
import pwd
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))
os.environ.update(MLFLOW_DISABLE_TELEMETRY="true", DO_NOT_TRACK="true", MLFLOW_SERVER_ENABLE_JOB_EXECUTION="false",
                  MLFLOW_ALLOW_FILE_STORE="true",
                  NO_PROXY="127.0.0.1,localhost", no_proxy="127.0.0.1,localhost", GIT_PYTHON_REFRESH="quiet")

import mlflow  # noqa: E402
import loopback  # noqa: E402
import mlflow_server  # noqa: E402
import rig  # noqa: E402
from mlflow.tracking import MlflowClient  # noqa: E402

STEPS = 1501
COMMAND = os.environ.get("COMMAND")
MPI_PROGRAM = os.environ.get("MPI_PROGRAM")
LARGEST = sys.float_info.max
IS_OLD = mlflow.__version__.startswith("2.")  # with a shorter limit for values


def safe(name):
    """Makes a name safe as in docs/mlflow.md, implemented independently here."""
    out = re.sub(r"[^A-Za-z0-9_\-. /]", "_", name)
    out = "/".join(each for each in out.split("/") if each not in ("", ".", ".."))
    if out == name and len(out) <= 250:
        return out
    code = 2166136261
    for each in name.encode():
        code = ((code ^ each) * 16777619) & 0xFFFFFFFF
    return f"{out[:241]}_{code:08x}"


def of_ranks(metrics):
    """Selects the metrics over ranks."""
    return {name: value for name, value in metrics.items() if name.startswith(("total/job/", "total/ranks/"))}


def double_of(bits):
    return struct.unpack("<d", struct.pack("<Q", int(bits, 16)))[0]


def comparable(value, most):
    """Makes values comparable: NaN is not equal to itself, and databases store the largest number instead of
    infinity."""
    return "NaN" if math.isnan(value) else max(-most, min(value, most))


class Forgetful(loopback.LoopbackServer):
    """A proxy that loses the reply to the first runs/create and to every second log-batch."""

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
    """Tests that share a server, because starting it takes longer than most tests. Each test has its own experiment."""

    DATABASE = True
    OPTIONS = ()
    ENV = {}
    PARAMS = {**{f"param {number}": str(number) for number in range(101)}, "long": "é" * (500 if IS_OLD else 6000),
              "less long": "x" * (500 if IS_OLD else 501)}

    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="takt-test-")
        cls.addClassCleanup(directory.cleanup)
        cls.server = mlflow_server.Server(pathlib.Path(directory.name) / "server", cls.DATABASE, cls.OPTIONS, **cls.ENV)
        cls.addClassCleanup(cls.server.stop)
        mlflow.set_tracking_uri(cls.server.url)  # 2.2.2 downloads artifacts from there, whatever URI the client has
        cls.client = MlflowClient(cls.server.url)

    def setUp(self):
        super().setUp()
        self.server.start()

    def start_program(self, experiment, *arguments, steps=STEPS, pause_us=300, sent="sent", **env):
        # Steps without a duration would record rows faster than they are collected.
        self.sent_file = self.scratch / sent
        return self.start(self.sent_file, steps, pause_us, *arguments,
                          **{"MLFLOW_TRACKING_URI": self.server.url + "/", "MLFLOW_EXPERIMENT_NAME": experiment,
                             "TAKT_EXIT_MS": 240_000, "TAKT_TABLE": 0, "TAKT_PERIOD_MS": 50, **env})

    def only_run(self, experiment):
        found = self.client.get_experiment_by_name(experiment)
        runs = self.client.search_runs([found.experiment_id]) if found else []
        self.assertLessEqual(len(runs), 1)
        return runs[0] if runs else None

    def kept(self, value):
        return comparable(value, LARGEST if self.DATABASE else float("inf"))

    def sent(self):
        """Returns the data that the program sent: {(source, name): Counter of (step, ms, value)}, start in ms, Takt's
        run ID."""
        lines = self.sent_file.read_text(encoding="utf-8").splitlines()
        _, start_ms, run_id = lines[0].split(" ")
        points = collections.defaultdict(collections.Counter)
        for line in lines[1:]:
            source, step, ms, bits, name = line.split(" ", 4)
            points[source, name][int(step), int(ms), self.kept(double_of(bits))] += 1
        return points, int(start_ms), run_id

    def key_of(self, run, source, name):
        if source == "metric":
            return safe(name)
        if name == "Batch/ns::f<int>":
            keys = [key for key in run.data.metrics if key.startswith("time/Batch/ns__f_int__") and key.endswith("/step_s")]
            self.assertEqual(len(keys), 1, keys)
            return keys[0]
        return f"time/{name}/step_s"

    def check_points(self, run, steps=STEPS, joined=False):
        points, start_ms, _ = self.sent()
        points = {key: found for key, found in points.items() if key[1] not in ("step", "step/forward")}
        self.assertEqual(sum(points["row", "Batch"].values()), steps, "rows that the program itself did not get")
        once = {(source, name) for source, name in points if source == "metric" and name != "loss"}
        self.assertEqual(len({safe(name) for _, name in once}), 9)
        self.assertEqual(set(points) - once, {("row", "Batch"), ("row", "Batch/IO"), ("row", "Batch/ns::f<int>"), ("metric", "loss")})
        for (source, name), expected in points.items():
            history = self.client.get_metric_history(run.info.run_id, self.key_of(run, source, name))
            found = collections.Counter((each.step, each.timestamp, self.kept(each.value)) for each in history)
            at_once = 2 if name == "limit" else 1
            self.assertEqual(sum(found.values()), at_once if (source, name) in once else steps, name)
            self.assertEqual(found, expected, name)
        if not joined:
            self.assertEqual(run.info.start_time, start_ms)
        self.assertLess(abs(start_ms / 1000 - time.time()), 3600)
        self.assertGreaterEqual(run.info.end_time, start_ms)

    def check_total(self, run, walls):
        """Checks totals. They are read after the rows, so a running program may have a few more steps in them."""
        file = self.client.download_artifacts(run.info.run_id, "takt/summary.json", str(self.scratch))
        summary = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))
        self.assertIn(rig.calls(summary, "Batch") - len(walls), range(len(walls)))

    def check_turned_away(self, ended, *words):
        """Checks for a permanent rejection in one line: the exit does not wait for TAKT_EXIT_MS."""
        self.assertIn("delivered 0", ended.out, ended)
        self.assertLess(ended.seconds, 30 * rig.SLACK, ended)
        said = [line for line in ended.err.splitlines() if "MLflow at" in line]
        self.assertEqual(len(said), 1, ended)
        for each in ("nothing is sent", *words):
            self.assertIn(each, said[0])

    def check_deleted(self):
        gone = self.client.create_experiment("gone")
        self.client.delete_experiment(gone)
        run = self.client.create_run(self.client.create_experiment("left")).info.run_id
        self.client.delete_run(run)
        for name, words, env in (
                ("gone", ("is deleted but keeps its name", f"mlflow experiments restore -x {gone}"), {}),
                ("gone by id", ("is deleted", "MLFLOW_EXPERIMENT_ID", f"mlflow experiments restore -x {gone}"),
                 {"MLFLOW_EXPERIMENT_NAME": None, "MLFLOW_EXPERIMENT_ID": gone}),
                ("run", ("was deleted; restore it", f"mlflow runs restore --run-id {run}"), {"MLFLOW_RUN_ID": run})):
            if name == "gone" and not self.DATABASE and mlflow.__version__.startswith("2."):
                continue  # there a deleted experiment frees its name
            with self.subTest(name):
                ended = self.start_program(name, steps=20, **env).end(120)
                self.check_turned_away(ended, *words)

    def sync(self, experiment, status, url=None, patience=60, **env):
        env = {"MLFLOW_TRACKING_URI": url or self.server.url, "MLFLOW_EXPERIMENT_NAME": experiment, **env}
        done = subprocess.run([COMMAND, "sync", "--patience", str(patience), str(self.runs)], capture_output=True, text=True, check=False,
                              timeout=120 * rig.SLACK, env=rig.environment(**env))
        self.assertEqual(done.returncode, status, f"{done.stdout}\n{done.stderr}")
        return done


class MlflowTest(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # Windows take ten seconds each; the other tests run meanwhile.
        cls.early = cls()
        rig.Case.setUp(cls.early)
        cls.addClassCleanup(cls.early.doCleanups)
        cls.early.program = cls.early.start_program("windows", "windows", steps=420, pause_us=50_000)

    def test_everything_sent_is_read_back(self):
        ended = self.start_program("plain", TAKT_TRACE=1).end(300)
        self.assertEqual(ended.status, 0, ended)
        self.assertIn("delivered 1", ended.out, ended)
        run = self.only_run("plain")
        self.assertEqual(run.info.status, "FINISHED", ended)
        self.check_points(run)
        self.assertEqual(run.data.params, self.PARAMS)
        self.assertEqual(run.data.tags["purpose"], "café")
        self.assertEqual(run.data.tags["mlflow.runName"], "mlflow-test")
        self.assertEqual(run.data.tags["takt.run_id"], self.sent()[2])
        self.assertEqual(len(run.data.tags["long"]), 5000 if IS_OLD else 8000)
        self.assertIn('"ns::f<int>" to "', ended.err.replace("time/Batch/", ""))
        self.assertIn(f'"損失" to "{safe("損失")}"', ended.err)
        self.check_artifacts(run)

    def check_artifacts(self, run):
        sizes = {each.path: each.file_size for each in self.client.list_artifacts(run.info.run_id, "takt")}
        self.assertEqual(set(sizes), {"takt/summary.json", "takt/table.txt", "takt/trace.json"})
        for name in ("summary.json", "trace.json"):
            here = (self.directory() / name).read_bytes()
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
        program = self.start_program("killed", pause_us=6000)
        end = time.monotonic() + 60 * rig.SLACK
        while time.monotonic() < end:
            run = self.only_run("killed")
            if run is not None and "loss" in run.data.metrics:
                break
            mlflow_server.pause()
        self.assertIsNone(program.process.poll(), "the program was too fast for this test")
        self.server.kill()
        self.server.start()
        ended = program.end(300)
        self.assertEqual(ended.status, 0, ended)
        self.assertIn("delivered 1", ended.out, ended)
        waited = re.search(r"waited in (\d+) steps, at most (\d+) us", ended.out)
        # A thread that waits for a server does so in every step, or for the whole outage. Expected are none.
        self.assertLess(int(waited[1]), STEPS / 10, ended)
        self.assertLess(int(waited[2]), 1_000_000 * rig.SLACK, ended)
        run = self.only_run("killed")
        self.assertEqual(run.info.status, "FINISHED", ended)
        self.check_points(run)

    def test_programs_that_start_together_create_one_experiment(self):
        sent = ("sent-0", "sent-1", "sent-2")
        programs = [self.start_program("together", steps=20, sent=each, TAKT_RUN_ID=each) for each in sent]
        for program in programs:
            ended = program.end(300)
            self.assertIn("delivered 1", ended.out, ended)
        found = self.client.search_experiments(filter_string="name = 'together'")
        self.assertEqual(len(found), 1)
        runs = {run.data.tags["takt.run_id"]: run for run in self.client.search_runs([found[0].experiment_id])}
        self.assertEqual(len(runs), len(sent))
        for each in sent:
            self.sent_file = self.scratch / each
            self.check_points(runs[self.sent()[2]], 20)

    def test_lost_replies_leave_one_run_and_one_copy_of_each_point(self):
        proxy = Forgetful(self.server)
        self.addCleanup(proxy.stop)
        ended = self.start_program("lost", MLFLOW_TRACKING_URI=proxy.url).end(300)
        self.assertIn("delivered 1", ended.out, ended)
        self.assertGreater(proxy.lost, 3)
        self.check_points(self.only_run("lost"))

    @unittest.skipUnless(COMMAND, "the command takt was not built")
    def test_takt_sync_delivers_what_the_run_could_not(self):
        self.server.kill()
        ended = self.start_program("later", TAKT_EXIT_MS=500).end(120)
        self.assertEqual(ended.status, 0, ended)
        self.assertLess(ended.seconds, 0.5 + rig.LATE, ended)
        self.assertIn("delivered 0", ended.out, ended)
        self.assertIn("takt: MLflow at " + self.server.url, ended.err)
        self.assertIn("takt sync", ended.err)
        self.server.start()
        self.assertIn("complete; ", self.sync("ignored", 0).stdout)
        run = self.only_run("later")
        self.assertEqual(run.info.status, "FINISHED")
        self.check_points(run)
        self.assertEqual(run.data.params["param 7"], "7")
        self.assertEqual(run.data.tags["purpose"], "café")
        self.assertIn(f"all is delivered, to run {run.info.run_id} at {self.server.url}\n", self.sync("later", 0).stdout)
        elsewhere = self.sync("later", 3, "http://127.0.0.1:1", patience=0)
        self.assertEqual(elsewhere.stdout, "")
        self.assertIn("MLflow at http://127.0.0.1:1 does not accept the data now", elsewhere.stderr)
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
        self.check_total(run, walls)

    def test_a_run_ended_by_sigterm_is_marked_killed_at_once(self):
        program = self.start_program("terminated", pause_us=4000, TAKT_SIGTERM=1)
        self.assertTrue(rig.wait_until(lambda: self.only_run("terminated") and "loss" in self.only_run("terminated").data.metrics, 60))
        program.process.send_signal(signal.SIGTERM)
        ended = program.end(300)
        self.assertEqual(ended.status, -signal.SIGTERM, ended)
        run = self.only_run("terminated")
        self.assertEqual(run.info.status, "KILLED", ended)
        self.assertGreaterEqual(run.info.end_time, run.info.start_time)
        walls = [each.step for each in self.client.get_metric_history(run.info.run_id, "time/Batch/step_s")]
        self.assertEqual(sorted(walls), list(range(len(walls))))
        self.check_total(run, walls)
        self.assertTrue(self.summary()["killed"])

    def test_a_run_is_joined_by_its_id(self):
        experiment = self.client.create_experiment("joined")
        run_id = self.client.create_run(experiment).info.run_id
        ended = self.start_program("joined", steps=20, MLFLOW_RUN_ID=run_id).end(120)
        self.assertIn("delivered 1", ended.out, ended)
        run = self.only_run("joined")
        self.assertEqual((run.info.run_id, run.info.status), (run_id, "FINISHED"))
        self.assertEqual(len(self.client.get_metric_history(run_id, "time/Batch/step_s")), 20)

    def test_a_child_goes_to_its_parents_experiment_with_name_note_user_and_commit(self):
        above = self.client.create_experiment("above")
        parent = self.client.create_run(above).info.run_id
        checkout = self.scratch / "checkout"
        (checkout / ".git" / "refs").mkdir(parents=True)
        (checkout / ".git" / "objects").mkdir()
        (checkout / ".git" / "HEAD").write_text("b" * 40 + "\n", encoding="utf-8")
        nobody = {name: "" for name in ("LOGNAME", "USER", "LNAME", "USERNAME")}
        ended = self.start_program("below", "child", steps=20, PARENT=parent, prepare=lambda: os.chdir(checkout), **nobody).end(120)
        self.assertIn("delivered 1", ended.out, ended)
        self.assertIsNone(self.only_run("below"))
        run, = [each for each in self.client.search_runs([above]) if each.info.run_id != parent]
        self.check_points(run, 20)
        self.assertEqual(run.info.run_name, "renamed")
        tags = run.data.tags
        self.assertEqual([tags[f"mlflow.{name}"] for name in ("parentRunId", "note.content", "runName", "source.git.commit", "user")],
                         [parent, "# what it is", "renamed", "b" * 40, pwd.getpwuid(os.getuid()).pw_name])

    def test_a_parameter_with_a_conflicting_value_is_kept_and_the_rest_arrives(self):
        run_id = self.client.create_run(self.client.create_experiment("set otherwise")).info.run_id
        self.client.log_param(run_id, "param 7", "of the launcher")
        ended = self.start_program("set otherwise", steps=20, MLFLOW_RUN_ID=run_id).end(120)
        self.assertIn("delivered 0", ended.out, ended)
        self.assertEqual(ended.err.count('MLflow rejects the parameter "param 7", which is not sent: HTTP 400: Changing param values'), 1, ended)
        run = self.only_run("set otherwise")
        self.assertEqual(run.info.status, "FINISHED", ended)
        self.assertEqual(run.data.params, {**self.PARAMS, "param 7": "of the launcher"})
        self.check_points(run, 20, joined=True)

    def test_missing_experiments_and_paths_are_reported_once(self):
        for name, words, env in (
                ("no experiment", ("404", "4711", "Check MLFLOW_TRACKING_URI, MLFLOW_EXPERIMENT_ID"),
                 {"MLFLOW_EXPERIMENT_NAME": None, "MLFLOW_EXPERIMENT_ID": 4711}),
                ("no such path", ("404", "Check MLFLOW_TRACKING_URI"), {"MLFLOW_TRACKING_URI": self.server.url + "/else"})):
            with self.subTest(name):
                ended = self.start_program(name, steps=20, **env).end(120)
                self.check_turned_away(ended, *words)

    def test_deleted_runs_are_reported_once(self):
        self.check_deleted()

    def test_a_name_and_an_id_of_different_experiments_are_reported(self):
        """MLflow's own client sends nothing."""
        mine = self.client.create_experiment("mine")
        ended = self.start_program("mine", steps=20, MLFLOW_EXPERIMENT_ID=0).end(120)
        self.assertIn("delivered 1", ended.out, ended)
        told = f'MLFLOW_EXPERIMENT_ID is 0, but the experiment "mine" of MLFLOW_EXPERIMENT_NAME is {mine}'
        self.assertEqual(ended.err.count(told), 1, ended)
        self.check_points(self.only_run("mine"), 20)
        env = rig.environment(MLFLOW_TRACKING_URI=self.server.url, MLFLOW_EXPERIMENT_NAME="mine", MLFLOW_EXPERIMENT_ID=0)
        official = subprocess.run([sys.executable, "-c", "import mlflow; mlflow.start_run()"], capture_output=True, text=True,
                                  check=False, timeout=120 * rig.SLACK, env=env)
        self.assertIn("does not match the experiment id", official.stderr)

    @unittest.skipUnless(COMMAND, "the command takt was not built")
    def test_windows_and_totals_are_those_of_the_journal(self):
        early = self.early
        ended = early.program.end(300)
        self.assertIn("delivered 1", ended.out, ended)
        run = self.only_run("windows")
        rows = collections.defaultdict(dict)
        for line in csv.DictReader(early.report("--steps").splitlines()):
            rows[int(line["step"])][line["path"]] = line
        report = json.loads(early.report("--json"))["runs"][0]["summary"]
        start_ns = report["run"]["start_unix_ns"]
        expected, about = early.of_windows(rows, start_ns)
        for of in (report, early.summary()):
            self.add_totals(of, (max(rows), (start_ns + of["wall_ns"]) // 1_000_000), expected)
        self.assertEqual(report["paths"][1]["host"]["n"] * 2, report["paths"][2]["host"]["n"], "IO is entered twice in each step")
        for (source, name), points in early.sent()[0].items():
            if source == "metric":
                expected["user/" + name if name == "time/own" else safe(name)] = points
        self.assertEqual(set(run.data.metrics), {*expected, *about})
        histories = {key: self.client.get_metric_history(run.info.run_id, key) for key in run.data.metrics}
        for key, points in expected.items():
            self.assertEqual(collections.Counter((each.step, each.timestamp, each.value) for each in histories[key]), points, key)
        for key, points in about.items():
            found = sorted(histories[key], key=lambda each: each.step)
            self.assertEqual([(each.step, each.timestamp) for each in found], [at for at, _ in points], key)
            for each, (_, value) in zip(found, points):
                self.assertAlmostEqual(each.value, value, delta=value * 0.0079, msg=key)
        self.check_sums(histories, rows)
        self.assertEqual(run.data.params["rate"], "first")
        self.assertIn('the parameter "rate" keeps its first value', ended.err, ended)

    def report(self, form):
        return subprocess.run([COMMAND, "report", form, str(self.directory())], capture_output=True, text=True, check=True,
                              timeout=60 * rig.SLACK).stdout

    def of_windows(self, rows, start_ns):
        """Computes windows as in docs/mlflow.md from the rows of each step: {key: Counter of (step, ms, value)} for
        exact values, and {key: [((step, ms), value)]} for percentiles."""
        windows, begin = [[]], None
        for step in sorted(rows):
            line = rows[step]["Epoch/Batch/IO"]
            begin = begin or int(line["begin_ns"])
            end = int(line["begin_ns"]) + int(line["batch_ns"])
            windows[-1].append((line, end))
            if end - begin >= 10_000_000_000:
                windows.append([])
                begin = None
        if begin is None or end - begin < 5_000_000_000:
            windows.pop()
        self.assertGreaterEqual(len(windows), 2)
        exact, about = collections.defaultdict(collections.Counter), collections.defaultdict(list)
        for lines in windows:
            at = int(lines[-1][0]["step"]), (start_ns + lines[-1][1]) // 1_000_000
            for path, column in (("Epoch/Batch", "batch_ns"), ("Epoch/Batch/IO", "host_ns")):
                lengths = sorted(int(line[column]) for line, _ in lines)
                count, total = len(lengths), sum(lengths)
                exact[f"time/{path}/mean_s"][(*at, total / count / 1e9)] += 1
                if count >= 20:  # of fewer it equals the maximum
                    about[f"time/{path}/p95_s"].append((at, lengths[math.ceil(0.95 * count) - 1] / 1e9))
                if column == "host_ns":
                    exact[f"time/{path}/share"][(*at, total / sum(int(line["batch_ns"]) for line, _ in lines))] += 1
            counted = [line for line, _ in lines if line["period_ns"]]
            seconds = sum(int(line["period_ns"]) for line in counted) / 1e9
            exact["throughput/items_per_s"][(*at, sum(int(line["items"]) for line in counted) / seconds)] += 1
            exact["throughput/steps_per_s"][(*at, len(counted) / seconds)] += 1
        return exact, about

    def add_totals(self, summary, at, exact):
        """Adds a run's totals, as in a summary; a second summary must agree."""
        throughput = summary["series"][0]["throughput"]
        for name in ("items", "steps"):
            value = throughput[name] / (throughput["period_ns"] / 1e9)
            points = exact.setdefault(f"total/throughput/{name}_per_s", collections.Counter({(*at, value): 1}))
            self.assertEqual(points, {(*at, value): 1}, name)

    def check_sums(self, histories, rows):
        """Checks that each step of the run is in one window, except for the last steps if they are less than half a
        window."""
        for path, column in (("Epoch/Batch", "batch_ns"), ("Epoch/Batch/IO", "host_ns")):
            before = -1
            for each in sorted(histories[f"time/{path}/mean_s"], key=lambda each: each.step):
                lengths = [int(rows[step]["Epoch/Batch/IO"][column]) for step in range(before + 1, each.step + 1)]
                self.assertEqual(round(each.value * 1e9 * len(lengths)), sum(lengths))
                before = each.step
            left = [rows[step]["Epoch/Batch/IO"] for step in range(before + 1, max(rows) + 1)]
            if left:
                end = int(left[-1]["begin_ns"]) + int(left[-1]["batch_ns"])
                self.assertLess(end - int(left[0]["begin_ns"]), 5_000_000_000)


class RanksTest(Case):
    """The metrics over ranks equal those that `takt report` prints for the same directories, which it reads in a
    different way."""

    RANKS = 4

    def expected(self):
        """Returns the values under names that MLflow accepts: each is made safe before its last part."""
        values = {}
        for name, value in self.job(COMMAND).items():
            stem, leaf = name.rsplit("/", 1)
            values[f"{safe(stem)}/{leaf}"] = value
        return values

    def end_ranks(self, experiment, ranks):
        programs = [self.start_program(experiment, steps=20, sent=f"sent-{rank}", TAKT_RUN_ID="ranks", TAKT_RANK=rank,
                                       TAKT_WORLD_SIZE=self.RANKS) for rank in ranks]
        for program in programs:
            self.assertIn("delivered 1", program.end(300).out)

    def check_run(self, run, expected, points=1):
        found = of_ranks(run.data.metrics)
        self.assertEqual(set(found), set(expected))
        self.assertIn("total/ranks/time/Batch/IO/slowest_rank", found)
        for name, value in expected.items():
            self.assertAlmostEqual(found[name], value, delta=1e-12 * abs(value), msg=name)
        history = self.client.get_metric_history(run.info.run_id, "total/ranks/time/Batch/IO/mean_s")
        self.assertEqual(len(history), points)

    @unittest.skipUnless(COMMAND, "the command takt was not built")
    def test_takt_sync_updates_the_comparison_of_ranks_when_more_have_ended(self):
        self.end_ranks("ranks", range(3))
        self.assertEqual(of_ranks(self.only_run("ranks").data.metrics), {})
        said = self.sync("ranks", 0)
        self.assertIn("1 of 4 ranks have no journal next to this one: 3", said.stderr)
        run = self.only_run("ranks")
        self.check_run(run, self.expected())
        self.assertEqual(run.data.tags["takt.ranks"].splitlines()[0], "3 of 4; missing: 3")
        self.end_ranks("ranks", [3])
        expected = self.expected()
        self.assertIn(f"complete; {len(expected)} points delivered now", self.sync("ranks", 0).stdout)
        run = self.only_run("ranks")
        self.check_run(run, expected, points=2)
        self.assertEqual((run.info.status, run.data.tags["takt.ranks"].splitlines()[0]), ("FINISHED", "4 of 4"))
        self.assertIn("all is delivered", self.sync("ranks", 0).stdout)
        self.check_run(self.only_run("ranks"), expected, points=2)

    @unittest.skipUnless(COMMAND and MPI_PROGRAM, "neither the command takt nor MPI")
    def test_rank_0_sends_the_reduced_data_and_takt_sync_adds_nothing(self):
        env = rig.environment(TAKT_DIR=self.runs, TAKT_TABLE=0, TAKT_EXIT_MS=240_000, MLFLOW_TRACKING_URI=self.server.url,
                              MLFLOW_EXPERIMENT_NAME="reduced", OMPI_MCA_rmaps_base_oversubscribe=1, OMPI_ALLOW_RUN_AS_ROOT=1,
                              OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)
        started = rig.Started([os.environ["MPIRUN"], "-n", str(self.RANKS), MPI_PROGRAM], env, subprocess.DEVNULL,
                              subprocess.PIPE, 64 * rig.MIB, None)
        self.addCleanup(started.kill)
        ended = started.end(300 * rig.SLACK)
        self.assertEqual(ended.status, 0, ended)
        run = self.only_run("reduced")
        expected = self.expected()
        self.assertEqual(expected["total/ranks/time/Batch/Backward/slowest_rank"], self.RANKS - 1)
        self.check_run(run, expected)
        self.assertEqual(run.data.tags["takt.ranks"].splitlines()[0], "4 of 4")
        self.assertIn("all is delivered", self.sync("reduced", 0).stdout)
        self.check_run(self.only_run("reduced"), expected)


class FilesTest(Case):
    """A server without a database keeps duplicates."""

    DATABASE = False
    STEPS = 901

    def test_deleted_runs_are_reported_once_here_too(self):
        """With another message, and with status 500 for an experiment."""
        self.check_deleted()

    def test_lost_replies_leave_one_copy_of_each_point(self):
        proxy = Forgetful(self.server)
        self.addCleanup(proxy.stop)
        ended = self.start_program("lost", steps=self.STEPS, MLFLOW_TRACKING_URI=proxy.url).end(300)
        self.assertIn("delivered 1", ended.out, ended)
        self.assertGreater(proxy.lost, 2)
        self.check_points(self.only_run("lost"), self.STEPS)

    def test_names_that_clash_in_files_lose_only_one_metric(self):
        """A database accepts both."""
        ended = self.start_program("clash", "clash", steps=self.STEPS).end(300)
        self.assertIn("delivered 0", ended.out, ended)
        run = self.only_run("clash")
        self.check_points(run, self.STEPS)
        self.assertEqual(len(self.client.get_metric_history(run.info.run_id, "step")), self.STEPS)
        self.assertNotIn("step/forward", run.data.metrics)
        self.assertIn('MLflow fails on "step/forward", which is not sent again from here: HTTP 500', ended.err)
        self.assertIn(f"takt sync {self.directory()}", ended.err)
        self.assertIn(f"{self.STEPS} points are missing", ended.err)

    @unittest.skipUnless(COMMAND, "the command takt was not built")
    def test_takt_sync_leaves_one_copy_of_each_point_too(self):
        """The program ends before it can query the result of its last request; then the command's replies are lost."""
        proxy = Forgetful(self.server)
        self.addCleanup(proxy.stop)
        ended = self.start_program("rest", steps=self.STEPS, MLFLOW_TRACKING_URI=proxy.url, TAKT_EXIT_MS=300).end(300)
        self.assertIn("delivered 0", ended.out, ended)
        self.assertIn("complete; ", self.sync("rest", 0, proxy.url).stdout)
        self.assertGreater(proxy.lost, 2)
        self.check_points(self.only_run("rest"), self.STEPS)


@unittest.skipIf(mlflow.__version__.startswith("2."), "this MLflow asks neither for names nor for hosts")
class GuardedTest(Case):
    """A server that accepts requests only under one name and from known users."""

    OPTIONS = ("--app-name", "basic-auth", "--allowed-hosts", "localhost:{port}")
    ADMIN = "of the administrator"
    ENV = {"MLFLOW_FLASK_SERVER_SECRET_KEY": "secret", "MLFLOW_AUTH_ADMIN_PASSWORD": ADMIN}
    USER, PASSWORD, TOKEN = "ada", 'pa"ss: word %41', "token-of-nobody"
    STEPS = 20

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.url = f"http://localhost:{cls.server.port}"
        cls.server.start()
        named = f"http://admin:{urllib.parse.quote(cls.ADMIN)}@localhost:{cls.server.port}"
        cls.client = MlflowClient(named)
        cls.create_user(cls.USER, cls.PASSWORD)

    @classmethod
    def create_user(cls, name, password):
        who = base64.b64encode(f"admin:{cls.ADMIN}".encode()).decode()
        user = json.dumps({"username": name, "password": password}).encode()
        urllib.request.urlopen(urllib.request.Request(f"{cls.url}/api/2.0/mlflow/users/create", user, {
            "Content-Type": "application/json", "Authorization": f"Basic {who}"}), timeout=60 * rig.SLACK).close()

    def start_as(self, experiment, file=None, user=None, password=None, token=None, **how):
        """Starts a program with these variables and this credentials file."""
        home = self.scratch / "home"
        home.mkdir(exist_ok=True)
        credentials = home / ".mlflow" / "credentials"
        credentials.unlink(missing_ok=True)
        if file is not None:
            credentials.parent.mkdir(exist_ok=True)
            credentials.write_text(f"[mlflow]\nmlflow_tracking_username = {file[0]}\nmlflow_tracking_password = {file[1]}\n",
                                   encoding="utf-8")
        how = {"MLFLOW_TRACKING_URI": self.url, "MLFLOW_TRACKING_USERNAME": user, "MLFLOW_TRACKING_PASSWORD": password,
               "MLFLOW_TRACKING_TOKEN": token, "HOME": home, **how}
        ended = self.start_program(experiment, steps=self.STEPS, **how).end(120)
        self.assertEqual(ended.status, 0, ended)
        self.check_secrets(ended.out + ended.err)
        return ended

    def check_secrets(self, said):
        """Checks that neither the program's output nor its directory contains secrets."""
        pair = base64.b64encode(f"{self.USER}:{self.PASSWORD}".encode())
        files = [path.read_bytes() for path in self.runs.rglob("*") if path.is_file()]
        self.assertGreater(len(files), 3)
        for secret in (self.PASSWORD.encode(), urllib.parse.quote(self.PASSWORD).encode(), pair, self.TOKEN.encode(), b"wrong one"):
            self.assertNotIn(secret, said.encode())
            self.assertFalse([each for each in files if secret in each], secret)

    def check_let_in(self, experiment, *who, **how):
        ended = self.start_as(experiment, *who, **how)
        self.assertIn("delivered 1", ended.out, ended)
        run = self.only_run(experiment)
        self.assertEqual((run.info.status, run.data.tags["mlflow.user"]), ("FINISHED", self.USER))
        self.check_points(run, self.STEPS)

    def test_the_credentials_file_lets_in(self):
        self.check_let_in("file", (self.USER, self.PASSWORD))

    def test_variables_take_precedence_over_the_file_and_both_over_the_token(self):
        self.check_let_in("variables", ("admin", "wrong one"), self.USER, self.PASSWORD, self.TOKEN)

    def test_one_of_the_two_comes_from_the_file(self):
        self.check_let_in("half", ("admin", self.PASSWORD), self.USER)

    def test_a_non_ascii_password_works_except_for_artifacts(self):
        """A bug of MLflow: once it is fixed, everything is delivered."""
        self.USER, self.PASSWORD = "eve", "viele schöne 言葉"
        self.create_user(self.USER, self.PASSWORD)
        ended = self.start_as("beyond", user=self.USER, password=self.PASSWORD)
        run = self.only_run("beyond")
        self.assertEqual((run.info.status, run.data.tags["mlflow.user"]), ("FINISHED", self.USER))
        self.check_points(run, self.STEPS)
        if "delivered 1" not in ended.out:
            self.assertIn("MLflow did not take summary.json: HTTP 401", ended.err)

    def test_an_unknown_user_is_rejected_once(self):
        right = (self.USER, self.PASSWORD)
        for name, who in (("nobody", ()), ("wrong", (right, self.USER, "wrong one")), ("token", (None, None, None, self.TOKEN))):
            with self.subTest(name):
                ended = self.start_as(name, *who, TAKT_RUN_ID=name)
                self.check_turned_away(ended, "401", "MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD")
                self.assertIsNone(self.client.get_experiment_by_name(name))

    def test_a_read_only_user_is_rejected_once(self):
        self.client.create_experiment("of others")
        ended = self.start_as("of others", None, self.USER, self.PASSWORD)
        self.check_turned_away(ended, "403", "Permission denied", "The user has no permission")
        self.assertIsNone(self.only_run("of others"))

    def test_requests_under_another_name_are_rejected(self):
        ended = self.start_as("host", None, self.USER, self.PASSWORD, MLFLOW_TRACKING_URI=self.server.url)
        self.check_turned_away(ended, "403", "Invalid Host header", "start the server with --allowed-hosts")
        self.assertIsNone(self.client.get_experiment_by_name("host"))
        if COMMAND:
            who = {"MLFLOW_TRACKING_USERNAME": self.USER, "MLFLOW_TRACKING_PASSWORD": self.PASSWORD}
            self.assertIn("complete; ", self.sync("host", 0, self.url, **who).stdout)
            self.check_points(self.only_run("host"), self.STEPS)


if __name__ == "__main__":
    rig.main()
