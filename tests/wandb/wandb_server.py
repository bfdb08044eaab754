# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""The server side of W&B's client, on the loopback: accepts every run and remembers the data."""

import json
import re
import threading
import typing

import loopback


class Asked(typing.NamedTuple):
    """A request."""

    kind: str  # from kind_of()
    method: str
    path: str
    headers: dict
    body: bytes


class Run:
    """All uploaded data of one run."""

    def __init__(self):
        self.upserts = []  # variables of each
        self.history = []  # rows as text, in order
        self.events = []  # system metrics, as text, in order
        self.summary = {}
        self.files = {}
        self.ended = None  # exit code
        self.uploaded = []  # names of files reported as uploaded
        self.beats = 0  # requests without content
        self.stopped = False  # a user pressed "stop"

    def first(self, name):
        return next((each[name] for each in self.upserts if each[name] is not None), None)

    def config(self):
        """Returns the last config by name, and separately the values that W&B's client adds."""
        values = {name: each["value"] for name, each in json.loads(self.upserts[-1]["config"]).items()}
        return values, values.pop("_wandb")

    def rows(self):
        return [json.loads(line, parse_int=float) for line in self.history]  # keeps the sign of 0


class WandbServer(loopback.LoopbackServer):
    """`fault(kind, number of the request)`, or with `with_body` also its body, is called first and may reply instead,
    or return None; "lost": handles the request and breaks the connection instead of replying. `runs`: existing runs."""

    def __init__(self, fault=lambda kind, number: None, with_body=False, runs=None, **how):
        self.runs = {} if runs is None else runs
        self.problems = []
        self.asked = []
        self.fault = fault if with_body else lambda kind, number, _body: fault(kind, number)
        self.lock = threading.Lock()
        super().__init__(self.answer, **how)

    def kinds(self):
        """Returns the kinds of the requests so far, consecutive duplicates only once."""
        with self.lock:
            kinds = [each.kind for each in self.asked]
        return [kind for kind, before in zip(kinds, [None, *kinds]) if kind != before]

    def run(self, name):
        return self.runs.setdefault(name, Run())

    def kind_of(self, method, path, body):
        if method == "PUT":
            return "file"
        if path.endswith("/file_stream"):
            return "file_stream"
        return json.loads(body)["operationName"] if path == "/graphql" else path

    def answer(self, method, path, headers, body):
        if method == "GET":
            return 404, "text/plain", b""  # from is_idle()
        with self.lock:
            kind = self.kind_of(method, path, body)
            self.asked.append(Asked(kind, method, path, dict(headers), body))
            fault = self.fault(kind, len(self.asked) - 1, body)
            if fault not in (None, "lost"):
                return fault
            done = self.do(method, path, body)
            return done if fault is None else None

    def do(self, method, path, body):
        if method == "PUT":
            run, file = path.removeprefix("/put/").split("/", 1)
            self.run(run).files[file] = body
            return 200, "text/plain", b""
        if path == "/graphql":
            return 200, "application/json", json.dumps({"data": self.graphql(json.loads(body))}).encode()
        if path.endswith("/file_stream"):
            run = self.run(path.split("/")[-2])
            self.stream(run, json.loads(body))
            return 200, "application/json", b'{"stopped":true}' if run.stopped else b"{}"
        self.problems.append(f"{method} {path}")
        return 404, "text/plain", b""

    def stream(self, run, told):
        files = told.get("files", {})
        for file, lines in (("wandb-history.jsonl", run.history), ("wandb-events.jsonl", run.events)):
            part = files.get(file, {"offset": 0, "content": []})
            if part["offset"] > len(lines):
                self.problems.append(f"line {part['offset']} behind {len(lines)} of {file}")
            lines[part["offset"]:part["offset"] + len(part["content"])] = part["content"]
        if "wandb-summary.json" in files:
            run.summary = json.loads(files["wandb-summary.json"]["content"][-1])
        run.uploaded += told.get("uploaded", [])
        run.beats += not told
        if told.get("complete"):
            run.ended = told["exitcode"]

    def resumable(self, run):
        if run is None or not run.upserts:
            return None
        config = run.upserts[-1]["config"]
        return {"id": "r", "name": run.upserts[-1]["name"], "displayName": "", "notes": None, "tags": [], "config": config,
                "historyLineCount": len(run.history), "eventsLineCount": len(run.events), "logLineCount": 0, "eventsTail": "[]",
                "historyTail": json.dumps(run.history[-1:]), "summaryMetrics": json.dumps(run.summary),
                "wandbConfig": json.dumps({"t": json.loads(config)["_wandb"]["value"]["t"]})}

    def graphql(self, asked):
        what = re.search(r"(?:query|mutation)\s+(\w+)", asked["query"]).group(1)
        variables = asked.get("variables") or {}
        if what == "UpsertBucket":
            name = variables["name"]
            self.run(name).upserts.append(variables)
            project = {"id": "p", "name": variables["project"] or "uncategorized", "entity": {"id": "e", "name": "someone"}}
            lines = len(self.run(name).history)  # the client appends after these lines since 0.31
            bucket = {"id": name, "name": name, "displayName": name, "description": "", "config": "{}", "sweepName": None,
                      "project": project, "historyLineCount": lines}
            return {"upsertBucket": {"bucket": bucket, "inserted": True}}
        if what == "RunResumeStatus":
            return {"model": {"id": "p", "name": variables["project"], "entity": {"id": "e", "name": "someone"},
                              "bucket": self.resumable(self.runs.get(variables["name"]))}}
        if what == "CreateRunFiles":
            files = [{"name": each, "uploadUrl": f"{self.url}/put/{variables['run']}/{each}"} for each in variables["files"]]
            return {"createRunFiles": {"runID": variables["run"], "uploadHeaders": [], "files": files}}
        if what == "ServerFeaturesQuery":
            return {"serverInfo": {"features": []}}
        if what == "Viewer":
            return {"viewer": {"id": "u", "entity": "someone", "username": "someone", "flags": "{}", "teams": {"edges": []}}}
        if what == "OrganizationCoreWeaveOrganizationID":  # the client's query about its machine
            return {}
        self.problems.append(what)
        return {}
