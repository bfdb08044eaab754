# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""The requests of a client to W&B's server during a run, in order, without differences that two clients may have:

* identity: the run's ID, User-Agent, Accept, Accept-Encoding, and placeholder headers for a user's name and address; in
  the config, versions and telemetry; `program`, the name of a Python script;
* heartbeats: empty requests are sent periodically;
* when the config is sent again: the SDK names its axes in a second UpsertBucket, Takt in the first;
* how rows, summaries and file names are split over requests: the SDK ends the run with the rest; Takt, which may take
  only two seconds to end, sends rows before files;
* the order of file uploads.

The SDK's system metrics, console output, requirements.txt and wandb-metadata.json are turned off, because Takt has none
of them."""

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
        """Returns method, path and operation of each request; only the first of consecutive equal ones."""
        later = [*self.of("UpsertBucket")[1:], *self.of("file_stream")[1:-1]]
        steps = [(each.kind, each.method, each.path.replace(f"/{self.run}", "/<run>")) for each in self.asked if each not in later]
        files = [at for at, each in enumerate(steps) if each[0] == "file"]
        steps[files[0]:files[-1] + 1] = sorted(steps[files[0]:files[-1] + 1])
        return steps

    def headers(self):
        """Returns the headers of each kind about identity and content type."""
        return {each.kind: {name.lower(): value for name, value in each.headers.items() if value and name.lower() not in WHO}
                for each in self.asked}

    def questions(self):
        """Returns the text of each operation and the names of its variables."""
        asked = {each.kind: json.loads(each.body) for each in self.asked if each.path == "/graphql"}
        return {kind: (said(body["query"]), sorted(body["variables"]), sorted(body)) for kind, body in asked.items()}

    def files(self):
        """Returns the uploaded files and those reported as uploaded."""
        return (sorted(name for each in self.variables("CreateRunFiles") for name in each["files"]),
                sorted(name for each in self.streams for name in each.get("uploaded", [])))

    def stream(self):
        """Returns every name in the bodies of file_stream with its values' types; content: the kind of each line."""
        shape = {}
        for body in self.streams:
            for name, value in body.items():
                shape.setdefault(name, set()).add(type(value).__name__)
            for file, part in body.get("files", {}).items():
                shape.setdefault(file, set()).update(f"{name} {type(value).__name__}" for name, value in part.items())
                shape[file].update(f"line {type(json.loads(line)).__name__}" for line in part["content"])
        return shape

    def parts(self, file):
        """Returns the offset of each part of a file and its number of lines."""
        parts = [body["files"][file] for body in self.streams if file in body.get("files", {})]
        return [(part["offset"], len(part["content"])) for part in parts]

    def ends(self):
        """Returns the ends reported in file_stream requests, without requests that lack them."""
        return [(at == len(self.asked) - 1, body.get("complete"), body.get("exitcode"))
                for at, each in enumerate(self.asked) if each.kind == "file_stream"
                for body in [json.loads(each.body)] if "complete" in body or "exitcode" in body]

    def common(self):
        upserts = self.variables("UpsertBucket")
        return {"order": self.order(), "headers": self.headers(), "questions": self.questions(), "files": self.files(),
                "stream": self.stream(), "ends": self.ends(), "first upsert": set_in(upserts[0]),
                "resume": [{**each, "name": "<run>"} for each in self.variables("RunResumeStatus")],
                "created": [{**each, "run": "<run>", "files": None} for each in self.variables("CreateRunFiles")]}
