# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Tests a program's data for W&B, written or sent, with W&B's own client and a server on the loopback."""

import collections
import glob
import json
import math
import os
import pathlib
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))
import digits  # noqa: E402
import rig  # noqa: E402
from transaction_log import whole_records  # noqa: E402
from wandb.proto import wandb_internal_pb2  # noqa: E402
from wandb_server import WandbServer  # noqa: E402

EXAMPLE = os.environ.get("EXAMPLE")
STEPS = 300
KEY = "k" * 40
UNICODE = "größe 🚀"  # a metric
CLIENT = str(pathlib.Path(sys.executable).with_name("wandb"))
IDENTITY = {"WANDB_PROJECT": "p r", "WANDB_ENTITY": "someone", "WANDB_NAME": "näme", "WANDB_NOTES": "notes, long",
            "WANDB_TAGS": "one,twö", "WANDB_RUN_GROUP": "group", "WANDB_JOB_TYPE": "job", "WANDB_MODE": "offline",
            "WANDB_X_DISABLE_META": "true", "WANDB_DISABLE_GIT": "true"}
UPSERTED = ("project", "entity", "displayName", "notes", "groupName", "jobType", "tags", "host")
OURS = ("takt/summary.json", "takt/table.txt", "takt/trace.json")

# Logs the program's data with W&B's own SDK: config, rows and directories with files arrive as JSON on stdin.
SDK = """import json, sys, wandb
config, rows, *directories = json.load(sys.stdin)
settings = wandb.Settings(x_disable_stats=True, x_disable_meta=True, x_save_requirements=False, console="off", disable_git=True,
                          silent=True)
run = wandb.init(config=config, settings=settings)
for axis in ("takt/step", "takt/epoch"):
    run.define_metric(axis)
run.define_metric("*", step_metric="takt/step")
for row in rows:
    run.log(row)
for directory in directories:
    run.save(f"{directory}/takt/*", base_path=directory, policy="end")
run.finish()
"""


def bits_of(value):
    return struct.pack("<d", value).hex() if not math.isnan(value) else "nan"


def double_of(bits):
    return struct.unpack("<d", struct.pack("<Q", int(bits, 16)))[0]


def without_time(row):
    """Removes times and findings, which depend on this machine's state: the SDK does not get them."""
    return {name: str(value) if isinstance(value, float) and math.isnan(value) else value
            for name, value in row.items() if name not in ("_timestamp", "_runtime", "_wandb", "takt/findings")}


class WandbCase(rig.Case):
    def setUp(self):
        super().setUp()
        self.server = WandbServer()
        self.addCleanup(self.server.stop)
        self.root = self.scratch / "wandb"
        self.given_file = self.scratch / "given"

    def tearDown(self):
        self.assertEqual(self.server.problems, [])

    def environment(self):
        """Returns an environment for the client: a home directory without credentials, and only the loopback
        network."""
        return rig.environment(HOME=self.scratch, NETRC=self.scratch / "netrc", WANDB_BASE_URL=self.server.url,
                               WANDB_API_KEY=KEY, WANDB_ERROR_REPORTING="false", NO_PROXY="127.0.0.1", no_proxy="127.0.0.1",
                               WANDB_DIR=self.scratch, WANDB_CACHE_DIR=self.scratch / "cache",
                               WANDB_CONFIG_DIR=self.scratch / "config", WANDB_DATA_DIR=self.scratch / "data")

    def client(self, *arguments):
        done = subprocess.run([CLIENT, *map(str, arguments)], env=self.environment(), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, cwd=self.scratch,
                              timeout=120 * rig.SLACK)
        return done.stdout

    def start_run(self, *arguments, steps=STEPS, pause_us=300, **env):
        return self.start("run", self.given_file, steps, pause_us, *arguments,
                          **{"WANDB_DIR": self.scratch, "WANDB_MODE": "offline", "TAKT_TABLE": 0, "TAKT_PERIOD_MS": 50,
                             "TAKT_EXIT_MS": 60_000, **env})

    def run_to_end(self, *arguments, **how):
        ended = self.start_run(*arguments, **how).end(120)
        self.assertEqual(ended.status, 0, ended)
        self.assertIn("written 1", ended.out, ended)
        return ended

    def log_file(self):
        logs = glob.glob(f"{self.root}/offline-run-*/run-*.wandb")
        self.assertEqual(len(logs), 1, logs)
        return pathlib.Path(logs[0])

    def rows_of_log(self):
        records = [wandb_internal_pb2.Record.FromString(record) for record in whole_records(self.log_file().read_bytes())]
        return [record.history for record in records if record.WhichOneof("record_type") == "history"]

    def sync(self, whole=True):
        """Uploads the only run. For an incomplete run the client may or may not report success."""
        log = self.log_file()
        said = self.client("sync", log.parent)
        if whole:
            self.assertTrue(pathlib.Path(f"{log}.synced").exists(), said)
        return self.server.runs[log.stem.removeprefix("run-")]

    def given(self):
        """Returns the program's own record of its data: {(source, name): {step: value}}."""
        values = collections.defaultdict(dict)
        for line in self.given_file.read_text(encoding="utf-8").splitlines():
            source, step, bits, name = line.split(" ", 3)
            values[source, name][int(step)] = double_of(bits)
        return values

    def key_of(self, source, name):
        if source == "metric":
            return "user/_step" if name == "_step" else name
        return f"time/{name}/step_s"

    def check_numbers(self, rows):
        self.assertEqual([row["_step"] for row in rows], list(range(len(rows))))
        for row in rows:
            self.assertGreaterEqual(row["_runtime"], 0)
            self.assertGreaterEqual(row["_timestamp"], 1.7e9)

    def check_rows(self, rows, steps=STEPS):
        """Checks that every logged value is there once, bit for bit, with its step."""
        self.check_numbers(rows)
        given = self.given()
        self.assertEqual(len(given["row", "Epoch/Batch"]), steps)
        for (source, name), expected in given.items():
            key = self.key_of(source, name)
            found = [(row["takt/step"], bits_of(float(row[key]))) for row in rows if key in row]
            self.assertEqual(found, [(step, bits_of(value)) for step, value in sorted(expected.items())], key)

    def check_digits(self, run):
        """Checks the data of the digits example."""
        rows = run.rows()
        self.check_numbers(rows)
        self.assertLessEqual(digits.METRICS, {name for row in rows for name in row})
        self.assertLessEqual(digits.METRICS, set(run.summary))
        losses = [row["loss"] for row in rows if "loss" in row]
        self.assertLess(losses[-1], losses[0])
        self.assertEqual(len(losses), run.summary["total/time/Epoch/Batch/count"])
        self.assertEqual(run.config()[0]["lr"], 0.05)
        self.assertEqual(run.ended, 0)

    def log_with_sdk(self, run_id, *what, sdk=SDK, cwd=None, **env):
        """Logs the same run, `what` of SDK, with W&B's own SDK."""
        directory = self.scratch / run_id
        directory.mkdir(exist_ok=True)
        env = {**self.environment(), **IDENTITY, "WANDB_DIR": str(directory), "WANDB_RUN_ID": run_id, **env}
        subprocess.run([sys.executable, "-c", sdk, "argument"], env=env, input=json.dumps(what), text=True, check=True, cwd=cwd,
                       capture_output=True, timeout=120 * rig.SLACK)
        return directory

    def check_equal(self, ours, theirs):
        """Checks that both servers have the same data of the run."""
        self.assertEqual([without_time(row) for row in ours.rows()], [without_time(row) for row in theirs.rows()])
        self.assertEqual(set(ours.rows()[0]), set(theirs.rows()[0]))
        self.assertEqual(without_time(ours.summary), without_time(theirs.summary))
        self.assertEqual(set(ours.summary) - {"takt/findings"}, set(theirs.summary))
        (config, meta), (their_config, their_meta) = ours.config(), theirs.config()
        self.assertEqual(config, their_config)
        self.assertEqual(axes(meta["m"]), axes(their_meta["m"]))
        self.assertEqual(ours.ended, theirs.ended)
        for name in UPSERTED:
            self.assertEqual(ours.first(name), theirs.first(name), name)


def axes(metrics):
    """Returns the metric definitions, sorted because the official client uses no order. Field 5 is the index of the
    axis, from 1."""
    names = [each.get("1") for each in metrics]
    resolved = [{**each, "5": names[each["5"] - 1]} if "5" in each else each for each in metrics]
    return sorted(resolved, key=lambda each: json.dumps(each, sort_keys=True))


def logged(run):
    """Returns a run's config and rows, for log_with_sdk()."""
    rows = [{name: value for name, value in row.items() if name not in ("_step", "_timestamp", "_runtime")}
            for row in run.rows()]
    return run.config()[0], rows
