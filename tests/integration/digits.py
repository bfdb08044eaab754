# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Metrics that every tracker must show for the digits example, under the same names; MLflow gets only a few of them."""

import subprocess

import rig

PATHS = [f"time/Epoch/Batch{part}" for part in ("", "/IO", "/Forward", "/Backward")]
MLFLOW_METRICS = {"loss", "throughput/items_per_s", "throughput/steps_per_s", "total/throughput/items_per_s",
                  "total/throughput/steps_per_s", *(f"{path}/{what}" for path in PATHS for what in ("mean_s", "p95_s")),
                  *(f"{path}/share" for path in PATHS[1:])}
METRICS = {"loss", "throughput/items_per_s", "throughput/steps_per_s", "total/wall_s", "total/uncovered_s", "total/overhead_s",
           *(f"{path}/{what}" for path in PATHS for what in ("mean_s", "p50_s", "p95_s", "max_s", "total_s", "count")),
           *(f"total/{path}/count" for path in PATHS)}


def run(example, **env):
    """Returns its stderr."""
    done = subprocess.run([example], env=rig.environment(**env), capture_output=True, text=True, check=True,
                          stdin=subprocess.DEVNULL, timeout=120 * rig.SLACK)
    if done.stdout.splitlines()[-1:] != ["done"]:
        raise AssertionError(f"{done.stdout}\n{done.stderr}")
    return done.stderr
