# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Measures points per second sent to an MLflow server on this machine, alternately by Takt and by MLflow's own client.

usage: delivery.py <takt_delivery>, run with a Python that has mlflow"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "mlflow"))
sys.argv.insert(1, "none")
import mlflow_test  # noqa: E402, first: it sets what MLflow reads when it is imported
import mlflow_server  # noqa: E402
from mlflow.entities import Metric  # noqa: E402
from mlflow.tracking import MlflowClient  # noqa: E402

STEPS, METRICS, ROUNDS, SINGLE = 2000, 10, 3, 200


def takt(server):
    env = {**os.environ, "MLFLOW_TRACKING_URI": server.url, "MLFLOW_EXPERIMENT_NAME": "bench"}
    done = subprocess.run([sys.argv[2], "points", str(STEPS), str(METRICS)], capture_output=True, text=True, check=True, env=env)
    points, seconds = done.stdout.split()[-2:]
    return int(points) / float(seconds)


def batches(client, experiment):
    """Splits points into batches of 1000, the server's maximum."""
    run = client.create_run(experiment)
    begin = time.monotonic()
    points = [Metric(f"metric{metric}", 0.5 * step, 0, step) for step in range(STEPS) for metric in range(METRICS)]
    for first in range(0, len(points), 1000):
        client.log_batch(run.info.run_id, metrics=points[first:first + 1000])
    return len(points) / (time.monotonic() - begin)


def one_by_one(client, experiment):
    run = client.create_run(experiment)
    begin = time.monotonic()
    for step in range(SINGLE):
        client.log_metric(run.info.run_id, "metric", 0.5 * step, step=step)
    return SINGLE / (time.monotonic() - begin)


def main():
    with tempfile.TemporaryDirectory(prefix="takt-bench-") as directory:
        server = mlflow_server.Server(pathlib.Path(directory) / "server")
        server.start()
        try:
            client = MlflowClient(server.url)
            experiment = client.create_experiment("bench")
            rates = [(takt(server), batches(client, experiment), one_by_one(client, experiment)) for _ in range(ROUNDS)]
        finally:
            server.stop()
    print(f"\npoints per second into MLflow {mlflow_test.mlflow.__version__} on this machine, median of {ROUNDS}")
    for name, each in zip(("Takt, a run from its begin to its end", "MLflow's client, log_batch of 1 000",
                           "MLflow's client, log_metric"), zip(*rates)):
        print(f"{name:<44} {statistics.median(each):10.0f}")


main()
