# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""The parts of an MLflow server that one run needs, without a database. It keeps duplicates."""

import collections
import json
import threading
import urllib.parse

import loopback

PAGE = 500  # points of a history


class TrackingServer(loopback.LoopbackServer):
    """Keeps the points of each run. `fault(method, endpoint, body)` may reply instead, or return None; it is called
    under the lock, one request at a time."""

    def __init__(self, fault=lambda method, endpoint, body: None, runs=None, **how):
        self.fault = fault
        self.lock = threading.Lock()
        self.requests = []  # (endpoint, headers)
        self.runs = {} if runs is None else runs  # {run ID: Run}
        super().__init__(self.answer, **how)

    def answer(self, method, path, headers, body):
        url = urllib.parse.urlsplit(path)
        endpoint = url.path.rpartition("/mlflow/")[2] or url.path
        with self.lock:
            self.requests.append((endpoint, headers))
            reply = self.fault(method, endpoint, body)
            return reply or self.good(endpoint, dict(urllib.parse.parse_qsl(url.query)), body)

    def good(self, endpoint, query, body):
        """Handles a request normally. Call it under the lock."""
        request = json.loads(body) if body and "artifacts" not in endpoint else {}
        reply = {}
        if endpoint == "runs/create":
            run_id = f"r{len(self.runs)}"
            self.runs[run_id] = Run(request)
            reply = {"run": self.runs[run_id].described(run_id)}
        elif endpoint == "runs/search":
            found = [run.described(name) for name, run in self.runs.items() if run.nonce in request["filter"]]
            reply = {"runs": found}
        elif endpoint == "runs/get":
            reply = {"run": self.runs[query["run_id"]].described(query["run_id"])}
        elif endpoint == "metrics/get-history":
            reply = self.runs[query["run_id"]].page(query["metric_key"], int(query.get("page_token", 0)))
        elif "run_id" in request:
            self.runs[request["run_id"]].take(request)
        return 200, "application/json", json.dumps(reply).encode()

    def only_run(self):
        with self.lock:
            if len(self.runs) != 1:
                raise AssertionError(f"{len(self.runs)} runs")
            return next(iter(self.runs.values()))

    def count(self, endpoint):
        with self.lock:
            return sum(each == endpoint for each, _ in self.requests)


class Run:
    def __init__(self, request):
        self.nonce = next(tag["value"] for tag in request["tags"] if tag["key"] == "takt.create_nonce")
        self.status = "RUNNING"
        self.metrics = collections.defaultdict(list)

    def take(self, request):
        self.status = request.get("status", self.status)
        for each in request.get("metrics", []):
            self.metrics[each["key"]].append(each)

    def described(self, run_id):
        latest = [max(points, key=lambda each: (each["step"], each["timestamp"], each["value"])) for points in self.metrics.values()]
        return {"info": {"run_id": run_id, "artifact_uri": f"mlflow-artifacts:/0/{run_id}", "status": self.status},
                "data": {"metrics": latest}}

    def page(self, key, begin):
        points = self.metrics.get(key, [])
        reply = {"metrics": points[begin:begin + PAGE]}
        if begin + PAGE < len(points):
            reply["next_page_token"] = str(begin + PAGE)
        return reply

    def steps(self, key):
        return [each["step"] for each in self.metrics.get(key, [])]

    def points(self):
        return sum(len(points) for points in self.metrics.values())

    def copies(self):
        """Returns the number of duplicate points."""
        return sum(len(points) - len({json.dumps(each, sort_keys=True) for each in points}) for points in self.metrics.values())
