# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a program writes for W&B, read and uploaded by W&B's own client to a server on the loopback."""

import collections
import glob
import importlib.util
import json
import math
import os
import pathlib
import shlex
import string
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))
import rig  # noqa: E402
from wandb_server import WandbServer  # noqa: E402

STEPS = 300
KEY = "k" * 40
CLIENT = str(pathlib.Path(sys.executable).with_name("wandb"))
IDENTITY = {"WANDB_PROJECT": "p r", "WANDB_ENTITY": "someone", "WANDB_NAME": "näme", "WANDB_NOTES": "notes, long",
            "WANDB_TAGS": "one,twö", "WANDB_RUN_GROUP": "group", "WANDB_JOB_TYPE": "job", "WANDB_MODE": "offline"}
UPSERTED = ("project", "entity", "displayName", "notes", "groupName", "jobType", "tags", "host")
OURS = ("takt/summary.json", "takt/table.txt", "takt/trace.json")

# Logs with W&B's own SDK what the program logged: config and rows come as JSON on stdin.
SDK = """import json, sys, wandb
config, rows = json.load(sys.stdin)
settings = wandb.Settings(x_disable_stats=True, x_disable_meta=True, console="off", disable_git=True, silent=True)
run = wandb.init(config=config, settings=settings)
for axis in ("takt/step", "takt/epoch"):
    run.define_metric(axis)
run.define_metric("*", step_metric="takt/step")
for row in rows:
    run.log(row)
run.finish()
"""


def bits_of(value):
    return struct.pack("<d", value).hex() if not math.isnan(value) else "nan"


def double_of(bits):
    return struct.unpack("<d", struct.pack("<Q", int(bits, 16)))[0]


def without_time(row):
    return {name: str(value) if isinstance(value, float) and math.isnan(value) else value
            for name, value in row.items() if name not in ("_timestamp", "_runtime", "_wandb")}


class WandbTest(rig.Case):
    def setUp(self):
        super().setUp()
        self.server = WandbServer()
        self.addCleanup(self.server.stop)
        self.root = self.scratch / "wandb"
        self.given_file = self.scratch / "given"

    def tearDown(self):
        self.assertEqual(self.server.problems, [])

    def environment(self):
        """For the client: a home without credentials, and nothing to talk to but the loopback."""
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

    def sync(self, whole=True):
        """Uploads the only run there is. Of one that is not whole the client may or may not say that it is done."""
        log = self.log_file()
        said = self.client("sync", log.parent)
        if whole:
            self.assertTrue(pathlib.Path(f"{log}.synced").exists(), said)
        return self.server.runs[log.stem.removeprefix("run-")]

    def given(self):
        """What the program says it logged: {(source, name): {step: value}}."""
        values = collections.defaultdict(dict)
        for line in self.given_file.read_text(encoding="utf-8").splitlines():
            source, step, bits, name = line.split(" ", 3)
            values[source, name][int(step)] = double_of(bits)
        return values

    def key_of(self, uploaded, source, name):
        if source == "metric":
            return "user/_step" if name == "_step" else name
        if not name.endswith("ns::f<int>"):
            return f"time/{name}/step_s"
        keys = {key for row in uploaded for key in row if "/ns__f_int__" in key and key.endswith("/step_s")}
        keys = {key for key in keys if key.startswith("time/")}
        self.assertEqual(len(keys), 1, keys)
        return keys.pop()

    def check_numbers(self, rows):
        self.assertEqual([row["_step"] for row in rows], list(range(len(rows))))
        for row in rows:
            self.assertGreaterEqual(row["_runtime"], 0)
            self.assertGreaterEqual(row["_timestamp"], 1.7e9)

    def check_rows(self, rows, steps=STEPS):
        """Every value that was logged is there, bit for bit and once, with its step."""
        self.check_numbers(rows)
        given = self.given()
        self.assertEqual(len(given["row", "Epoch/Batch"]), steps)
        for (source, name), expected in given.items():
            key = self.key_of(rows, source, name)
            found = [(row["takt/step"], bits_of(float(row[key]))) for row in rows if key in row]
            self.assertEqual(found, [(step, bits_of(value)) for step, value in sorted(expected.items())], key)

    def test_a_run_is_uploaded_with_all_that_belongs_to_it(self):
        self.run_to_end(TAKT_TRACE=1, WANDB_API_KEY=KEY, **IDENTITY)
        for path in self.scratch.rglob("*"):
            if path.is_file():
                self.assertNotIn(KEY.encode(), path.read_bytes(), path)
        run = self.sync()
        self.check_rows(run.rows())
        self.assertIn(":NaN", "".join(run.history))
        self.assertEqual(run.ended, 0)
        self.assertEqual(run.summary["total/time/Epoch/Batch/count"], STEPS)
        self.assertEqual(run.summary["_step"], len(run.history) - 1)
        self.assertIn("runtime", run.summary["_wandb"])
        folder = self.folder()
        for name in OURS:
            self.assertIn(name, run.files)
        for name in ("summary.json", "trace.json"):
            self.assertEqual(run.files[f"takt/{name}"], (folder / name).read_bytes())

    def test_the_sdk_of_wandb_uploads_the_same(self):
        self.run_to_end(**IDENTITY)
        ours = self.sync()
        config, ours_meta = ours.config()
        rows = [{name: value for name, value in row.items() if name not in ("_step", "_timestamp", "_runtime")}
                for row in ours.rows()]
        env = {**self.environment(), **IDENTITY, "WANDB_DIR": str(self.scratch / "sdk"), "WANDB_RUN_ID": "official"}
        (self.scratch / "sdk").mkdir()
        subprocess.run([sys.executable, "-c", SDK], env=env, input=json.dumps([config, rows]), text=True, check=True,
                       capture_output=True, timeout=120 * rig.SLACK)
        self.client("sync", *glob.glob(f"{self.scratch}/sdk/wandb/offline-run-*-official"))
        theirs = self.server.runs["official"]
        self.assertEqual([without_time(row) for row in ours.rows()], [without_time(row) for row in theirs.rows()])
        self.assertEqual(set(ours.rows()[0]), set(theirs.rows()[0]))
        self.assertEqual(without_time(ours.summary), without_time(theirs.summary))
        self.assertEqual(set(ours.summary), set(theirs.summary))
        their_config, their_meta = theirs.config()
        self.assertEqual(config, their_config)
        self.assertEqual(config["lr"], 0.25)
        self.assertEqual(config["nesterov"], True)
        self.assertEqual(config["a.b/c"], 'café "x"')
        self.assertEqual(config["tags"], {"purpose": "café"})
        self.assertEqual(ours_meta["m"], their_meta["m"])
        self.assertEqual(ours.ended, theirs.ended)
        for name in UPSERTED:
            self.assertEqual(ours.first(name), theirs.first(name), name)
        self.assertEqual(ours.first("tags"), ["one", "twö"])

    def test_a_failed_run_exits_with_1(self):
        self.run_to_end("failed", steps=20)
        run = self.sync()
        self.assertEqual(run.ended, 1)
        self.check_rows(run.rows(), 20)

    def test_of_a_killed_run_all_but_the_last_period_is_uploaded(self):
        program = self.start_run(steps=1_000_000, pause_us=1000)
        self.assertTrue(rig.wait_until(lambda: glob.glob(f"{self.root}/*/*.wandb") and self.log_file().stat().st_size > 150_000))
        program.kill()
        program.end(60)
        run = self.sync(whole=False)
        self.assertEqual(run.ended, 1)
        rows = run.rows()
        self.check_numbers(rows)
        self.assertGreater(len(rows), 100)
        for key in ("loss", "time/Epoch/Batch/step_s"):
            steps = [row["takt/step"] for row in rows if key in row]
            self.assertEqual(steps, list(range(len(steps))), key)
        self.assertIn("loss", run.summary)

    def test_of_a_log_that_was_cut_all_whole_records_are_uploaded(self):
        self.run_to_end()
        log = self.log_file()
        os.truncate(log, log.stat().st_size * 2 // 3)
        run = self.sync(whole=False)
        self.assertEqual(run.ended, 1)
        rows = run.rows()
        self.check_numbers(rows)
        self.assertGreater(len(rows), STEPS)
        self.assertLess(len(rows), 2 * STEPS)

    def test_a_run_is_uploaded_while_it_goes_on(self):
        program = self.start_run(steps=1_000_000, pause_us=5000)
        self.assertTrue(rig.wait_until(lambda: glob.glob(f"{self.root}/*/*.wandb")))
        log = self.log_file()
        live = subprocess.Popen([CLIENT, "beta", "sync", "--live", "--yes", str(log)], env=self.environment(), cwd=self.scratch,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(live.wait)
        self.addCleanup(live.kill)
        run = self.server.run(log.stem.removeprefix("run-"))
        self.assertTrue(rig.wait_until(lambda: len(run.history) > 100, 60))
        self.assertIsNone(program.process.poll())
        self.assertIsNone(run.ended)
        pathlib.Path(f"{self.given_file}.end").touch()
        self.assertIn("written 1", program.end(60).out)
        self.assertTrue(rig.wait_until(lambda: run.ended is not None, 60))
        self.assertEqual(run.ended, 0)
        self.check_rows(run.rows(), len(self.given()["row", "Epoch/Batch"]))

    def test_ranks_are_runs_of_one_group(self):
        programs = [self.start_run(steps=20, TAKT_RANKS="all", TAKT_RUN_ID="x", TAKT_RANK=rank, TAKT_WORLD_SIZE=2)
                    for rank in range(2)]
        for program in programs:
            self.assertIn("written 1", program.end(60).out)
        self.client("sync", *glob.glob(f"{self.root}/offline-run-*"))
        runs = self.server.runs.values()
        self.assertEqual(sorted(run.first("displayName") for run in runs), ["wandb-test rank-0000", "wandb-test rank-0001"])
        self.assertEqual({run.first("groupName") for run in runs}, {"wandb-test-x"})
        self.assertEqual({run.first("jobType") for run in runs}, {"rank"})
        self.assertEqual([run.ended for run in runs], [0, 0])

    def test_rank_1_writes_nothing_by_itself(self):
        self.run_to_end(steps=5, TAKT_RUN_ID="x", TAKT_RANK=1, TAKT_WORLD_SIZE=2)
        self.assertFalse(self.root.exists())

    def test_disabled_writes_nothing_and_says_nothing(self):
        ended = self.run_to_end(steps=5, WANDB_MODE="disabled")
        self.assertFalse(self.root.exists())
        self.assertEqual(ended.err, "")

    def test_online_says_the_command_that_uploads(self):
        ended = self.run_to_end(steps=5, WANDB_MODE="online", WANDB_API_KEY=KEY)
        self.assertEqual(ended.err.count("wandb sync"), 1, ended)
        command = shlex.split(ended.err.strip().rsplit(": ", 1)[1])
        self.assertEqual(command[0], "wandb")
        self.client(*command[1:])
        self.assertEqual([run.ended for run in self.server.runs.values()], [0])

    def test_a_full_disk_costs_one_line_and_no_run(self):
        self.given_file = "/dev/null"  # which the limit would hit as well
        ended = self.start_run(file_bytes=20_000, TAKT_FILES=0).end(60)
        self.assertEqual(ended.status, 0, ended)
        self.assertEqual(ended.err.count("set WANDB_DIR"), 1, ended)
        self.assertIn("written 0", ended.out)
        run = self.sync(whole=False)
        self.check_numbers(run.rows())
        self.assertGreater(len(run.rows()), 10)

    def test_records_of_every_size_are_read_wherever_a_block_ends(self):
        folder = self.root / "offline-run-20260101_000000-blocks"
        folder.mkdir(parents=True)
        count = int(self.start("blocks", folder).end(60).out)
        rows = self.sync().rows()
        self.assertEqual([row["_step"] for row in rows], list(range(count)))
        for row in rows:
            begin = int(row["_step"]) % 26
            expected = string.ascii_lowercase[begin:] + string.ascii_lowercase[:begin]
            length = len(row["text"])
            self.assertTrue(row["text"] == (expected * (length // 26 + 1))[:length], row["_step"])
        self.check_with_reader(folder / "run-blocks.wandb", count + 3)

    def check_with_reader(self, log, count):
        """The reader that W&B's client had as a module until 0.28."""
        spec = importlib.util.spec_from_file_location("datastore", os.environ["READER"])
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        store = module.DataStore()
        store.open_for_scan(str(log))
        self.addCleanup(store.close)
        records = list(iter(store.scan_data, None))
        self.assertEqual(len(records), count)

    def test_rows_of_more_than_the_client_takes_are_shared_out(self):
        ended = self.start("wide", 50_000, WANDB_DIR=self.scratch, WANDB_MODE="offline").end(60)
        self.assertEqual(ended.status, 0, ended)
        self.assertGreater(self.log_file().stat().st_size, 12_000_000)
        rows = self.sync().rows()
        self.check_numbers(rows)
        found = collections.Counter(name for row in rows for name in row if name.startswith("xxx"))
        self.assertEqual((len(found), set(found.values())), (50_000, {1}))


if __name__ == "__main__":
    rig.main()
