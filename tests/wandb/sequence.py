# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a client asks W&B's server for during a run, in order, without that in which two clients may differ:

* who asks: the run's id, User-Agent, Accept, Accept-Encoding, and the headers for a user's name and address that say nothing; of the
  config, versions and telemetry; `program`, the name of a script of Python's;
* that it is alive: requests with nothing in them come with time;
* when the config is told again: the SDK names its axes in a second UpsertBucket, Takt in the first;
* how rows, summaries and names of files are shared out over requests: with what is left, the SDK ends the run; Takt, whose end may
  take two seconds only, sends rows before files;
* files go up in any order.

System metrics, console output, requirements.txt and wandb-metadata.json, which Takt has none of, are turned off in the SDK."""

import json

WHO = {"host", "content-length", "user-agent", "accept", "accept-encoding"}


def said(query):
    return " ".join(query.replace("(", " ( ").replace(")", " ) ").split())


def set_in(variables):
    return {name: value for name, value in variables.items() if value is not None and name not in ("name", "program", "config")}


class Sequence:
    def __init__(self, asked, run):
        self.run = run
        self.asked = [each for each in asked if each.kind != "file_stream" or json.loads(each.body)]
        self.streams = [json.loads(each.body) for each in self.of("file_stream")]

    def of(self, kind):
        return [each for each in self.asked if each.kind == kind]

    def variables(self, kind):
        return [json.loads(each.body)["variables"] for each in self.of(kind)]

    def order(self):
        """Method, path and operation of each; of several in a row that do the same, the first."""
        later = [*self.of("UpsertBucket")[1:], *self.of("file_stream")[1:-1]]
        steps = [(each.kind, each.method, each.path.replace(f"/{self.run}", "/<run>")) for each in self.asked if each not in later]
        files = [at for at, each in enumerate(steps) if each[0] == "file"]
        steps[files[0]:files[-1] + 1] = sorted(steps[files[0]:files[-1] + 1])
        return steps

    def headers(self):
        """Of each kind: as who, and of what type."""
        return {each.kind: {name.lower(): value for name, value in each.headers.items() if value and name.lower() not in WHO}
                for each in self.asked}

    def questions(self):
        """Of each operation: its words, and the names of what is filled in."""
        asked = {each.kind: json.loads(each.body) for each in self.asked if each.path == "/graphql"}
        return {kind: (said(body["query"]), sorted(body["variables"]), sorted(body)) for kind, body in asked.items()}

    def files(self):
        """Those that go up, and those that are said to be there."""
        return (sorted(name for each in self.variables("CreateRunFiles") for name in each["files"]),
                sorted(name for each in self.streams for name in each.get("uploaded", [])))

    def stream(self):
        """Every name in the bodies of file_stream, with the type of its values; content: what each line is."""
        shape = {}
        for body in self.streams:
            for name, value in body.items():
                shape.setdefault(name, set()).add(type(value).__name__)
            for file, part in body.get("files", {}).items():
                shape.setdefault(file, set()).update(f"{name} {type(value).__name__}" for name, value in part.items())
                shape[file].update(f"line {type(json.loads(line)).__name__}" for line in part["content"])
        return shape

    def parts(self, file):
        """Where each part of one begins, and how many lines it has."""
        parts = [body["files"][file] for body in self.streams if file in body.get("files", {})]
        return [(part["offset"], len(part["content"])) for part in parts]

    def ends(self):
        """Of each file_stream but those that say nothing of it."""
        return [(at == len(self.asked) - 1, body.get("complete"), body.get("exitcode"))
                for at, each in enumerate(self.asked) if each.kind == "file_stream"
                for body in [json.loads(each.body)] if "complete" in body or "exitcode" in body]

    def common(self):
        upserts = self.variables("UpsertBucket")
        return {"order": self.order(), "headers": self.headers(), "questions": self.questions(), "files": self.files(),
                "stream": self.stream(), "ends": self.ends(), "first upsert": set_in(upserts[0]),
                "resume": [{**each, "name": "<run>"} for each in self.variables("RunResumeStatus")],
                "created": [{**each, "run": "<run>", "files": None} for each in self.variables("CreateRunFiles")]}
