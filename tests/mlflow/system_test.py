# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Takt's samples at a real MLflow server, under the names of MLflow's own client, which uses the same library for the
same GPUs."""

import json
import os
import subprocess
import sys
import unittest

import mlflow_test
import psutil
from mlflow_test import COMMAND, rig

FAKE_NVML = os.environ["FAKE_NVML"]  # directory of the fake NVIDIA library
WINDOW_MS = 10_000
MONITORS = """import json
from mlflow.system_metrics.metrics.cpu_monitor import CPUMonitor
from mlflow.system_metrics.metrics.gpu_monitor import GPUMonitor
found = {}
for monitor in CPUMonitor(), GPUMonitor():
    monitor.collect_metrics()
    found.update(monitor.aggregate_metrics())
print(json.dumps({"system/" + name: value for name, value in found.items()}))
"""


class SystemTest(mlflow_test.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.early = cls()
        cls.early.setUp()
        cls.addClassCleanup(cls.early.doCleanups)
        program = cls.early.start_program("system", "windows", steps=440, pause_us=50_000, TAKT_SAMPLE_MS=100,
                                          LD_LIBRARY_PATH=FAKE_NVML)
        cls.ended = program.end(300)

    def histories(self, experiment):
        """Returns {name: [(step, ms since the start, value)]} of the system metrics."""
        run = self.only_run(experiment)
        _, start_ms, _ = self.early.sent()
        return {name: [(each.step, each.timestamp - start_ms, each.value)
                       for each in self.client.get_metric_history(run.info.run_id, name)]
                for name in run.data.metrics if name.startswith("system/")}

    def test_they_have_the_names_and_values_that_mlflow_gives_them(self):
        self.assertIn("delivered 1", self.ended.out, self.ended)
        found = self.histories("system")
        done = subprocess.run([sys.executable, "-c", MONITORS], env={**os.environ, "LD_LIBRARY_PATH": FAKE_NVML}, check=True,
                              capture_output=True, text=True)
        theirs = json.loads(done.stdout)
        # The last GPU is partitioned; its slice has less memory than the GPU.
        of_slice = {name for name in theirs if name.startswith("system/gpu_2_memory")}
        self.assertEqual(len(of_slice), 2)
        self.assertEqual(set(found), set(theirs) - of_slice)
        for name, points in found.items():
            self.assertGreaterEqual(len(points), 2, name)
            self.assertEqual([(step, ms) for step, ms, _ in points],
                             [(step, (step + 1) * WINDOW_MS) for step in range(len(points))], name)
            for _, _, value in points:
                if "gpu" in name:
                    self.assertAlmostEqual(value, theirs[name], delta=0.051, msg=name)  # MLflow rounds
        for _, _, percent in found["system/cpu_utilization_percentage"]:
            self.assertTrue(0 < percent < 101, percent)
        total_mb = psutil.virtual_memory().total / 1e6
        for (_, _, used_mb), (_, _, percent) in zip(found["system/system_memory_usage_megabytes"],
                                                    found["system/system_memory_usage_percentage"]):
            self.assertTrue(0 < used_mb < total_mb)
            self.assertAlmostEqual(used_mb / total_mb * 100, percent, places=3)

    @unittest.skipUnless(COMMAND, "the command takt was not built")
    def test_takt_sync_sends_the_same_from_the_journal(self):
        expected = self.histories("system")
        directory = self.early.directory()
        (directory / "mlflow.json").unlink()
        env = rig.environment(MLFLOW_TRACKING_URI=self.server.url, MLFLOW_EXPERIMENT_NAME="system later")
        subprocess.run([COMMAND, "sync", "--to", "mlflow", str(directory)], check=True, timeout=120 * rig.SLACK, env=env,
                       stdout=subprocess.DEVNULL)
        self.assertEqual(len(expected), 15)
        self.assertEqual(self.histories("system later"), expected)


if __name__ == "__main__":
    rig.main()
