# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Tests scripts/device-check.sh and its checks without a GPU, also on a simulated one: gpu_check_test.py <build
directory> <program of device_test.py> [<checks on the simulation>]"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

BUILD, PROGRAM, *SIMULATED = map(os.path.abspath, sys.argv[1:])
DEVICE = os.path.dirname(PROGRAM)
COUNTER = f"{DEVICE}/libcount_calls.so"
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import gpu_check
import gpu_clock
import gpu_machine
ROOT = HERE.parent.parent

TORCH = (HERE / "fake_torch.py").read_text(encoding="utf-8")
# Fake gpu_check: each check prints one line, and FAKE selects an error.
CHECK = r"""#!/bin/sh
line() { printf 'G0\t%s\t1\t%s\t%s\n' "$1" "$2" "$3"; }
case $1:$2 in
  device:) printf 'device\tMarble\n' ;;
  faults:dependent_launch) line "$*" 1 pass ;;
  faults:*)
    last=cudaSuccess
    if [ "$FAKE" = "$2" ] && [ "$TAKT_DISABLE" = 0 ]; then last=changed; fi
    printf 'stream: cudaSuccess\nlast error: %s\n' "$last" ;;
  *)
    if [ -n "$1" ] && [ "$FAKE" = "$1" ]; then line "$*" 2 fail; else line "$*" 1 pass; fi
    if [ "$FAKE" = copy ] && [ -e "$PAGE" ]; then cp "$PAGE" "$KEPT"; fi
    if [ "$FAKE" = "$1 dies" ]; then kill -ABRT $$; fi ;;
esac
"""
TRAINING = "#!/bin/sh\n"


class Script(unittest.TestCase):
    def script(self, *arguments, **env):
        # The tests must not keep a real GPU busy.
        return subprocess.run(["bash", str(ROOT / "scripts" / "device-check.sh"), *arguments], capture_output=True, text=True,
                              env={**os.environ, "CUDA_VISIBLE_DEVICES": "", **env}, timeout=60, check=False)

    def test_without_a_gpu_it_says_so(self):
        if not os.access(f"{BUILD}/tests/device/gpu_check", os.X_OK):
            self.skipTest("built without nvcc")
        ended = self.script("--built", BUILD)
        self.assertEqual((ended.returncode, ended.stderr), (77, ""))
        self.assertRegex(ended.stdout, r"^no GPU: nothing was run \([^\n]+\)\n$")

    def test_without_the_checks_it_says_so(self):
        with tempfile.TemporaryDirectory() as empty:
            ended = self.script("--built", empty)
        self.assertEqual(ended.returncode, 77)
        self.assertIn("without nvcc", ended.stdout)

    def test_unknown_arguments_are_errors(self):
        self.assertEqual(self.script("--fast").returncode, 2)


class Table(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="takt-test-")
        self.addCleanup(scratch.cleanup)
        self.pack = pathlib.Path(scratch.name)
        self.page = self.pack / "page.md"
        for path, text in (("bin/gpu_check", CHECK), ("bin/gpu_probe", CHECK), ("bin/gpu_training", TRAINING)):
            (self.pack / path).parent.mkdir(exist_ok=True)
            (self.pack / path).write_text(text, encoding="utf-8")
            (self.pack / path).chmod(0o755)
        (self.pack / "gpu_torch.py").write_text("print('G0\\ttorch\\t1\\t1\\tpass')", encoding="utf-8")
        (self.pack / "lib").mkdir()
        (self.pack / "lib/libcount_calls.so").symlink_to(COUNTER)

    def run_it(self, *options, fake="", **env):
        command = [sys.executable, "-B", str(HERE / "gpu_check.py"), str(self.pack), "--write", str(self.page), *options]
        return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "FAKE": fake, **env}, timeout=60, check=False)

    def test_all_checks_pass(self):
        ended = self.run_it()
        self.assertEqual(ended.returncode, 0, ended)
        self.assertIn("device: Marble", ended.stdout)
        self.assertRegex(ended.stdout, r"\ncheck +what +expected +measured +verdict\n")
        for what in ("cost", "spans", "hip_spans", "captures", "soak 1000000", "faults dependent_launch"):
            self.assertRegex(ended.stdout, rf"\nG0 +{what} *1 +1 +pass\n")
        self.assertRegex(ended.stdout, r"\nG10 +steps 100, CUDA_DEVICE_MAX_CONNECTIONS=1 +1 +1 +pass\n")
        self.assertIn(", 0 not right\n", ended.stdout)
        page = self.page.read_text(encoding="utf-8")
        self.assertIn("* device: Marble", page)
        self.assertIn("* date: 2", page)
        self.assertIn("| G0 | soak 1000000 | 1 | 1 | pass |", page)
        self.assertIn(", 0 not, ", page)
        self.assertNotIn("Not finished", page)

    def test_one_error_fails(self):
        for fake, found in (("captures", r"G0 +captures +1 +2 +fail"),
                            ("soak dies", r"gpu_check soak 1000000 +ends with 0 +-6: \S.* fail"),
                            ("reset", r"cudaDeviceReset\(\): what the application sees .* 'last error: changed'.* fail")):
            with self.subTest(fake):
                ended = self.run_it(fake=fake)
                self.assertEqual(ended.returncode, 1, ended)
                self.assertRegex(ended.stdout, found)
                self.assertIn("\n", self.page.read_text(encoding="utf-8"))
                self.assertRegex(ended.stdout, r", 1 not right\n")

    def test_checks_are_selected_by_name_or_number(self):
        for options, whats in ((["--only", "G8"], {"captures"}), (["--only", "cost,G7"], {"cost", "default_streams"}),
                               (["--only", "G11"], {"soak 10000000", "stuck"})):
            with self.subTest(options):
                ended = self.run_it(*options)
                self.assertEqual(ended.returncode, 0, ended)
                self.assertEqual(set(re.findall(r"\nG0 +(\S+(?: \d+)?)  ", ended.stdout)), whats)
        ended = self.run_it("--only", "G8,G99")
        self.assertEqual((ended.returncode, ended.stdout), (1, ""))
        self.assertRegex(ended.stderr, r"^there is no check G99; there are .*captures")

    def test_results_are_written_before_the_next_check_starts(self):
        """A fake check finds the page with the earlier checks and copies it."""
        kept = self.pack / "kept.md"
        ended = self.run_it("--only", "cost,spans,captures", fake="copy", PAGE=str(self.page), KEPT=str(kept))
        self.assertEqual(ended.returncode, 0, ended)
        page = kept.read_text(encoding="utf-8")
        self.assertIn("| G0 | spans | 1 | 1 | pass |", page)
        self.assertNotIn("| G0 | captures |", page)
        self.assertIn("**Not finished.** These have not run: captures.", page)


    def test_when_the_checks_are_terminated_their_program_is_too(self):
        pid = self.pack / "pid"
        (self.pack / "bin/gpu_probe").write_text(f"#!/bin/sh\necho $$ > {pid}.new; mv {pid}.new {pid}; exec tail -f /dev/null\n", encoding="utf-8")
        command = [sys.executable, "-B", str(HERE / "gpu_check.py"), str(self.pack), "--only", "probe", "--write", str(self.page)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
            while not pid.exists():
                self.assertIsNone(running.poll())
            os.kill(running.pid, signal.SIGTERM)
            self.assertEqual(running.wait(timeout=50), 128 + signal.SIGTERM)
        with self.assertRaises(ProcessLookupError):
            os.kill(int(pid.read_text(encoding="utf-8")), 0)
        self.assertIn("These have not run: probe.", self.page.read_text(encoding="utf-8"))


class Limits(unittest.TestCase):
    """A hanging program does not affect the others."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="takt-test-")
        self.addCleanup(scratch.cleanup)
        self.machine = gpu_check.Machine(scratch.name, scratch.name)

    def test_a_hanging_check_is_killed_and_its_output_is_kept(self):
        said = pathlib.Path(self.machine.scratch) / "said"
        hangs = ["sh", "-c", rf"printf 'G0\tfirst\t1\t1\tpass\n'; touch {said}; exec tail -f /dev/null"]
        waits = gpu_machine.ended

        def ended(child, limit):
            """Returns a program's result when its time runs out after it printed something."""
            while limit == 77 and not said.exists():
                pass
            return None if limit == 77 else waits(child, limit)
        with unittest.mock.patch("gpu_machine.ended", ended):
            rows = gpu_check.rows_from(self.machine, hangs, limit=77)
        self.assertEqual(rows[0], ("G0", "first", "1", "1", "pass"))
        self.assertEqual(rows[1][2:], ("ends with 0", "not ended after 77 s", "fail"))

    def test_a_check_that_starts_during_termination_is_ended_too(self):
        starts = subprocess.Popen
        begun = []

        def started(*words, **how):
            begun.append(starts(*words, **how))
            os.kill(os.getpid(), signal.SIGTERM)  # before the child is registered
            return begun[0]
        self.addCleanup(signal.signal, signal.SIGTERM, signal.signal(signal.SIGTERM, lambda *_: sys.exit(1)))
        with unittest.mock.patch("subprocess.Popen", started), self.assertRaises(SystemExit):
            self.machine.run(["tail", "-f", "/dev/null"])
        left = begun[0].poll() is None
        begun[0].kill()
        begun[0].wait()
        self.assertFalse(left)

    def test_an_orphan_of_a_child_is_not_waited_for(self):
        """The orphan keeps stdout open in its own session, so the kill does not reach it."""
        pid = pathlib.Path(self.machine.scratch) / "pid"
        leaves = ["sh", "-c", f"setsid sh -c 'echo $$ > {pid}; exec tail -f /dev/null' & while ! [ -s {pid} ]; do :; done; echo done"]
        try:
            self.assertEqual(self.machine.run(leaves, limit=40)[:2], (0, "done\n"))
        finally:
            os.kill(int(pid.read_text(encoding="utf-8")), signal.SIGKILL)

    def test_when_no_time_is_left_nothing_starts(self):
        self.machine.end = 0
        self.assertEqual(self.machine.run(["true"])[:3], (None, "", "no time was left for it"))


class Clock(unittest.TestCase):
    """G15 with readings from a GPU whose clock is 5 s ahead and runs 20 ppm fast."""

    readings = [gpu_clock.Reading(at - 50_000, at, at + 30_000, 5_000_000_000 + at * 1.00002 + 12_000, 5_000_000_000 + at * 1.00002 + 22_000)
                for at in range(0, 1_000_000_000, 10_000_000)]

    def verdicts(self, late_ns, readings=None, published=50_000):
        """Returns verdicts on a time line that starts 7 s before the host's clock and has each span late by
        `late_ns`."""
        placed = [gpu_clock.Placed(each.region - 7e9, each.opened - 7e9 + 22_000 + late_ns) for each in self.readings]
        return gpu_clock.judged(self.readings if readings is None else readings, placed, published)

    def test_within_the_published_limit_passes(self):
        for late_ns in (-49_000, 0, 49_000):
            self.assertEqual(self.verdicts(late_ns)[1][-1], "pass", late_ns)

    def test_a_host_interrupted_at_one_reading_changes_nothing(self):
        placed = [gpu_clock.Placed(each.region - 7e9, each.opened - 7e9 + 22_000) for each in self.readings]
        placed[50] = placed[50]._replace(begin=placed[50].begin + 40_000)
        self.assertEqual(gpu_clock.judged(self.readings, placed, 1_000)[1][3:], ("0.000 us", "pass"))

    def test_above_the_published_limit_fails(self):
        # less 6 us for the event and the clock's uncertainty
        self.assertEqual(self.verdicts(80_000)[1][3:], ("67.000 us", "fail"))
        self.assertEqual(self.verdicts(-80_000)[1][4], "fail")
        self.assertEqual(self.verdicts(30_000, published=5_000)[1][4], "fail")

    def test_every_kernel_must_be_present(self):
        self.assertEqual(self.verdicts(0, self.readings[1:])[0][2:], ("99", "100", "fail"))
        self.assertEqual(gpu_clock.judged([], [], 1)[0][-1], "fail")

    def test_without_a_time_line_nothing_is_right(self):
        with tempfile.TemporaryDirectory() as empty:
            self.assertEqual([each[-1] for each in gpu_clock.compare(empty)], ["fail"])


class Counter(unittest.TestCase):
    def test_it_counts_a_programs_driver_calls(self):
        with tempfile.TemporaryDirectory(prefix="takt-test-") as scratch:
            counts = pathlib.Path(scratch) / "counts"
            ended = subprocess.run([PROGRAM, "times"], capture_output=True, text=True, timeout=60, check=False,
                                   env={**os.environ, "LD_PRELOAD": COUNTER, "LD_LIBRARY_PATH": f"{DEVICE}/fakes/cuda", "TAKT_DIR": scratch,
                                        "TAKT_TABLE": "0", "COUNT_CALLS": str(counts)})
            self.assertEqual(ended.returncode, 42, ended)
            calls = dict(line.split() for line in counts.read_text(encoding="utf-8").splitlines())
        # 100 Batches of 3 regions, and one of a Timer, with two events each.
        self.assertEqual(calls["cuEventRecord"], "802")
        self.assertEqual(calls["cuEventElapsedTime"], "401")
        self.assertNotIn("cuEventSynchronize", calls)
        self.assertNotIn("cuStreamIsCapturing", calls)


class Simulated(unittest.TestCase):
    """The checks on a device that works correctly. Checks that depend on this machine's load may fail here."""

    def setUp(self):
        if not SIMULATED:
            self.skipTest("built without a CUDA toolkit")
        scratch = tempfile.TemporaryDirectory(prefix="takt-test-")
        self.addCleanup(scratch.cleanup)
        pack = pathlib.Path(scratch.name) / "pack"
        subprocess.run([sys.executable, "-B", HERE / "gpu_pack.py", BUILD, pack, "--here", "--simulated"], check=True, timeout=60)
        self.machine = gpu_check.Machine(pack, scratch.name)
        self.machine.env["LD_LIBRARY_PATH"] = self.machine.libraries(f"{DEVICE}/fakes/simulated")

    def verdicts(self, *arguments, **env):
        rows = gpu_check.rows_of(self.machine, *arguments, **env)
        self.assertNotIn("ends with 0", [each[2] for each in rows], rows)
        return rows

    def assert_right(self, rows, *whats):
        """Each text is the start of one or more rows that passed."""
        for what in whats:
            found = [each for each in rows if re.match(what, each[1])]
            self.assertNotEqual(found, [], what)
            self.assertEqual([each for each in found if each[-1] != "pass"], [])

    def test_spans(self):
        for check in ("spans", "hip_spans"):
            with self.subTest(check):
                rows = self.verdicts(check, **self.machine.counted(), **(self.machine.hip() if check == "hip_spans" else {}))
                self.assert_right(rows, "kernels of known length", "span less the kernel's own clock", "rate of spans", "calls in that time that wait",
                                  "spans of these that came in", "a span less those inside", "events for 100 laps")
                self.assertLessEqual({f"G{n}{' HIP' if check == 'hip_spans' else ''}" for n in range(2, 7)},
                                     {each[0] for each in rows})

    def test_without_the_counter_the_check_fails(self):
        rows = self.verdicts("spans")
        for each in rows:
            if each[1].startswith(("calls in that time", "events for 100 laps")):
                self.assertEqual(each[3:], ("not counted", "fail"))

    def test_costs(self):
        self.assert_right(self.verdicts("cost"), "last error of the runtime")
        self.assert_right(self.verdicts("cost_of_regions", 8000), "spans of all regions so far that are missing")

    def test_default_streams(self):
        self.assert_right(self.verdicts("default_streams"), "legacy stream 0 behind", ".* last error")

    def test_captures(self):
        self.assert_right(self.verdicts("captures"), "end of a global capture", "nodes of the graph", "regions in the capture",
                          "100 replays", "nodes of a graph", "replays that were missed")

    def test_soak(self):
        rows = self.verdicts("soak", 20_000, **self.machine.counted())
        self.assert_right(rows, "regions without a span", "calls in that time that wait")

    def test_a_blocked_stream(self):
        """The simulator counts how often the host was blocked: never by a region, and once by bare records, which fill
        the queue."""
        holds = pathlib.Path(self.machine.scratch) / "holds"
        self.assert_right(self.verdicts("stuck", SIMULATED_HOLDS=str(holds)), "entered = ")
        self.assertEqual(holds.read_text(encoding="utf-8"), "0\n")
        rows = self.verdicts("depth", SIMULATED_HOLDS=str(holds))
        self.assert_right(rows, "records of Takt's that stand")
        self.assertEqual(rows[0][3], "1023")  # 1024 entries including the gate
        self.assertEqual(holds.read_text(encoding="utf-8"), "1\n")

    def test_threads(self):
        self.assert_right(self.verdicts("threads", 8000), "the same, regions without a span")
        self.assert_right(self.verdicts("no_context"), "regions on 8 threads", "contexts that these threads have")

    def test_the_time_line(self):
        self.assert_right(self.verdicts("clock", 1), "kernels with a span")
        self.assert_right(gpu_clock.compare(self.machine.scratch), "spans end beside their kernels")

    def torch_rows(self, text):
        """Returns the rows from a Python with this torch."""
        (pathlib.Path(self.machine.scratch) / "torch.py").write_text(text, encoding="utf-8")
        self.machine.env["PYTHONPATH"] = str(self.machine.scratch)
        return gpu_check.torch(self.machine, False)

    def test_torch(self):
        rows = self.torch_rows(TORCH)
        self.assert_right(rows, "a side stream", "a thread", "a graph")
        self.assertEqual([each[-1] for each in rows], ["info", "pass", "pass", "pass", "info"])
        # A broken capture is an error of torch and of the row about captures.
        rows = self.torch_rows(TORCH.replace(") == 0", ") != 0"))
        self.assertEqual(rows[-1][2:], ("ends with 0", "1: AssertionError", "fail"))

    def test_without_torch_it_is_left_out(self):
        for text, why in (("raise ImportError()", "torch cannot be imported: ImportError"),
                          (TORCH.replace("AVAILABLE = True", "AVAILABLE = False"), "torch is there, and finds no GPU")):
            self.assertEqual(self.torch_rows(text), [("G18", "regions on torch's streams", "", why, "skip")])

    def test_green_contexts(self):
        self.assert_right(self.verdicts("green_contexts"), "devices of one", "regions on its stream", "communications on its stream")

    def test_the_probe(self):
        """Each question has an answer, even if it crashes or hangs."""
        probe = [self.machine.program("gpu_probe")]
        told = {each[1]: each[3] for each in gpu_check.rows_from(self.machine, probe)}
        self.assertNotIn("gpu_probe", told)
        self.assertEqual(told["without a context: context afterwards"], "none")
        self.assertRegex(told["without a context: cuEventRecord"], r"\(201\)$")
        self.assertRegex(told["an event that was never recorded: cuEventElapsedTime"], r"\(400\)")
        self.assertEqual((told["number of the primary context"], told["made again: number"]), ("1", "2"))
        self.assertRegex(told["cuCtxGetId of a context that was destroyed"], r"\(201\)$")
        self.assertRegex(told["cuEventElapsedTime_v2"], " us each$")
        told = {each[1]: each[3] for each in gpu_check.rows_from(self.machine, [*probe, "crash", "hang"])}
        self.assertEqual(told, {"crash": "CRASHED by signal 6", "hang": "THE DRIVER DID NOT COME BACK"})

    def test_the_example_learns_what_the_host_learns(self):
        program = f"{DEVICE}/gpu_training_simulated"
        status, out, err, _ = self.machine.run([program, "--steps", 60, "--samples", 64, "--width", 32, "--pieces", 4])
        self.assertEqual(status, 0, out + err)
        self.assertEqual(len(re.findall(r"step \d: loss", out)), 3)
        written, = pathlib.Path(self.machine.env["TAKT_DIR"]).glob("*/*/summary.json")
        spans = {each["path"]: each["device"] for each in json.loads(written.read_text(encoding="utf-8"))["paths"]}
        self.assertEqual({spans[f"Batch/{part}"]["n"] for part in ("Backward", "Optimizer", "LossBack", "WaitForBatch")}, {60})
        self.assertEqual(spans["Batch/Forward/Piece"]["n"], 240)
        self.assertEqual(spans["IO"]["n"] + spans["Batch/IO"]["n"], 60)
        self.assertIsNone(spans["Batch/WaitForStep"])  # the host's wait

    def test_the_proxy_infers_as_the_host_does(self):
        """Copies and the network are regions on their streams; the results equal those of the processor."""
        data = pathlib.Path(self.machine.env["TAKT_DIR"]) / "mesh"
        examples = ROOT / "examples"
        subprocess.run([sys.executable, examples / "make_mesh_data.py", data, "--nodes", "500"], check=True, timeout=120)
        cycles = ["--percent", 100, "--batch", 200, "--cycles", 4]
        shapes = set()
        printed = set()  # times of inference and of batch processing without copies, in ms, and SCC for ShockTube
        for options in (["--streams", 2], ["--pinned", 0, "--sync", 1, "--device", "cuda:0"]):
            status, out, err, _ = self.machine.run([f"{DEVICE}/gpu_proxy_simulated", data, *cycles, *options])
            self.assertEqual(status, 0, out + err)
            self.assertIn("on the GPU", out)
            shapes.add(re.search("output data shape.*", out)[0])
            printed.add(tuple(float(re.search(text + r" +([\d.]+)", out)[1]) for text in (
                "time for inference ", r"by README \(without copies\)", r"ShockTube +\S+ +\S+ +\S+")))
        for device, status, text in (("cuda:1", 2, "CUDA finds 1 devices"), ("gpu", 2, "it takes cpu"), ("cpu", 0, "on the processor")):
            ended = self.machine.run([f"{DEVICE}/gpu_proxy_simulated", data, *cycles, "--device", device], TAKT_FILES="0")
            self.assertEqual(ended[0], status, ended)
            self.assertIn(text, ended[1] + ended[2])
        host = subprocess.run([f"{DEVICE}/../../examples/example_22_inference_proxy", data, *map(str, cycles)], check=True,
                              timeout=120, text=True, stdout=subprocess.PIPE, env={**os.environ, "TAKT_FILES": "0"}).stdout
        self.assertEqual(shapes, {re.search("output data shape.*", host)[0]})
        for written in pathlib.Path(self.machine.env["TAKT_DIR"]).glob("inference-proxy*/*/summary.json"):
            spans = {each["path"]: each["device"] for each in json.loads(written.read_text(encoding="utf-8"))["paths"]}
            for part in ("", "/ToDevice", "/Process", "/FromDevice"):
                self.assertEqual(spans["Batch/Inference" + part]["n"], 12, written)
            inference, process = (spans["Batch/Inference" + part]["total_ns"] / 1e6 for part in ("", "/Process"))
            self.assertTrue(any(abs(a / inference - 1) < 1e-4 and abs(b / process - 1) < 1e-4
                                and abs(c / (100 * inference / 4 / 7.8006) - 1) < 1e-4 for a, b, c in printed), (printed, spans))

    def test_faults(self):
        rows = gpu_check.faults(self.machine)
        self.assert_right(rows, ".* what the application sees")
        self.assertEqual(len(rows), 2 * len(gpu_check.FAULTS) + 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
