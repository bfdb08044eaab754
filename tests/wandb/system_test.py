# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Takt's samples at W&B, under the names of W&B's own client, which uses the same library for the same GPUs."""

import json
import os
import shutil
import subprocess
import unittest

from transaction_log import whole_records
from wandb.proto import wandb_internal_pb2
from wandb_case import KEY, WandbCase, rig

COMMAND = os.environ.get("COMMAND")
FAKE_NVML = os.environ["FAKE_NVML"]  # directory of the fake NVIDIA library
WINDOW_S = 15
SDK = """import json, sys, threading, wandb
json.load(sys.stdin)
run = wandb.init(settings=wandb.Settings(x_stats_sampling_interval=1, console="off", silent=True))
threading.Event().wait(3)
run.finish()
"""


def lines_of(run):
    """Returns the server's system metrics: {end of the window in seconds since the start: {name: value}}."""
    found = {}
    for line in map(json.loads, run.events):
        found.setdefault(round(line["_runtime"], 2), {}).update(line)  # times are whole milliseconds
    return found


def names_of(lines):
    return {name for line in lines.values() for name in line if name.startswith("system.")}


class SystemTest(WandbCase):
    def sample(self):
        """Runs a program for more than two windows."""
        self.run_to_end(steps=320, pause_us=100_000, TAKT_SAMPLE_MS=100, LD_LIBRARY_PATH=FAKE_NVML)

    def of_sdk(self):
        """Returns the metrics of W&B's own client for its own program: {name: value}."""
        self.log_with_sdk("official", sdk=SDK, WANDB_MODE="online", LD_LIBRARY_PATH=FAKE_NVML)
        return {name: value for line in self.server.runs["official"].events for name, value in json.loads(line).items()}

    def test_the_client_uploads_it_and_samples_the_same_gpus_under_the_same_names(self):
        self.sample()
        records = [wandb_internal_pb2.Record.FromString(record) for record in whole_records(self.log_file().read_bytes())]
        stats = [record.stats for record in records if record.WhichOneof("record_type") == "stats"]
        self.assertGreaterEqual(len(stats), 2)
        self.assertEqual({each.stats_type for each in stats}, {wandb_internal_pb2.StatsRecord.SYSTEM})
        run = self.sync()
        lines = lines_of(run)
        lines = {end: lines[end] for end in (WINDOW_S, 2 * WINDOW_S)}  # a busy machine may have more windows
        self.assertEqual(len(run.events), len(stats))
        theirs = self.of_sdk()
        # The last GPU is partitioned: it has no utilization, and its memory is that of its slice.
        memory = ("memoryAllocated", "memoryAllocatedBytes")
        self.assertEqual(names_of(lines), {f"system.gpu.{gpu}.{name}" for gpu in range(3)
                                           for name in ("gpu", "powerWatts", "powerPercent", "temp", "smClock", *memory)}
                         - {f"system.gpu.2.{name}" for name in ("gpu", *memory)} | {"system.proc.memory.rssMB"})
        for line in lines.values():
            self.assertIs(line["_wandb"], True)
            for name in names_of(lines):
                self.assertIn(name, theirs)
                if name != "system.proc.memory.rssMB":  # of a different process
                    self.assertAlmostEqual(line[name], theirs[name], msg=name)
            self.assertTrue(1 < line["system.proc.memory.rssMB"] < 1000, line)

    @unittest.skipUnless(COMMAND, "without the command")
    def test_takt_sync_sends_the_same_from_the_journal(self):
        self.sample()
        expected = lines_of(self.sync())
        self.assertGreaterEqual(len(expected), 2)
        directory = self.directory()
        (directory / "wandb.json").unlink()
        shutil.rmtree(self.root)
        self.server.runs.clear()
        subprocess.run([COMMAND, "sync", "--to", "wandb", "--every-step", str(directory)], check=True, timeout=120 * rig.SLACK,
                       env={**self.environment(), "WANDB_MODE": "online", "WANDB_API_KEY": KEY}, stdout=subprocess.DEVNULL)
        self.assertEqual(len(self.server.runs), 1)
        for run in self.server.runs.values():
            self.assertEqual(lines_of(run), expected)


if __name__ == "__main__":
    rig.main()
