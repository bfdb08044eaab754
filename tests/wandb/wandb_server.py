# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""What W&B's client asks a server for, on the loopback: it takes every run, and remembers what it was told."""

import json
import re
import threading

import loopback


class Run:
    """All that was uploaded of one run."""

    def __init__(self):
        self.upserts = []  # variables of each
        self.history = []  # rows as text, in order
        self.summary = {}
        self.files = {}
        self.ended = None  # exit code

    def first(self, name):
        return next((each[name] for each in self.upserts if each[name] is not None), None)

    def config(self):
        """The last one, by name, and apart from it what W&B's client adds."""
        values = {name: each["value"] for name, each in json.loads(self.upserts[-1]["config"]).items()}
        return values, values.pop("_wandb")

    def rows(self):
        return [json.loads(line, parse_int=float) for line in self.history]  # which keeps the sign of 0


class WandbServer(loopback.LoopbackServer):
    def __init__(self):
        self.runs = {}
        self.problems = []
        self.lock = threading.Lock()
        super().__init__(self.answer)

    def run(self, name):
        return self.runs.setdefault(name, Run())

    def answer(self, method, path, _, body):
        with self.lock:
            if method == "PUT":
                run, file = path.removeprefix("/put/").split("/", 1)
                self.run(run).files[file] = body
                return 200, "text/plain", b""
            if path == "/graphql":
                return 200, "application/json", json.dumps({"data": self.graphql(json.loads(body))}).encode()
            if path.endswith("/file_stream"):
                self.stream(self.run(path.split("/")[-2]), json.loads(body))
                return 200, "application/json", b"{}"
        self.problems.append(f"{method} {path}")
        return 404, "text/plain", b""

    def stream(self, run, told):
        files = told.get("files", {})
        if "wandb-history.jsonl" in files:
            part = files["wandb-history.jsonl"]
            run.history[part["offset"]:] = part["content"]
        if "wandb-summary.json" in files:
            run.summary = json.loads(files["wandb-summary.json"]["content"][-1])
        if told.get("complete"):
            run.ended = told["exitcode"]

    def graphql(self, asked):
        what = re.search(r"(?:query|mutation)\s+(\w+)", asked["query"]).group(1)
        variables = asked.get("variables") or {}
        if what == "UpsertBucket":
            name = variables["name"]
            self.run(name).upserts.append(variables)
            project = {"id": "p", "name": variables["project"] or "uncategorized", "entity": {"id": "e", "name": "someone"}}
            bucket = {"id": name, "name": name, "displayName": name, "description": "", "config": "{}", "sweepName": None,
                      "project": project, "historyLineCount": 0}
            return {"upsertBucket": {"bucket": bucket, "inserted": True}}
        if what == "CreateRunFiles":
            files = [{"name": each, "uploadUrl": f"{self.url}/put/{variables['run']}/{each}"} for each in variables["files"]]
            return {"createRunFiles": {"runID": variables["run"], "uploadHeaders": [], "files": files}}
        if what == "ServerFeaturesQuery":
            return {"serverInfo": {"features": []}}
        if what == "Viewer":
            return {"viewer": {"id": "u", "entity": "someone", "username": "someone", "flags": "{}", "teams": {"edges": []}}}
        self.problems.append(what)
        return {}
