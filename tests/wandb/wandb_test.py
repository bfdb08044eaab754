# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""A program's data for W&B, read and uploaded by W&B's own client to a server on the loopback."""

import collections
import glob
import importlib.util
import os
import pathlib
import random
import shlex
import shutil
import string
import subprocess
import unittest

from transaction_log import whole_records
from wandb.proto import wandb_internal_pb2
from wandb_case import CLIENT, EXAMPLE, IDENTITY, KEY, OURS, STEPS, WandbCase, digits, logged, rig


class WandbTest(WandbCase):
    def test_a_run_is_uploaded_completely(self):
        self.run_to_end(TAKT_TRACE=1, WANDB_API_KEY=KEY, **IDENTITY)
        for path in self.scratch.rglob("*"):
            if path.is_file():
                self.assertNotIn(KEY.encode(), path.read_bytes(), path)
        run = self.sync()
        self.check_rows(run.rows())
        self.assertIn(":NaN", "".join(run.history))
        self.assertEqual(run.ended, 0)
        self.assertEqual(run.summary["total/time/Epoch/Batch/count"], STEPS)
        self.assertEqual(run.summary["_step"], len(run.history) - 1)
        self.assertIn("runtime", run.summary["_wandb"])
        directory = self.directory()
        for name in OURS:
            self.assertIn(name, run.files)
        for name in ("summary.json", "trace.json"):
            self.assertEqual(run.files[f"takt/{name}"], (directory / name).read_bytes())

    def test_the_sdk_of_wandb_uploads_the_same(self):
        self.run_to_end(**IDENTITY)
        ours = self.sync()
        directory = self.log_with_sdk("official", *logged(ours))
        self.client("sync", *glob.glob(f"{directory}/wandb/offline-run-*-official"))
        self.check_equal(ours, self.server.runs["official"])
        config = ours.config()[0]
        self.assertEqual(config["lr"], 0.25)
        self.assertEqual(config["nesterov"], True)
        self.assertEqual(config["a.b/c"], 'café "x"')
        self.assertEqual(config["tags"], {"purpose": "café"})
        self.assertEqual(ours.first("tags"), ["one", "twö"])

    def test_a_failed_run_exits_with_1(self):
        self.run_to_end("failed", steps=20)
        run = self.sync()
        self.assertEqual(run.ended, 1)
        self.check_rows(run.rows(), 20)

    def test_a_killed_run_is_uploaded_except_for_the_last_period(self):
        program = self.start_run(steps=1_000_000, pause_us=1000)
        self.assertTrue(rig.wait_until(lambda: glob.glob(f"{self.root}/*/*.wandb") and self.log_file().stat().st_size > 150_000))
        program.kill()
        program.end(60)
        run = self.sync(whole=False)
        self.assertEqual(run.ended, 1)
        rows = run.rows()
        self.check_numbers(rows)
        self.assertGreater(len(rows), 100)
        for key in ("loss", "time/Epoch/Batch/step_s"):
            steps = [row["takt/step"] for row in rows if key in row]
            self.assertEqual(steps, list(range(len(steps))), key)
        self.assertIn("loss", run.summary)

    def test_all_complete_records_of_a_truncated_log_are_uploaded(self):
        self.run_to_end()
        log = self.log_file()
        os.truncate(log, log.stat().st_size * 2 // 3)
        run = self.sync(whole=False)
        self.assertEqual(run.ended, 1)
        rows = run.rows()
        self.check_numbers(rows)
        self.assertGreater(len(rows), STEPS // 2)
        self.assertLess(len(rows), STEPS)

    def upload_live(self):
        """Starts to upload as soon as there is a log. Returns the server's data of the run."""
        self.assertTrue(rig.wait_until(lambda: glob.glob(f"{self.root}/*/*.wandb")))
        log = self.log_file()
        live = subprocess.Popen([CLIENT, "beta", "sync", "--live", "--yes", str(log)], env=self.environment(), cwd=self.scratch,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(live.wait)
        self.addCleanup(live.kill)
        return self.server.run(log.stem.removeprefix("run-"))

    def test_a_run_is_uploaded_while_it_is_running(self):
        program = self.start_run(steps=1_000_000, pause_us=5000)
        run = self.upload_live()
        self.assertTrue(rig.wait_until(lambda: len(run.history) > 100, 60))
        self.assertIsNone(program.process.poll())
        self.assertIsNone(run.ended)
        pathlib.Path(f"{self.given_file}.end").touch()
        self.assertIn("written 1", program.end(60).out)
        self.assertTrue(rig.wait_until(lambda: run.ended is not None, 60))
        self.assertEqual(run.ended, 0)
        self.check_rows(run.rows(), len(self.given()["row", "Epoch/Batch"]))

    def test_a_program_killed_during_its_upload_is_uploaded_completely(self):
        program = self.start_run(steps=1_000_000, pause_us=5000)
        run = self.upload_live()
        self.assertTrue(rig.wait_until(lambda: len(run.history) > 100, 60))
        program.kill()
        program.end(60)
        written = len(self.rows_of_log())
        self.assertTrue(rig.wait_until(lambda: len(run.history) >= written, 60), (len(run.history), written))
        self.assertEqual(len(run.history), written)
        self.check_numbers(run.rows())
        self.assertIsNone(run.ended)  # for all the client knows, the run may continue

    def test_ranks_are_runs_in_one_group(self):
        programs = [self.start_run(steps=20, TAKT_RANKS="all", TAKT_RUN_ID="x", TAKT_RANK=rank, TAKT_WORLD_SIZE=2)
                    for rank in range(2)]
        for program in programs:
            self.assertIn("written 1", program.end(60).out)
        self.client("sync", *glob.glob(f"{self.root}/offline-run-*"))
        runs = self.server.runs.values()
        self.assertEqual(sorted(run.first("displayName") for run in runs), ["wandb-test rank-0000", "wandb-test rank-0001"])
        self.assertEqual({run.first("groupName") for run in runs}, {"wandb-test-x"})
        self.assertEqual({run.first("jobType") for run in runs}, {"rank"})
        self.assertEqual([run.ended for run in runs], [0, 0])

    def test_rank_1_writes_nothing_by_itself(self):
        self.run_to_end(steps=5, TAKT_RUN_ID="x", TAKT_RANK=1, TAKT_WORLD_SIZE=2)
        self.assertFalse(self.root.exists())

    def test_disabled_writes_nothing_and_says_nothing(self):
        ended = self.run_to_end(steps=5, WANDB_MODE="disabled")
        self.assertFalse(self.root.exists())
        self.assertEqual(ended.err, "")

    def test_without_a_key_the_command_that_uploads_is_told(self):
        ended = self.run_to_end(steps=5, WANDB_MODE="online", NETRC=self.scratch / "none")
        self.assertEqual(ended.err.count("wandb sync"), 1, ended)
        command = shlex.split(ended.err.strip().rsplit(": ", 1)[1])
        self.assertEqual(command[0], "wandb")
        self.client(*command[1:])
        self.assertEqual([run.ended for run in self.server.runs.values()], [0])

    @unittest.skipUnless(EXAMPLE, "the examples were not built")
    def test_the_digits_example_without_a_key_reports_how_to_upload_it(self):
        said = digits.run(EXAMPLE, TAKT_DIR=self.runs, WANDB_DIR=self.scratch, NETRC=self.scratch / "none")
        self.client(*shlex.split(said.strip().rsplit(": ", 1)[1])[1:])
        self.check_digits(self.server.runs[self.log_file().stem.removeprefix("run-")])

    def test_a_full_disk_causes_one_line_and_the_run_continues(self):
        self.given_file = "/dev/null"  # the limit would affect it as well
        ended = self.start_run(file_bytes=20_000, TAKT_FILES=0).end(60)
        self.assertEqual(ended.status, 0, ended)
        self.assertEqual(ended.err.count("set WANDB_DIR"), 1, ended)
        self.assertIn("written 0", ended.out)
        run = self.sync(whole=False)
        self.check_numbers(run.rows())
        self.assertGreater(len(run.rows()), 10)

    def test_records_of_every_size_are_read_at_every_block_boundary(self):
        directory = self.root / "offline-run-20260101_000000-blocks"
        directory.mkdir(parents=True)
        count = int(self.start("blocks", directory).end(60).out)
        rows = self.sync().rows()
        self.assertEqual([row["_step"] for row in rows], list(range(count)))
        for row in rows:
            begin = int(row["_step"]) % 26
            expected = string.ascii_lowercase[begin:] + string.ascii_lowercase[:begin]
            length = len(row["text"])
            self.assertTrue(row["text"] == (expected * (length // 26 + 1))[:length], row["_step"])
        self.check_with_reader(directory / "run-blocks.wandb", count + 3)

    def check_with_reader(self, log, count):
        self.assertEqual(len(self.read_with_reader(log)), count)

    def client_log(self):
        """Returns the module of W&B's client that read and wrote logs until 0.28."""
        spec = importlib.util.spec_from_file_location("datastore", os.environ["READER"])
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.DataStore()

    def read_with_reader(self, log, cut=False):
        """Reads all records. Fails for a truncated one."""
        store = self.client_log()
        store.open_for_scan(str(log))
        records = []
        try:
            records.extend(iter(store.scan_data, None))
        except AssertionError:
            self.assertTrue(cut)
        finally:
            store.close()
        return records

    def test_a_log_equals_the_clients_byte_by_byte_for_all_record_sizes(self):
        ours, theirs = self.scratch / "ours", self.scratch / "theirs"
        count = int(self.start("chunks", ours).end(60).out)
        records = self.read_with_reader(ours)
        self.assertEqual(len(records), count)
        self.assertLessEqual({0, 1, 6, 7, 8, 100, 32754, 32761, 32768, 65536, 100_000}, {len(each) for each in records})
        store = self.client_log()
        store.open_for_write(str(theirs))
        for number, each in enumerate(records):
            self.assertTrue(each == bytes([number % 256]) * len(each), number)
            store._write_data(each)  # write() takes messages
        store.close()
        self.assertTrue(ours.read_bytes() == theirs.read_bytes())

    def test_complete_records_are_read_wherever_a_program_is_killed(self):
        seed = random.randrange(1 << 32)
        print(f"seed {seed}")
        moments = random.Random(seed)
        for _ in range(10):
            program = self.start_run(steps=1_000_000, pause_us=100, TAKT_PERIOD_MS=10)
            size = moments.randrange(20_000, 400_000)
            self.assertTrue(rig.wait_until(lambda: glob.glob(f"{self.root}/*/*.wandb")))
            log = self.log_file()
            self.assertTrue(rig.wait_until(lambda log=log, size=size: log.stat().st_size > size))
            before = log.read_bytes()
            program.kill()
            program.end(60)
            after = log.read_bytes()
            self.assertEqual(after[:len(before)], before)
            self.assertGreaterEqual(len(whole_records(after)), len(whole_records(before)))
            self.check_whole(log, after)
            # A kill rarely happens during a write, so this simulates it.
            for _ in range(5):
                os.truncate(log, moments.randrange(30_000, len(after)) if len(after) > 30_000 else len(after) - 1)
                self.check_whole(log, log.read_bytes())
                log.write_bytes(after)
            shutil.rmtree(self.root)

    def check_whole(self, log, content):
        records = whole_records(content)
        self.assertEqual(self.read_with_reader(log, cut=True), records)
        parsed = [wandb_internal_pb2.Record.FromString(record) for record in records]
        self.assertEqual([record.num for record in parsed], list(range(1, len(records) + 1)))
        rows = [record.history for record in parsed if record.WhichOneof("record_type") == "history"]
        self.assertEqual([row.step.num for row in rows], list(range(len(rows))))
        losses = [item.value_json for row in rows for item in row.item if item.key == "loss"]
        steps = [item.value_json for row in rows for item in row.item if item.key == "takt/step"
                 and any(other.key == "loss" for other in row.item)]
        self.assertEqual(steps, [str(step) for step in range(len(losses))])

    def test_rows_beyond_the_clients_limit_are_split(self):
        ended = self.start("wide", 50_000, WANDB_DIR=self.scratch, WANDB_MODE="offline").end(60)
        self.assertEqual(ended.status, 0, ended)
        self.assertGreater(self.log_file().stat().st_size, 12_000_000)
        rows = self.sync().rows()
        self.check_numbers(rows)
        found = collections.Counter(name for row in rows for name in row if name.startswith("xxx"))
        self.assertEqual((len(found), set(found.values())), (50_000, {1}))


if __name__ == "__main__":
    rig.main()
