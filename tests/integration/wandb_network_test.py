# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Effects of server and network errors on the delivery to W&B during the run (faults.py). They are like those for
MLflow, and the log for W&B's own client is always complete."""

import glob
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "wandb"))
import faults  # noqa: E402
import rig  # noqa: E402
from faults import EXIT_MS  # noqa: E402
from transaction_log import whole_records  # noqa: E402
from wandb_server import WandbServer  # noqa: E402


def rows_of(log):
    """Returns the number of rows in a log with a value "weight". A record is its number, then its kind: 2 for a row."""
    found = 0
    for record in whole_records(log):
        at = 1
        while record[at] & 0x80:
            at += 1
        found += record[at + 1] == 0x12 and b"\x0a\x06weight" in record
    return found


class WandbNetwork(faults.Faults, rig.Case):
    CREATE, BATCH = "UpsertBucket", "file_stream"
    URL_VARIABLE = "WANDB_BASE_URL"
    SECRET = "s3cr3t-" + "k" * 40
    UNSENT = "ended before all data was sent"
    DENIED = ((CREATE, 401, "WANDB_API_KEY"), (CREATE, 403, "WANDB_ENTITY"), (CREATE, 404, "WANDB_BASE_URL"),
              (BATCH, 401, "WANDB_API_KEY"), (BATCH, 409, "WANDB_RUN_ID"), (BATCH, 400, "takt sync"), (BATCH, 413, "takt sync"),
              (BATCH, 422, "takt sync"), (BATCH, 501, "takt sync"))
    REST_MS = 5000  # a request with rows is sent only every 15 s
    server = None  # the newest

    def credentials(self, url):
        return {"WANDB_BASE_URL": url, "WANDB_API_KEY": self.SECRET, "WANDB_DIR": self.scratch, "WANDB_MODE": "online"}

    def serve(self, fault=lambda *_: None, **how):
        server = WandbServer(lambda kind, _number, body: fault("POST", kind, body), with_body=True, **how)
        self.addCleanup(server.stop)
        self.server = server
        return server

    def has_arrived(self, server, _lacking=0):
        return server.runs and self.only_run(server).history

    def only_run(self, server):
        self.assertEqual(len(server.runs), 1, server.runs.keys())
        return next(iter(server.runs.values()))

    def asked(self, server):
        return server.asked

    def log(self):
        log, = glob.glob(f"{self.scratch}/wandb/*/*.wandb")
        return pathlib.Path(log)

    def finish(self, exit_ms=EXIT_MS):
        ended, delivered = super().finish(exit_ms)
        self.assertEqual(rows_of(self.log().read_bytes()), self.steps_made)
        self.assertEqual(pathlib.Path(f"{self.log()}.synced").exists(), delivered)
        by_client = ended.err.count(f"wandb sync {self.log().parent}")
        by_takt = ended.err.count(f"takt sync --to wandb {self.directory()}")
        self.assertEqual(by_client + by_takt, 0 if delivered else 1, ended)
        # W&B's client would send existing data again
        if self.server and "file_stream" in [each.kind for each in self.server.asked]:
            self.assertEqual(by_client, 0, ended)
        return ended, delivered

    def sync(self, server, directory=None, lacking=0):
        server.fault = lambda *_: None
        done = self.takt("sync", "--to", "wandb", "--every-step", directory or self.directory(), **self.credentials(server.url))
        self.assertEqual((done.returncode, lacking), (0, 0), f"{done.stdout}\n{done.stderr}")
        self.assertIn("all is delivered", done.stdout)

    def check_all_once(self, server, _lacking=0):
        self.assertEqual(server.problems, [])
        run = self.only_run(server)
        self.assertEqual(run.ended, 0)
        rows = [json.loads(row) for row in run.history]
        self.assertEqual([row["_step"] for row in rows], list(range(len(rows))))
        for key in ("weight", "time/Batch/step_s", "time/Batch/IO/step_s", "time/Batch/Forward/step_s"):
            self.assertEqual([row["takt/step"] for row in rows if key in row], list(range(self.steps_made)), key)

    def check_rest_is_synced(self, server, ended):
        before = list(self.only_run(server).history) if server.runs else []
        self.sync(server)
        self.check_all_once(server)
        self.assertEqual(self.only_run(server).history[:len(before)], before)

    def test_reply_lost(self):
        """For each kind of request: the data is sent again to the same place."""
        lost = []

        def fault(_method, request, _body):
            if request in lost:
                return None
            lost.append(request)
            return "lost"
        self.survive(self.serve(fault), "does not respond correctly")
        self.assertEqual(lost, ["UpsertBucket", "file_stream", "CreateRunFiles", "file"])

    def test_silent_where_files_go(self):
        """By then all rows have arrived."""
        for request in ("CreateRunFiles", "file"):
            with self.subTest(request):
                self.setUp()
                server = self.serve(self.at(request, self.hang()))
                self.begin(server.url)
                ended, delivered = self.finish()
                self.assertTrue(self.met.is_set(), ended)
                self.assertFalse(delivered)
                self.assertEqual(sum('"weight"' in row for row in self.only_run(server).history), self.steps_made)
                self.over.set()
                self.check_rest_is_synced(server, ended)


if __name__ == "__main__":
    rig.main()
