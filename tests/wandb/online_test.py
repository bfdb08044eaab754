# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Data that a program sends to W&B's server while it runs: equal to that of W&B's own SDK, whatever the server does,
without duplicates if W&B's own client uploads it as well."""

import glob
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import signal
import ssl
import subprocess
import sys
import time
import unittest

from sequence import Sequence, set_in
from wandb_case import CLIENT, EXAMPLE, IDENTITY, KEY, OURS, SDK, STEPS, WandbCase, digits, logged, rig, without_time
from wandb_server import WandbServer

COMMAND = os.environ["COMMAND"]
# Fields of a later upsert for a run, besides the ID and the config.
LATER_UPSERT = {"project": IDENTITY["WANDB_PROJECT"], "entity": IDENTITY["WANDB_ENTITY"]}
# Warning to a program that logs a name reserved by W&B.
RENAMED = 'takt: W&B allows only UTF-8 in names, and Takt reserves some. Renamed: "_step" to "user/_step"\n'
HTML = (200, "text/html", b"<html>please log in</html>")


class OnlineTest(WandbCase):
    maxDiff = None

    def start_run(self, *arguments, **how):
        return super().start_run(*arguments, **{"WANDB_MODE": "online", "WANDB_API_KEY": KEY, "WANDB_BASE_URL": self.server.url,
                                                "NETRC": self.scratch / "none", **how})

    def serve(self, fault, **how):
        """Replaces the server with another one, with its own data."""
        self.server.stop()
        self.server = WandbServer(fault, **how)
        self.addCleanup(self.server.stop)

    def only_run(self):
        self.assertEqual(len(self.server.runs), 1, self.server.runs.keys())
        return next(iter(self.server.runs.values()))

    def takt_sync(self, status=0, directory=None, **env):
        done = subprocess.run([COMMAND, "sync", "--to", "wandb", "--every-step", str(directory or self.directory())], capture_output=True,
                              text=True, check=False, timeout=120 * rig.SLACK,
                              env={**self.environment(), "WANDB_MODE": "online", **env})
        self.assertEqual(done.returncode, status, done)
        self.assertNotIn(KEY, done.stdout + done.stderr)
        return done

    def check_no_key(self, ended):
        self.assertNotIn(KEY, ended.out + ended.err)
        for path in self.scratch.rglob("*"):
            if path.is_file() and not path.is_relative_to(self.scratch / "cache"):
                self.assertNotIn(KEY.encode(), path.read_bytes(), path)

    def test_the_sdk_of_wandb_makes_the_same_requests_in_the_same_order(self):
        for resume in ({}, {"WANDB_RESUME": "allow"}):
            with self.subTest(**resume):
                self.setUp()
                who = {**IDENTITY, "WANDB_MODE": "online", "WANDB_USERNAME": "ada", "WANDB_USER_EMAIL": "a@b.c",
                       "WANDB_SWEEP_ID": "sw33p", **resume}
                ended = self.run_to_end(TAKT_TRACE=1, WANDB_RUN_ID="ours", **who)
                self.check_no_key(ended)
                self.assertEqual(ended.err, RENAMED)
                run = self.only_run()
                self.check_rows(run.rows())
                self.check_files(run)
                ours = Sequence(self.server.asked, "ours")
                self.server.asked = []
                self.log_with_sdk("official", *logged(run), str(self.log_file().parent / "files"), **who)
                self.check_equal(run, self.server.runs["official"])
                self.check_sequences(ours, Sequence(self.server.asked, "official"))

    def check_files(self, run):
        self.assertEqual(sorted(run.uploaded), sorted([*OURS, "wandb-summary.json", "config.yaml"]))
        for name in ("summary.json", "trace.json"):
            self.assertEqual(run.files[f"takt/{name}"], (self.directory() / name).read_bytes())
        for server_file in ("wandb-summary.json", "config.yaml"):
            self.assertTrue(json.loads(run.files[server_file]), server_file)

    def check_sequences(self, ours, theirs):
        common = ours.common()
        for what, told in theirs.common().items():
            self.assertEqual(common[what], told, what)
        begin = ["RunResumeStatus"] if common["resume"] else []
        self.assertEqual([kind for kind, _, _ in common["order"]],
                         [*begin, "UpsertBucket", "file_stream", "CreateRunFiles", *["file"] * 5, "file_stream"])
        self.assertEqual(common["ends"], [(True, True, 0)])
        self.assertEqual({name for kind in common["headers"].values() for name in kind},
                         {"authorization", "content-type", "x-wandb-username", "x-wandb-user-email"})
        self.assertNotIn("authorization", common["headers"]["file"])
        self.assertEqual([set_in(each) for each in theirs.variables("UpsertBucket")[1:]],
                         [LATER_UPSERT] * len(theirs.variables("UpsertBucket")[1:]))
        for each in (ours, theirs):
            lines = 0
            for offset, more in each.parts("wandb-history.jsonl"):
                self.assertEqual(offset, lines)
                lines += more
            self.assertEqual(set(each.parts("wandb-summary.json")), {(0, 1)})

    def test_wandb_sync_skips_a_run_that_was_sent(self):
        self.run_to_end()
        rows = list(self.only_run().history)
        self.server.asked.clear()
        self.assertIn("Skipped 1 synced run", self.client("sync", self.log_file().parent))
        self.assertEqual(self.server.asked, [])
        self.client("sync", "--include-synced", self.log_file().parent)
        # takt sync must continue a partly sent run because W&B's client appends.
        self.assertEqual(len(self.only_run().history), 2 * len(rows))

    def test_whatever_the_server_does_each_row_is_there_once(self):
        moods = random.Random(5)
        choices = (None, None, "lost", (500, "text/plain", b"no"), (503, "text/plain", b""), (429, "text/plain", b""), HTML,
                   lambda handler: handler.wfile.write(b"nonsense\r\n\r\n"))
        self.serve(lambda kind, number: moods.choice(choices) if number < 12 else None)
        self.run_to_end(TAKT_EXIT_MS=120_000)
        run = self.only_run()
        self.check_rows(run.rows())
        self.assertEqual(run.ended, 0)
        self.assertTrue(pathlib.Path(f"{self.log_file()}.synced").exists())

    def test_undelivered_data_is_left_to_the_reported_command(self):
        for fault in ((401, "text/plain", b"no"), (409, "text/plain", b"no"), (500, "text/plain", b"no"), "rest", None):
            with self.subTest(fault):
                self.setUp()
                self.begin_to_refuse(fault)
                port = self.server.port
                if fault is None:  # no listener
                    self.server.stop()
                ended = self.start_run(TAKT_EXIT_MS=1000, WANDB_BASE_URL=f"http://127.0.0.1:{port}").end(60)
                self.assertEqual(ended.status, 0, ended)
                self.assertIn("written 0", ended.out)
                told, = re.findall("Upload (?:it|the rest) with: (.*)", ended.err)
                self.check_no_key(ended)
                if fault is None:
                    self.serve(lambda kind, number: None)
                self.server.fault = lambda *_: None
                self.check_told(shlex.split(told), nothing_was_sent=fault is None, rows_were_sent=fault == "rest")

    def check_told(self, command, nothing_was_sent, rows_were_sent):
        """Runs a command that uploads the rest, and checks that it does so without duplicates."""
        if command[0] == "takt":
            self.assertFalse(nothing_was_sent)
            self.assertEqual(command, ["takt", "sync", "--to", "wandb", str(self.directory())])
            self.takt_sync()
        else:
            self.assertFalse(rows_were_sent)
            self.assertEqual(command, ["wandb", "sync", str(self.log_file().parent)])
            self.client(*command[1:])
        self.check_rows(self.only_run().rows())

    def begin_to_refuse(self, fault):
        """Makes the server answer rows with this error; "rest": all rows except the first."""
        taken = []

        def answer(kind, number):
            if kind != "file_stream" or fault is None:
                return None
            if fault != "rest":
                return fault
            taken.append(number)
            return None if len(taken) == 1 else (403, "text/plain", b"no")
        self.serve(answer)

    def test_a_silent_server_does_not_delay_the_end_of_the_run(self):
        self.serve(lambda kind, number: lambda handler: handler.rfile.read(1))
        ended = self.start_run(TAKT_EXIT_MS=500).end(20)
        self.assertIn("written 0", ended.out)
        self.assertEqual(len(self.given()["row", "Epoch/Batch"]), STEPS)

    def test_a_restarted_server_gets_the_rest(self):
        program = self.start_run(steps=1_000_000, pause_us=1000)
        self.assertTrue(rig.wait_until(lambda: self.server.runs and self.only_run().upserts))
        old = self.server
        old.kill()
        self.server = WandbServer(port=old.port, runs=old.runs)
        self.addCleanup(self.server.stop)
        pathlib.Path(f"{self.given_file}.end").touch()
        self.assertIn("written 1", program.end(120).out)
        self.check_rows(self.only_run().rows(), len(self.given()["row", "Epoch/Batch"]))

    def serve_with_tls(self):
        """Serves with an untrusted certificate. Returns its file."""
        openssl = shutil.which("openssl")
        if openssl is None:
            self.skipTest("there is no openssl here to make certificates with")
        key, pem = self.scratch / "server.key", self.scratch / "server.pem"
        subprocess.run([openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
                        "-subj", "/CN=server", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", pem], check=True,
                       capture_output=True, timeout=60 * rig.SLACK)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem, key)
        self.serve(lambda kind, number: None, tls=context)
        return pem

    def test_a_server_with_an_untrusted_certificate_gets_nothing(self):
        self.serve_with_tls()
        ended = self.start_run(TAKT_EXIT_MS=1000).end(60)
        self.assertIn("written 0", ended.out)
        self.assertIn("SSL_CERT_FILE", ended.err)
        self.assertEqual(self.server.asked, [])
        self.check_no_key(ended)

    def test_a_server_with_a_custom_authority_gets_everything(self):
        pem = self.serve_with_tls()
        ended = self.run_to_end(SSL_CERT_FILE=pem)
        self.check_rows(self.only_run().rows())
        self.assertEqual(sorted(self.only_run().files), sorted([*OURS[:2], "wandb-summary.json", "config.yaml",
                                                                       "wandb-metadata.json"]))
        self.assertEqual(ended.err, RENAMED)

    def test_an_unchecked_server_is_reported(self):
        self.serve_with_tls()
        ended = self.run_to_end(WANDB_INSECURE_DISABLE_SSL="true")
        self.assertEqual(self.only_run().ended, 0)
        self.assertEqual(ended.err.count("is not verified"), 1, ended)

    def kill(self, **env):
        program = self.start_run(steps=1_000_000, pause_us=1000, **env)
        offline = env.get("WANDB_MODE") == "offline"
        self.assertTrue(rig.wait_until(lambda: glob.glob(f"{self.root}/*/*.wandb") and self.log_file().stat().st_size > 150_000
                                       and (offline or (self.server.runs and self.only_run().history))))
        os.kill(program.process.pid, signal.SIGKILL)
        self.assertEqual(program.end(60).status, -signal.SIGKILL)
        self.assertTrue(rig.wait_until(self.server.is_idle))

    def check_killed(self, run):
        rows = run.rows()
        self.check_numbers(rows)
        self.assertEqual(run.ended, 1)
        self.assertGreater(len(rows), 100)
        for key in ("loss", "time/Epoch/Batch/step_s"):
            steps = [row["takt/step"] for row in rows if key in row]
            self.assertEqual(steps, list(range(len(steps))), key)

    def test_takt_sync_sends_the_rest_of_a_killed_run_once(self):
        self.kill()
        said = self.takt_sync().stdout
        self.assertIn("all is delivered", said)
        run = self.only_run()
        self.check_killed(run)
        self.server.asked.clear()
        self.assertIn("all is delivered", self.takt_sync().stdout)
        self.assertEqual(self.server.kinds(), ["RunResumeStatus"])
        self.assertIn("Skipped 1 synced run", self.client("sync", self.log_file().parent))

    def test_the_log_of_a_killed_program_gets_its_end_before_wandb_sync_uploads_it(self):
        self.kill(WANDB_MODE="offline")
        self.assertIn("wandb sync", self.takt_sync(status=3, WANDB_API_KEY="").stderr)
        run = self.sync()
        self.check_killed(run)
        self.assertIn("total/wall_s", run.summary)

    def test_takt_sync_writes_for_wandb_sync_what_a_program_without_an_exporter_recorded(self):
        self.run_to_end(WANDB_MODE="disabled")
        self.assertEqual(glob.glob(f"{self.root}/*"), [])
        said = self.takt_sync(status=3, WANDB_API_KEY="").stderr
        self.assertIn("wandb sync", said)
        self.assertIn("wandb sync", self.takt_sync(WANDB_MODE="offline").stdout)
        self.assertEqual(self.server.asked, [])
        run = self.sync()
        self.check_rows(run.rows())
        self.assertEqual(run.ended, 0)
        self.assertIn("delivered before, by wandb sync; W&B was not asked", self.takt_sync().stdout)

    def test_takt_sync_skips_a_run_whose_program_is_sending(self):
        program = self.start_run(steps=1_000_000, pause_us=1000)
        self.assertTrue(rig.wait_until(lambda: glob.glob(f"{self.directory() if self.directories() else '-'}/wandb.json")))
        self.assertIn("delivering", self.takt_sync(status=3).stderr)
        pathlib.Path(f"{self.given_file}.end").touch()
        self.assertIn("written 1", program.end(120).out)
        self.check_rows(self.only_run().rows(), len(self.given()["row", "Epoch/Batch"]))

    def test_the_key_of_wandb_login_is_found(self):
        subprocess.run([CLIENT, "login", "--relogin", KEY], env=self.environment(), check=True, capture_output=True,
                       stdin=subprocess.DEVNULL, timeout=120 * rig.SLACK)
        self.assertTrue((self.scratch / "netrc").exists())
        self.run_to_end(steps=10, WANDB_API_KEY=None, NETRC=self.scratch / "netrc")
        self.assertEqual(self.only_run().ended, 0)

    def begin_silence(self, **env):
        return self.start("silent", stdin=subprocess.PIPE, WANDB_DIR=self.scratch, WANDB_API_KEY=KEY, WANDB_BASE_URL=self.server.url,
                          NETRC=self.scratch / "none", TAKT_TABLE=0, TAKT_EXIT_MS=60_000, **{**env, "WANDB_MODE": "online"})

    def test_only_the_config_is_sent_again_for_an_existing_run(self):
        program = self.begin_silence(**IDENTITY)
        self.assertTrue(rig.wait_until(lambda: self.server.runs and self.only_run().upserts))
        self.assertIn("written 1", program.end(120).out)
        first, later = self.only_run().upserts
        self.assertNotIn("late", json.loads(first["config"]))
        self.assertEqual(json.loads(later["config"])["late"], {"value": 1})
        self.assertEqual(set_in(later), LATER_UPSERT)

    def test_in_a_minute_without_data_the_server_gets_heartbeats(self):
        heard = []
        self.serve(lambda kind, number: heard.append(time.monotonic()))
        program = self.begin_silence()
        self.assertTrue(rig.wait_until(lambda: heard, 30))
        end = time.monotonic() + 61
        rig.wait_until(lambda: time.monotonic() > end, 90)
        self.assertLess(max(after - before for before, after in zip(heard, [*heard[1:], time.monotonic()])), 31 * rig.SLACK)
        self.assertIsNone(self.only_run().ended)
        self.assertIn("written 1", program.end(120).out)
        self.assertEqual(self.only_run().ended, 0)

    def test_a_row_of_ten_mib_is_split_to_the_servers_limit(self):
        ended = self.start("wide", 50_000, WANDB_DIR=self.scratch, WANDB_MODE="online", WANDB_API_KEY=KEY,
                           WANDB_BASE_URL=self.server.url, NETRC=self.scratch / "none").end(120)
        self.assertEqual(ended.status, 0, ended)
        self.assertLess(max(map(len, self.only_run().history)), (10 << 20) - (100 << 10))  # the client's maximum
        rows = self.only_run().rows()
        self.check_numbers(rows)
        found = [name for row in rows for name in row if name.startswith("xxx")]
        self.assertEqual((len(found), len(set(found))), (50_000, 50_000))

    def test_a_key_that_is_too_short_is_rejected_before_sending_and_not_shown(self):
        ended = self.start_run(steps=5, WANDB_API_KEY="too-short-0123456789").end(60)
        self.assertNotEqual(ended.status, 0)
        self.assertIn("but a key has 40 or more", ended.err)
        self.assertNotIn("too-short-0123456789", ended.out + ended.err)
        self.assertEqual(self.server.asked, [])
        said = subprocess.run([CLIENT, "login", "--relogin", "too-short-0123456789"], env=self.environment(), capture_output=True,
                              text=True, check=False, stdin=subprocess.DEVNULL, timeout=120 * rig.SLACK)
        self.assertNotEqual(said.returncode, 0)  # the official client fails, too

    def test_ranks_that_start_in_the_same_second_are_runs_of_one_group(self):
        programs = [self.start_run(steps=20, TAKT_RANKS="all", TAKT_RUN_ID="x", TAKT_RANK=rank, TAKT_WORLD_SIZE=2)
                    for rank in range(2)]
        for program in programs:
            self.assertIn("written 1", program.end(60).out)
        runs = self.server.runs.values()
        self.assertEqual(sorted(run.first("displayName") for run in runs), ["wandb-test rank-0000", "wandb-test rank-0001"])
        self.assertEqual({(run.first("groupName"), run.first("jobType"), run.ended) for run in runs}, {("wandb-test-x", "rank", 0)})

    def end_ranks(self, **env):
        """Ends four ranks; only rank 0 writes for W&B."""
        programs = [self.start_run(steps=20, TAKT_RUN_ID="x", TAKT_RANK=rank, TAKT_WORLD_SIZE=4, **env) for rank in range(4)]
        for program in programs:
            self.assertIn("written 1", program.end(120).out)

    def check_ranks(self, run, rows):
        """Checks for the same comparison of ranks as in `takt report`, which reads their directories in a different
        way."""
        expected = self.job(COMMAND)
        self.assertIn("total/ranks/time/Epoch/Batch/ns::f<int>/slowest_rank", expected)
        self.assertEqual(len(run.history), rows + 1)
        self.check_numbers(run.rows())
        for told in (run.summary, run.rows()[-1]):
            self.assertEqual({name for name in told if name.startswith(("total/job/", "total/ranks/"))}, set(expected))
            for name, value in expected.items():
                self.assertAlmostEqual(told[name], value, delta=1e-12 * abs(value), msg=name)
        self.assertEqual((run.summary["takt/ranks"].splitlines()[0], run.ended), ("4 of 4", 0))
        self.assertIn("total/wall_s", run.summary)

    def test_takt_sync_adds_the_comparison_of_ranks_to_a_complete_run(self):
        self.end_ranks()
        run = self.only_run()
        rows = len(run.history)
        self.assertEqual(run.ended, 0)
        self.takt_sync(directory=self.runs)
        self.check_ranks(run, rows)
        self.server.asked.clear()
        self.takt_sync(directory=self.runs)
        self.assertEqual(self.server.kinds(), ["RunResumeStatus"])
        self.assertIn("Skipped 1 synced run", self.client("sync", self.log_file().parent))

    def test_takt_sync_adds_the_comparison_of_ranks_to_a_log_before_wandb_sync_uploads_it(self):
        self.end_ranks(WANDB_MODE="offline")
        rows = len(self.rows_of_log())
        self.takt_sync(directory=self.runs, WANDB_MODE="offline")
        self.check_ranks(self.sync(), rows)
        said = self.takt_sync(directory=self.runs, WANDB_MODE="offline")
        self.assertIn("delivered before, by wandb sync; W&B was not asked", said.stdout)

    def begin_again(self, name, resume, sent, **env):
        """Runs a program with the ID of the first one. Returns its log's directory."""
        directory = self.scratch / name
        directory.mkdir()
        ended = self.start_run(steps=20, **{**env, "WANDB_RUN_ID": "first", "WANDB_RESUME": resume, "WANDB_DIR": directory,
                                            "WANDB_MODE": "online"}).end(120)
        self.assertEqual(ended.status, 0, ended)
        self.assertIn(f"written {int(sent)}", ended.out, ended)
        return ended, glob.glob(f"{directory}/wandb/offline-run-*")[0]

    def sdk_status(self, run_id, resume):
        """Returns the exit status of W&B's own SDK when it starts that run."""
        env = {**self.environment(), "WANDB_MODE": "online", "WANDB_RUN_ID": run_id, "WANDB_RESUME": resume}
        return subprocess.run([sys.executable, "-c", SDK], env=env, input="[{}, []]", text=True, check=False, capture_output=True,
                              timeout=120 * rig.SLACK).returncode

    def test_a_run_is_resumed_like_the_sdk_does(self):
        who = {**IDENTITY, "WANDB_MODE": "online"}
        told = {}
        for name, resume in (("one", "allow"), ("two", "must"), ("three", "allow")):
            self.server.asked = []
            before = list(self.server.run("first").history)
            ended, _ = self.begin_again(name, resume, True, **IDENTITY)
            self.assertEqual(ended.err, RENAMED)
            ours = self.server.run("first")
            self.assertEqual(ours.history[:len(before)], before)
            told[name] = Sequence(self.server.asked, "first")
            self.server.asked = []
            new = [{key: value for key, value in row.items() if key not in ("_step", "_timestamp", "_runtime")}
                   for row in ours.rows()[len(before):]]
            files = glob.glob(f"{self.scratch}/{name}/wandb/offline-run-*/files")
            self.log_with_sdk("official", {"lr": 0.25, **({"old": 1} if name == "one" else {})}, new, *files,
                              **{**who, "WANDB_RESUME": resume})
            self.check_gone_on(told[name], Sequence(self.server.asked, "official"))
        theirs = self.server.runs["official"]
        self.assertEqual([without_time(row) for row in ours.rows()], [without_time(row) for row in theirs.rows()])
        self.check_numbers(ours.rows())
        self.assertEqual(without_time(ours.summary), without_time(theirs.summary))
        self.assertIn("lr", ours.config()[0])
        self.assertEqual(theirs.config()[0]["old"], 1)
        self.assertGreater(ours.rows()[-1]["_runtime"], 0)
        losses = [row["takt/step"] for row in ours.rows() if "loss" in row]
        self.assertEqual(losses, [*range(20)] * 3)

    def check_gone_on(self, ours, theirs):
        """Checks for the same query, the same data about the resumed run, and rows at the same offsets."""
        common, other = ours.common(), theirs.common()
        for what in ("questions", "resume", "headers"):
            self.assertEqual(common[what], other[what], what)
        first, official = common["first upsert"], other["first upsert"]
        self.assertEqual(first, official)
        for file in ("wandb-history.jsonl", "wandb-summary.json"):
            self.assertEqual(ours.parts(file)[0][0], theirs.parts(file)[0][0], file)
        for each in (ours, theirs):
            begin, lines = each.parts("wandb-history.jsonl")[0][0], 0
            for offset, more in each.parts("wandb-history.jsonl"):
                self.assertEqual(offset, begin + lines)
                lines += more

    def test_takt_sync_sends_the_rest_of_a_resumed_and_killed_run(self):
        self.begin_again("one", "allow", True)
        before = list(self.server.run("first").history)
        self.runs = self.scratch / "second-runs"
        self.kill(WANDB_RUN_ID="first", WANDB_RESUME="allow", TAKT_DIR=self.runs)
        self.takt_sync()
        run = self.only_run()
        self.assertEqual(run.history[:len(before)], before)
        self.check_numbers(run.rows())
        self.assertEqual(run.ended, 1)
        losses = [row["takt/step"] for row in run.rows()[len(before):] if "loss" in row]
        self.assertEqual(losses, [*range(len(losses))])

    def test_two_jobs_with_one_id_keep_all_rows_and_the_later_one_owns_the_rest(self):
        for resume in ("allow", ""):
            with self.subTest(resume):
                self.server.runs.clear()
                shutil.rmtree(self.root, ignore_errors=True)
                first, second = (self.scratch / f"{name} {resume}" for name in ("of the first", "of the second"))
                self.runs = first
                self.kill(WANDB_RUN_ID="first", WANDB_RESUME=resume, TAKT_DIR=first)
                sent = list(self.only_run().history)
                self.begin_again(f"two {resume}", resume, True, TAKT_DIR=second)
                run = self.only_run()
                before, summary = list(run.history), dict(run.summary)
                self.assertEqual((before[:len(sent)], run.ended), (sent, 0))
                self.assertIn("another process has written to it", self.takt_sync(directory=first).stderr)
                self.assertEqual((run.history[:len(before)], run.summary, run.ended), (before, summary, 0))
                losses = [row["takt/step"] for row in run.rows() if "loss" in row]
                of_second = losses[sum("loss" in json.loads(row) for row in sent):][:20]
                self.assertEqual(of_second, [*range(20)])
                of_first = [*losses[:losses.index(0, 1)], *losses[losses.index(0, 1) + 20:]]
                self.assertEqual(of_first, [*range(len(of_first))])
                self.assertGreater(len(of_first), 100)
                self.assertEqual(self.server.problems, [])
                self.assertIn("all is delivered", self.takt_sync(directory=first).stdout)

    def test_a_run_with_the_same_id_appends_by_default_like_the_sdk(self):
        self.begin_again("one", "", True)
        before = list(self.only_run().history)
        self.begin_again("two", "", True)
        run = self.only_run()
        self.assertEqual(run.history[:len(before)], before)
        self.assertEqual([json.loads(row, parse_int=int)["_step"] for row in run.history],
                         [*range(len(before)), *range(len(run.history) - len(before))])
        for _ in range(2):
            self.log_with_sdk("official", {}, [{"loss": 1}, {"loss": 2}], WANDB_MODE="online")
        self.assertEqual([row["_step"] for row in self.server.runs["official"].rows()], [0, 1, 0, 1])

    def test_the_stop_button_stops_a_program_that_polls_it(self):
        self.server.run("halt").stopped = True
        ended = self.start("halt", WANDB_DIR=self.scratch, WANDB_MODE="online", WANDB_API_KEY=KEY, WANDB_RUN_ID="halt",
                           WANDB_BASE_URL=self.server.url, NETRC=self.scratch / "none", TAKT_TABLE=0, TAKT_PERIOD_MS=50).end(120)
        self.assertIn("stopped 1", ended.out, ended)
        self.assertIn("a user asked W&B to stop this run", ended.err)
        self.assertEqual(self.server.run("halt").ended, 0)

    def test_program_machine_and_code_equal_those_of_the_sdk(self):
        git = shutil.which("git")
        if git is None:
            self.skipTest("there is no git here to make a repository with")
        code = self.scratch / "code"
        code.mkdir()
        for command in (["init", "-q"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"],
                        ["remote", "add", "origin", "https://me:secret@example.org/a.git"]):
            subprocess.run([git, *command], cwd=code, check=True, capture_output=True, timeout=60 * rig.SLACK)
        who = {"WANDB_MODE": "online", "WANDB_PROJECT": "p"}
        ended = self.start_run(steps=20, WANDB_RUN_ID="ours", prepare=lambda: os.chdir(code), **who).end(120)
        self.assertIn("written 1", ended.out, ended)
        self.log_with_sdk("official", {}, [{"loss": 1}], cwd=code, **{**who, "WANDB_X_DISABLE_META": "false", "WANDB_DISABLE_GIT": "false"},
                          sdk=SDK.replace("x_disable_stats=True, x_disable_meta=True, ", "").replace("disable_git=True,", ""))
        ours, theirs = self.server.runs["ours"], self.server.runs["official"]
        for name in ("commit", "host"):
            self.assertEqual(ours.first(name), theirs.first(name), name)
        self.assertEqual(ours.first("repo"), "https://example.org/a.git")  # the SDK keeps the user name in it
        self.assertEqual(pathlib.Path(ours.first("program")).name, pathlib.Path(rig.PROGRAM).name)
        mine, official = (json.loads(run.files["wandb-metadata.json"]) for run in (ours, theirs))
        self.assertEqual(set(mine) - set(official), set())
        for name in ("cpu_count_logical", "host", "memory"):
            self.assertEqual(mine[name], official[name], name)
        self.assertEqual(mine["git"]["commit"], official["git"]["commit"])
        self.assertEqual(mine["args"][0], "run")
        writer, environment = next(iter(ours.config()[1]["e"].items()))
        self.assertEqual((writer, environment), (mine["writerId"], mine))
        self.assertIn("e", theirs.config()[1])
        self.assertNotIn(b"secret", b"".join(each.body for each in self.server.asked if b"ours" in each.path.encode() + each.body))

    def test_resume_modes_never_and_must_fail_like_in_the_sdk(self):
        self.begin_again("one", "never", True)
        before = list(self.only_run().history)
        ended, directory = self.begin_again("two", "never", False)
        self.assertEqual(self.only_run().history, before)
        self.assertIn("it has a run first, and WANDB_RESUME is never", ended.err)
        self.assertNotEqual(self.sdk_status("first", "never"), 0)
        self.client("sync", "--id", "second", directory)
        self.assertEqual(self.server.runs["first"].history, before)
        losses = [row["takt/step"] for row in self.server.runs["second"].rows() if "loss" in row]
        self.assertEqual(losses, [*range(20)])
        del self.server.runs["first"]
        ended, _ = self.begin_again("three", "must", False)
        self.assertIn("it has no run first, and WANDB_RESUME is must", ended.err)
        self.assertNotIn("first", self.server.runs)
        self.assertNotEqual(self.sdk_status("first", "must"), 0)

    def test_a_failed_run_ends_with_1(self):
        self.run_to_end("failed", steps=20)
        self.assertEqual(self.only_run().ended, 1)

    @unittest.skipUnless(EXAMPLE, "the examples were not built")
    def test_the_digits_example_needs_only_a_key(self):
        said = digits.run(EXAMPLE, TAKT_DIR=self.runs, WANDB_DIR=self.scratch, WANDB_API_KEY=KEY, WANDB_BASE_URL=self.server.url,
                          TAKT_EXIT_MS=60_000)
        self.assertEqual(said, "")
        self.check_digits(self.only_run())

    def test_rows_are_sent_during_the_run(self):
        program = self.start_run(steps=1_000_000, pause_us=1000)
        self.assertTrue(rig.wait_until(lambda: self.server.runs and self.only_run().history))
        self.assertIsNone(program.process.poll())
        self.assertIsNone(self.only_run().ended)
        pathlib.Path(f"{self.given_file}.end").touch()
        self.assertIn("written 1", program.end(120).out)
        self.check_rows(self.only_run().rows(), len(self.given()["row", "Epoch/Batch"]))


if __name__ == "__main__":
    rig.main()
