# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""docs/ancestors.md is true: each row of its tables has a check here, which runs the commands that the row names, and
compares the fields of their output. Rows marked GPU are checked as far as a machine without one can."""

import csv
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import unittest

import rig

ROOT = pathlib.Path(__file__).parents[2]
COMMAND = os.environ["COMMAND"]
CHECKS = {}


def rows_of_page():
    """Returns the first cells of the page's tables, without code marks, and their second cells."""
    rows = {}
    for line in (ROOT / "docs" / "ancestors.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("| ") and not line.startswith(("| it has |", "| it prints |")):
            first, second = line.strip("|").split(" | ")
            rows[first.strip().replace("`", "")] = second.strip()
    return rows


def table_in(text):
    """Returns the lines of the table of regions."""
    return re.search(r"(?ms)^region  .*?(?=^\n|\Z)", text)[0].splitlines()


def row(first):
    """Declares the check of a row."""
    def declare(check):
        assert first not in CHECKS, first
        CHECKS[first] = check
        return check
    return declare


def declared_in(header, *names):
    """Returns true if a public header declares all names."""
    text = (ROOT / header).read_text(encoding="utf-8")
    return all(re.search(rf"\b{name}\b", text) for name in names)


class Ancestors(rig.Case):
    def example(self, name, *arguments, status=0, **env):
        """Runs another example than the first argument's, and returns its output."""
        program = pathlib.Path(rig.PROGRAM).parent / f"example_{name}"
        done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=120 * rig.SLACK,
                              env=rig.environment(TAKT_DIR=self.runs, **env), stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def takt(self, *arguments, status=0):
        done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=60 * rig.SLACK)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def digits(self, **env):
        """Runs the example of the digits. Returns its output."""
        return self.run_program("--epochs", 2, timeout=120, **env).out

    def report(self):
        return json.loads(self.takt("report", "--json", self.runs))["runs"][0]

    def proxy(self, *arguments):
        """Runs the inference proxy on 100 samples. Returns its output."""
        data = self.scratch / "mesh"
        subprocess.run([sys.executable, ROOT / "examples" / "make_mesh_data.py", data, "--nodes", "100"], check=True, timeout=120)
        return self.example("22_inference_proxy", data, *arguments)

    def trials_of(self, directory):
        return json.loads((directory / "trials.json").read_text(encoding="utf-8"))

    def ranks_with_trials(self, ranks):
        """Runs the example with trials on some ranks. Returns the run's directory."""
        name = f"of-{ranks}"
        started = [self.start(TAKT_TRIALS="all", TAKT_RUN_ID=name, TAKT_RANK=rank, TAKT_WORLD_SIZE=ranks) for rank in range(ranks)]
        for each in started:
            self.assertEqual(each.end(120).status, 0)
        run, = self.runs.glob(f"*{name}")
        return run

    def test_each_row_has_a_check(self):
        self.assertEqual(set(rows_of_page()), set(CHECKS))

    def test_commands_named_on_the_page_exist(self):
        for second in rows_of_page().values():
            for name in re.findall(r"`takt ([a-z-]+)", second):
                with self.subTest(name=name):
                    self.takt("help", name)


def make_test(first, check):
    def test(self):
        check(self)
    test.__doc__ = first
    return test


@row("keys Epoch, Batch, Forward, Backward, Comm, IO, Other")
def keys(self):
    self.assertTrue(declared_in("include/takt/key.hpp", "Epoch", "Batch", "Forward", "Backward", "Comm", "IO", "Other", "Optimizer",
                                "Validation", "Checkpoint"))
    self.digits()
    self.assertLessEqual({"Epoch", "Batch", "IO", "Forward", "Backward"}, {each["name"] for each in self.summary()["keys"]})


@row("start(key), end(key)")
def start_and_end(self):
    self.assertIn("n 4, mean 2.500 ms, stdev 1.291 ms, min 1.0 ms, max 4.0 ms, p50 2.5 ms", self.example("06_timer_manual"))


@row("CPU timer, CUDA events; HIP announced")
def backends(self):
    for kind, name in (("cpu", "CpuBackend"), ("cuda", "CudaBackend"), ("hip", "HipBackend")):
        self.assertTrue(declared_in(f"backends/include/takt/backends/{kind}.hpp", name))


@row("mean, median, min, max, stdev")
def statistics(self):
    self.digits()
    heads = table_in(self.takt("report", "--columns", "n,mean,p50,min,max,stdev", self.runs))[0].split()
    self.assertEqual(heads, ["region", "n", "mean", "p50", "min", "max", "stdev"])
    for path in self.summary()["paths"]:
        self.assertLessEqual({"n", "mean_ns", "p50_ns", "min_ns", "max_ns", "stdev_ns"}, set(path["host"]))


@row("print, save")
def print_and_save(self):
    table = table_in(self.digits())
    names = {file.name for file in self.directory().iterdir()}
    self.assertLessEqual({"summary.json", "steps.csv", "journal-00000.tjl"}, names)
    self.assertEqual([line.split()[:2] for line in table_in(self.takt("report", self.runs))], [line.split()[:2] for line in table])


@row("means to MLflow (Mantik) and W&B")
def trackers(self):
    text = self.takt("help", "sync")
    for name in ("mlflow", "mantik", "wandb"):
        self.assertIn(name, text.lower())


@row("throughput of the loader (IO), of the model (SYNTHETIC), of both (FULL)")
def throughput(self):
    out = self.digits(TAKT_TRIALS="all")
    rates = {each["kind"]: each["per_s"] for each in self.trials_of(self.directory())["kinds"]}
    heads = re.search(r"(?m)^trial +samples/s", out)
    self.assertTrue(heads, out)
    for kind in ("IO", "SYNTHETIC", "FULL"):
        self.assertGreater(rates[kind], 0)
        self.assertRegex(out, rf"(?m)^{kind} +[\d.]+")


@row("NVTX ranges, also of the loader")
def nvtx(self):
    self.assertTrue(declared_in("exporters/include/takt/exporters/nvtx.hpp", "NvtxRanges"))  # tests/ranges reads ranges


@row("ntrials, nwarmup, report_freq")
def trial_counts(self):
    ended = self.run_program(TAKT_TRIALS="all", TAKT_TRIALS_COUNT=2, TAKT_TRIALS_WARMUP=2, TAKT_TRIALS_PROGRESS=50, timeout=120)
    self.assertRegex(ended.err, "FULL.*samples/s")
    for each in self.trials_of(self.directory())["kinds"]:
        self.assertEqual((each["trials"], len(each["each"])), (2, 2))


@row("profiler start and stop around selected trials, on no, one or all ranks")
def window(self):
    self.assertTrue(declared_in("backends/include/takt/backends/profiler_window.hpp", "ProfilerWindow"))
    self.assertIn("TAKT_PROFILER_RANK", (ROOT / "docs" / "environment.md").read_text(encoding="utf-8"))


@row("results as JSON")
def results(self):
    self.digits(TAKT_TRIALS="all")
    kinds = self.trials_of(self.directory())["kinds"]
    self.assertEqual({each["kind"] for each in kinds}, {"IO", "SYNTHETIC", "FULL"})
    for trial in (trial for each in kinds for trial in each["each"]):
        self.assertAlmostEqual(trial["per_s"] * trial["ns"] / 1e9, trial["items"], delta=0.51)  # IO counts batches; items are rounded
    self.assertIn('"FULL"', json.dumps(self.report()))


@row("scaling of IO, SYNTHETIC, FULL: efficiency, communication overhead")
def scaling(self):
    runs = [self.ranks_with_trials(ranks) for ranks in (1, 2)]
    rates = [{each["kind"]: each["per_s"] for each in self.trials_of(next(run.glob("rank-0-*")))["kinds"]} for run in runs]
    found = {}
    for group in json.loads(self.takt("scaling", "--json", *runs))["trials"]:
        for run in group["runs"]:
            found[run["path"].split()[-1], run["ranks"]] = run
    self.assertEqual(set(found), {(kind, ranks) for kind in ("IO", "SYNTHETIC", "FULL") for ranks in (1, 2)})
    for kind in ("IO", "SYNTHETIC", "FULL"):
        one, two = found[kind, 1], found[kind, 2]
        self.assertAlmostEqual(one["items_per_s"] / rates[0][kind], 1, places=9)
        self.assertAlmostEqual(two["efficiency"], two["items_per_s"] / one["items_per_s"] / 2, places=9)
    self.assertIn("--without-communication", self.takt("help", "scaling"))
    page = self.scratch / "scaling.html"
    self.takt("scaling", "--html", page, *runs)
    data = json.loads(re.search(r'id="data">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)[1])
    drawn = {(line["name"], run["ranks"]): run["rate"] for line in data["lines"] for run in line["runs"]}
    for (kind, ranks), run in found.items():
        self.assertEqual(drawn[kind, ranks], run["items_per_s"])


@row("its times, throughput, shape; SCC and SCCN for ShockTube and Hohlraum")
def proxy(self):
    out = self.proxy("--percent", 50, "--cycles", 2)
    for text in ("time for inference", "data throughput", "output data shape (50,)", "problem    slack ms/cycle", "ShockTube", "Hohlraum"):
        self.assertIn(text, out)
    self.assertTrue(declared_in("include/takt/exporters/slack.hpp", "SlackUse", "coverage", "node_coverage"))


@row("directory of .npy files, percent, batch size, cycles, pinned memory, synchronisation")
def proxy_input(self):
    out = self.proxy("--percent", 10, "--cycles", 3, "--batch", 5)
    self.assertIn("input: 100 samples from 1 file as (samples, 5 metrics, 10 steps)", out)
    self.assertEqual(rig.calls(self.summary(), "Batch"), 3)
    self.assertEqual(rig.calls(self.summary(), "Batch/Inference"), 6)


@row("TorchScript model, device")
def proxy_model(self):
    self.proxy("--device", "cpu")  # torch.proxy runs a model


@row("GPU memory and utilisation; distributed")
def proxy_sensors(self):
    self.assertIn("TAKT_SAMPLE_MS", (ROOT / "docs" / "environment.md").read_text(encoding="utf-8"))


@row("data parallel, half precision")
def proxy_without(self):
    self.assertEqual(rows_of_page()["data parallel, half precision"], "–")


@row("steps/s, images/s")
def rates(self):
    out = self.digits()
    self.assertRegex(out, r"Batch on main: [\d .M]+ samples/s, .* steps/s")
    self.assertIn("samples/s", self.takt("ls", self.runs))


@row("timestamps of each step")
def stamps(self):
    self.digits()
    mine = [int(each["begin_ns"]) for each in self.steps() if each["path"].endswith("/Forward")]
    theirs = [int(each["begin_ns"]) for each in csv.DictReader(self.takt("report", "--steps", self.runs).splitlines())
              if each["path"].endswith("Batch/Forward")]
    self.assertTrue(mine)
    self.assertEqual(mine, sorted(mine))
    self.assertEqual(mine, theirs)


@row("separate IO and communication")
def kinds(self):
    self.digits()
    self.assertIn(("IO", "io"), {(each["name"], each["kind"]) for each in self.summary()["keys"]})
    self.assertTrue(declared_in("include/takt/key.hpp", "Comm"))


@row("load balance of threads")
def threads(self):
    self.digits()
    heads = table_in(self.takt("report", "--columns", "threads,thread_mean,thread_max", self.runs))[0]
    self.assertRegex(heads, r"^region +threads +thread[ _]mean +thread[ _]max$")
    for path in self.summary()["paths"]:  # all regions are of one thread here; thread_spread_test has several
        self.assertEqual((path["threads"]["n"], path["threads"]["max_ns"]), (1, path["threads"]["mean_ns"]))


@row("memory of a node of the graph")
def memory(self):
    self.assertTrue(declared_in("include/takt/memory.hpp", "MemoryScope", "set_allocator_memory"))


@row("time lines of single steps")
def time_lines(self):
    self.digits(TAKT_TRACE=1)
    whole = json.loads((self.directory() / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    merged = self.scratch / "job.json"
    self.takt("trace", "-o", merged, self.runs)
    batches = [sum(event.get("name") == "Batch" and event.get("ph") == "X" for event in events)
               for events in (whole, json.loads(merged.read_text(encoding="utf-8"))["traceEvents"])]
    self.assertGreater(batches[0], 0)
    self.assertEqual(*batches)


def measured(self):
    """Runs the example that measures. Returns its output and results.csv's rows by name."""
    out = self.example("25_measure")
    with open(self.directory() / "results.csv", newline="", encoding="utf-8") as file:
        return out, {each["name"]: each for each in csv.DictReader(file)}


@row("latency, memory, energy of a model: 5 warm-up runs, 30 measured")
def measuring(self):
    out, rows = measured(self)
    for batch in (1, 8, 64):
        each = rows[f"layer, batch {batch}"]
        self.assertEqual((each["warmup"], each["runs"]), ("5", "30"))
        self.assertIn(f"batch {batch}: {float(each['median_ms']):.3f} ms", out)
        self.assertLessEqual({"latency_ms", "memory_mb", "energy_j"}, set(each))


@row("the MIG profile that fits, shares of profiles")
def mig(self):
    _, rows = measured(self)
    self.assertLessEqual({"mig_profile", "mig_1g", "mig_7g"}, set(rows["layer, batch 1"]))
    self.assertTrue(declared_in("include/takt/models.hpp", "mig_profile"))


@row("predicted latency, memory, energy")
def predicting(self):
    _, rows = measured(self)
    low, high = (float(rows[f"layer, batch {batch}"]["latency_ms"]) for batch in (8, 64))
    by_hand = math.exp(math.log(low) + (math.log(high) - math.log(low)) * math.log(24 / 8) / math.log(64 / 8))
    found, = csv.DictReader(self.takt("predict", self.runs, "--at", "batch=24", "--csv").splitlines())
    self.assertAlmostEqual(float(found["latency_ms"]) / by_hand, 1, places=9)
    self.takt("predict", self.runs, "--at", "batch=100", status=1)


@row("error of a predictor, in percent")
def checking(self):
    _, rows = measured(self)
    file = self.scratch / "predictions.csv"
    name, latency = "layer, batch 8", float(rows["layer, batch 8"]["latency_ms"])
    file.write_text(f'name,latency_ms\n"{name}",{latency * 1.25}\n', encoding="utf-8")
    self.assertIn("25.00 %", self.takt("predict-check", file, self.runs))
    self.assertTrue(declared_in("include/takt/models.hpp", "prediction_error"))


for number, (first, check) in enumerate(CHECKS.items()):
    setattr(Ancestors, f"test_row_{number:02}_{check.__name__}", make_test(first, check))


if __name__ == "__main__":
    rig.main()
