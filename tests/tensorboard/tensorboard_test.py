# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""A program's data for TensorBoard, and the data that `takt sync` writes from its journal, read by TensorBoard
itself."""

import collections
import csv
import io
import itertools
import json
import os
import pathlib
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))
import numpy  # noqa: E402
import rig  # noqa: E402
from tensorboard.backend.event_processing import event_accumulator, event_file_loader  # noqa: E402

COMMAND = os.environ.get("COMMAND")
STEPS = 300
ALL = {"scalars": 0, "histograms": 0, "compressedHistograms": 1, "tensors": 0, "images": 1, "audio": 1}
NAMES = ("loss", "val/mAP@0.5", "größe 🚀")


def as_float(value):
    """As text, so that NaN equals NaN; values outside the range of a float are infinite."""
    with numpy.errstate(over="ignore", under="ignore"):
        return repr(numpy.float32(value))


def edges_of(summary):
    """Returns (lower edge, count) of the buckets of a summary of Takt's, as floats of seconds."""
    return [(as_float(lowest / 1e9), count) for lowest, count in summary["histogram"]]


class TensorboardTest(rig.Case):
    def setUp(self):
        super().setUp()
        self.given_file = self.scratch / "given"

    def start_run(self, how, steps=STEPS, pause_us=100, **env):
        return self.start(self.given_file, steps, pause_us, how,
                          **{"TAKT_TABLE": 0, "TAKT_PERIOD_MS": 50, "TAKT_EXIT_MS": 60_000, **env})

    def run_to_end(self, how, **more):
        ended = self.start_run(how, **more).end(120)
        self.assertEqual(ended.status, 0, ended)
        self.assertIn("written 1", ended.out, ended)
        self.assertEqual(ended.err, "")

    def kill_when_it_has(self, size, how):
        """Kills a program when its event file or journal has reached a size."""
        program = self.start_run(how, steps=1_000_000, pause_us=1000)
        what = "*/rank-*/tensorboard/events*" if how != "without" else "*/rank-*/journal-*"
        self.assertTrue(rig.wait_until(lambda: any(each.stat().st_size > size for each in self.runs.glob(what))))
        program.kill()
        program.end(60)

    def sync(self, *options, status=0, **env):
        done = subprocess.run([COMMAND, "sync", "--to", "tensorboard", *options, str(self.runs)], text=True, check=False,
                              capture_output=True, timeout=120 * rig.SLACK, env=rig.environment(**env))
        self.assertEqual(done.returncode, status, done)
        return done.stdout + done.stderr

    def event_file(self, directory=None):
        files = [each for each in (directory or self.directory() / "tensorboard").rglob("*") if each.is_file()]
        self.assertEqual(len(files), 1, files)
        return files[0]

    def read(self, file=None):
        """Reads with the class that scripts use: tag -> [(step, wall time, value)], and the histograms."""
        accumulator = event_accumulator.EventAccumulator(str(file or self.event_file()), size_guidance=ALL)
        with self.assertNoLogs("tensorboard", "WARNING"):
            accumulator.Reload()
        tags = accumulator.Tags()
        self.assertLessEqual({name for name, there in tags.items() if there}, {"scalars", "histograms", "distributions"})
        return ({tag: [(each.step, each.wall_time, as_float(each.value)) for each in accumulator.Scalars(tag)]
                 for tag in tags["scalars"]},
                {tag: accumulator.Histograms(tag) for tag in tags["histograms"]})

    def given(self):
        """Returns the program's own record of its data, in the same form."""
        values = collections.defaultdict(list)
        for line in self.given_file.read_text(encoding="utf-8").splitlines():
            step, time_ms, bits, name = line.split(" ", 3)
            value = struct.unpack("<d", struct.pack("<Q", int(bits, 16)))[0]
            values[name].append((int(step), int(time_ms) / 1e3, as_float(value)))
        return values

    def check_totals(self, scalars, summary):
        for number, path in enumerate(summary["paths"]):
            host, stem = path["host"], f"total/time/{path['path']}"
            open_ns = sum(each["open_ns"] for each in summary["open"] if each["path"] == number)
            self.assertEqual(scalars[f"{stem}/count"][0][2], as_float(host["n"]))
            for name in ("mean", "p50", "max", "total"):
                value = host[f"{name}_ns"]
                if name == "total":
                    value += open_ns
                self.assertEqual([each[2] for each in scalars.get(f"{stem}/{name}_s", [])],
                                 [] if value is None else [as_float(value / 1e9)], f"{stem} {name}")
        self.assertEqual(scalars["total/wall_s"][0][2], as_float(summary["wall_ns"] / 1e9))

    def check_histograms(self, histograms, summary):
        """Checks for the same buckets as in summary.json, and that empty ones are left out."""
        measured = {path["path"]: path["host"] for path in summary["paths"] if path["host"]["histogram"]}
        self.assertEqual(set(histograms), {f"total/durations/time/{path}" for path in measured})
        for path, host in measured.items():
            events = histograms[f"total/durations/time/{path}"]
            self.assertEqual(len(events), 1)
            value = events[0].histogram_value
            self.assertEqual(value.num, host["n"] - host["warmup_n"])
            for found, ns in ((value.min, host["min_ns"]), (value.max, host["max_ns"]),
                              (value.sum, host["total_ns"] - host["warmup_total_ns"])):
                self.assertAlmostEqual(found, ns / 1e9, delta=1e-15 * ns)
            lowest = [host["histogram"][0][0] / 1e9, *value.bucket_limit]
            self.assertEqual([(as_float(low), count) for low, count in zip(lowest, value.bucket) if count], edges_of(host), path)
            self.assertTrue(all(low < high for low, high in zip(lowest, lowest[1:])), lowest)

    def check_whole(self, file=None):
        """Checks that everything the program recorded is there once, with its step and time."""
        scalars, histograms = self.read(file)
        given, summary = self.given(), self.summary()
        self.assertLessEqual(set(NAMES), set(given))
        for name, values in given.items():
            self.assertEqual(scalars[name], values, name)
        self.assertEqual({name for name in scalars if name not in given and not name.startswith(("total/", "throughput/"))}, set())
        self.check_totals(scalars, summary)
        self.check_histograms(histograms, summary)
        self.assertLess(abs(scalars["total/wall_s"][0][1] - summary["run"]["start_unix_ns"] / 1e9 - summary["wall_ns"] / 1e9), 0.002)

    def test_every_value_of_a_run_is_read_back(self):
        self.run_to_end("every_step")
        self.check_whole()
        loaded = list(event_file_loader.EventFileLoader(str(self.event_file())).Load())
        self.assertEqual(loaded[0].file_version, "brain.Event:2")
        self.assertEqual({each.summary.value[0].metadata.plugin_data.plugin_name for each in loaded[1:]}, {"scalars", "histograms"})

    def test_windows_and_totals_of_a_run_are_read_back(self):
        self.run_to_end("windows")
        scalars, histograms = self.read()
        summary = self.summary()
        for name in NAMES:
            self.assertEqual(scalars[name], self.given()[name])
        self.check_totals(scalars, summary)
        self.check_histograms(histograms, summary)
        steps = [value for name, values in self.given().items() if name == "time/Epoch/Batch/step_s" for value in values]
        self.assertEqual(scalars["time/Epoch/Batch/count"], [(STEPS - 1, steps[-1][1], as_float(STEPS))])

    def through_server(self, directory):
        """The server is a child of the script and ends with its process group."""
        script = str(pathlib.Path(__file__).with_name("through_server.py"))
        started = rig.Started([sys.executable, script, str(directory)], rig.environment(), subprocess.DEVNULL, subprocess.PIPE,
                              64 * rig.MIB, None)
        self.addCleanup(started.kill)
        try:
            out, err = started.process.communicate(timeout=120 * rig.SLACK)
        finally:
            started.kill()  # the server, too
        self.assertEqual((started.process.returncode, err), (0, ""), out[:1000])
        return json.loads(out)

    def test_the_server_of_tensorboard_shows_the_same(self):
        logdir = self.scratch / "log dir"
        self.run_to_end("every_step", TAKT_TENSORBOARD_DIR=logdir, TAKT_RUN_ID="x")
        scalars, histograms = self.read(self.event_file(logdir))
        runs = self.through_server(logdir)
        self.assertEqual(list(runs), [f"tensorboard-test-x/{self.directory().name}"])
        [run] = runs.values()
        self.assertEqual({tag: [(step, time, as_float(value)) for step, time, value in values]
                          for tag, values in run["scalars"].items()}, scalars)
        self.assertEqual(set(run["histograms"]), set(histograms))
        for path in self.summary()["paths"]:
            if path["host"]["histogram"]:
                [[_, _, bins]] = run["histograms"][f"total/durations/time/{path['path']}"]
                self.assertTrue(all(left <= right for left, right, _ in bins), bins)
                counts = [(as_float(left), count) for left, _, count in bins if count]
                expected = edges_of(path["host"])
                self.assertEqual(counts[1:], expected[1:])  # the first one starts at the minimum
                self.assertEqual(counts[0], (as_float(path["host"]["min_ns"] / 1e9), expected[0][1]))
                self.assertEqual(as_float(bins[-1][1]), as_float(path["host"]["max_ns"] / 1e9))

    def test_a_run_is_read_while_it_is_running(self):
        program = self.start_run("every_step", steps=1_000_000, pause_us=1000)
        self.assertTrue(rig.wait_until(lambda: any(self.runs.glob("*/rank-*/tensorboard/events*"))))
        loader = event_file_loader.EventFileLoader(str(self.event_file()))
        found = []
        # 1000 at a time: Load() does not end while the program writes faster than this reads.
        self.assertTrue(rig.wait_until(lambda: found.extend(itertools.islice(loader.Load(), 1000)) or len(found) > 1000))
        self.assertIsNone(program.process.poll())
        pathlib.Path(f"{self.given_file}.end").touch()
        ended = program.end(60)
        self.assertIn("written 1", ended.out, ended)
        self.check_whole()

    def test_a_killed_run_is_read_except_for_the_last_period(self):
        self.kill_when_it_has(150_000, "every_step")
        scalars, _ = self.read()
        for name in ("loss", "time/Epoch/Batch/step_s"):
            self.assertGreater(len(scalars[name]), 100)
            self.assertEqual([each[0] for each in scalars[name]], list(range(len(scalars[name]))))

    def journal_rows(self):
        """Returns tag -> {step: seconds} from `takt report`."""
        done = subprocess.run([COMMAND, "report", "--steps", str(self.directory())], text=True, check=True, capture_output=True,
                              timeout=60 * rig.SLACK)
        values = collections.defaultdict(dict)
        for row in csv.DictReader(io.StringIO(done.stdout)):
            values[f"time/{row['batch_path']}/step_s"][int(row["step"])] = as_float(int(row["batch_ns"]) / 1e9)
            values[f"time/{row['path']}/step_s"][int(row["step"])] = as_float(int(row["host_ns"]) / 1e9)
        return values

    def journal_summary(self):
        done = subprocess.run([COMMAND, "report", "--json", str(self.directory())], text=True, check=True, capture_output=True,
                              timeout=60 * rig.SLACK)
        return json.loads(done.stdout)["runs"][0]["summary"]

    def check_journal(self, file=None):
        """Checks that the event file has all data of the journal."""
        scalars, histograms = self.read(file)
        rows = self.journal_rows()
        self.assertGreater(len(rows["time/Epoch/Batch/step_s"]), 50)
        for tag, values in rows.items():
            self.assertEqual([(step, value) for step, _, value in scalars[tag]], sorted(values.items()), tag)
        self.check_totals(scalars, self.journal_summary())
        self.check_histograms(histograms, self.journal_summary())
        return scalars

    @unittest.skipUnless(COMMAND, "without the command")
    def test_a_killed_run_is_completed_from_its_journal_and_only_once(self):
        self.kill_when_it_has(150_000, "every_step")
        before, _ = self.read()
        os.truncate(self.event_file(), 100_000)  # it may be a period ahead of the journal, and would not change
        self.assertIn("values are in", self.sync())
        after = self.check_journal()
        for tag, values in before.items():  # the journal may be behind by a period
            self.assertEqual(after[tag][:len(values)], values[:len(after[tag])], tag)
        whole, status = self.event_file().read_bytes(), self.event_file().stat()
        self.sync()
        self.assertEqual(self.event_file().read_bytes(), whole)
        self.assertEqual(self.event_file().stat().st_ino, status.st_ino)

    @unittest.skipUnless(COMMAND, "without the command")
    def test_a_run_without_the_exporter_is_written_completely(self):
        self.run_to_end("without")
        self.sync("--every-step")
        self.check_whole()
        self.check_journal()

    @unittest.skipUnless(COMMAND, "without the command")
    def test_a_killed_run_without_the_exporter_is_written(self):
        self.kill_when_it_has(20_000, "without")
        logdir = self.scratch / "log dir"
        self.sync("--every-step", TAKT_TENSORBOARD_DIR=logdir)
        self.check_journal(self.event_file(logdir))

    @unittest.skipUnless(COMMAND, "without the command")
    def test_complete_files_and_files_with_more_than_the_journal_are_kept(self):
        self.run_to_end("every_step")
        whole, number = self.event_file().read_bytes(), self.event_file().stat().st_ino
        self.assertIn("values are in", self.sync())
        self.assertEqual((self.event_file().read_bytes(), self.event_file().stat().st_ino), (whole, number))
        journal = next(self.directory().glob("journal-*"))
        os.truncate(journal, journal.stat().st_size // 2)
        self.assertIn("has more data than the journal", self.sync(status=4))
        self.assertEqual(self.event_file().read_bytes(), whole)

    @unittest.skipUnless(COMMAND, "without the command")
    def test_the_file_of_a_running_program_is_not_changed(self):
        program = self.start_run("every_step", steps=1_000_000, pause_us=1000)
        self.assertTrue(rig.wait_until(lambda: any(self.runs.glob("*/rank-*/tensorboard/events*"))))
        number = self.event_file().stat().st_ino
        self.sync(status=3)
        pathlib.Path(f"{self.given_file}.end").touch()
        program.end(60)
        self.assertEqual(self.event_file().stat().st_ino, number)
        self.check_whole()

    @unittest.skipUnless(COMMAND, "without the command")
    def test_a_running_program_without_the_exporter_is_written_so_far(self):
        program = self.start_run("without", steps=1_000_000, pause_us=1000)
        self.assertTrue(rig.wait_until(lambda: any(each.stat().st_size > 20_000 for each in self.runs.glob("*/rank-*/journal-*"))))
        self.assertIn("so far; the run is still running", self.sync("--every-step", status=3))
        self.assertGreater(len(self.read()[0]["loss"]), 10)
        pathlib.Path(f"{self.given_file}.end").touch()
        program.end(60)
        self.sync()  # with every step, as it was started
        self.check_whole()

    @unittest.skipUnless(COMMAND, "without the command")
    def test_the_comparison_of_ranks_is_shown_with_the_run_of_rank_0(self):
        programs = [self.start_run("every_step" if rank == 0 else "without", TAKT_RUN_ID="x", TAKT_RANK=rank, TAKT_WORLD_SIZE=3)
                    for rank in range(3)]
        for program in programs:
            self.assertEqual(program.end(120).status, 0)
        directory = next(self.runs.glob("*/rank-0-*")) / "tensorboard"
        before, _ = self.read(directory)
        running = event_accumulator.EventAccumulator(str(directory), size_guidance=ALL)
        running.Reload()
        self.sync()
        expected = self.job(COMMAND)
        self.assertIn("total/ranks/time/Epoch/Batch/ns::f<int>/slowest_rank", expected)
        scalars, _ = self.read(directory)
        self.assertEqual(set(scalars), {*before, *expected})
        for name, value in expected.items():
            self.assertEqual([(step, each) for step, _, each in scalars[name]], [(STEPS - 1, as_float(value))], name)
        running.Reload()  # it reads files in the order of their names and never goes back
        self.assertEqual(set(running.Tags()["scalars"]), set(scalars))
        [run] = self.through_server(directory).values()
        self.assertEqual({tag: [(step, time, as_float(value)) for step, time, value in values]
                          for tag, values in run["scalars"].items()}, scalars)
        files = {each.name: each.read_bytes() for each in directory.iterdir()}
        self.sync()
        self.assertEqual({each.name: each.read_bytes() for each in directory.iterdir()}, files)


if __name__ == "__main__":
    rig.main()
