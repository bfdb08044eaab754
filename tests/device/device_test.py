# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""The program's output and the report on machines without a driver, with a stub, without a device, and on fake
drivers."""

import ctypes
import json
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))
import rig

FAKES = pathlib.Path(os.environ["FAKES"])  # directories with one fake library each
HIP = os.environ.get("HIP_LIBRARY_PATH", "")
STUB = os.environ.get("CUDA_STUB", "")
PROGRAMS = pathlib.Path(os.environ["PROGRAMS"])


def loads(library):
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


class DeviceCase(rig.Case):
    def use(self, program, what, library=None, **env):
        """Runs the program without Takt and with Takt; its output must be the same. Returns the summary."""
        rig.PROGRAM = str(PROGRAMS / program)
        if library is not None:
            env["LD_LIBRARY_PATH"] = str(library)
        env["TAKT_TABLE"] = 0
        without = self.run_program(what, status=42, TAKT_DISABLE=1, **env)
        with_takt = self.run_program(what, status=42, **env)
        for line, (here, there) in enumerate(zip(with_takt.out.splitlines(), without.out.splitlines()), 1):
            self.assertEqual(here, there, f"line {line}, with Takt and without")
        self.assertEqual(len(with_takt.out), len(without.out))
        self.assertEqual(with_takt.err, without.err)
        self.seconds = with_takt.seconds
        self.out = with_takt.out
        return self.summary(next(each for each in self.directories() if "child" not in str(each)))

    def why(self, summary, name):
        found = [each["unavailable"] for each in summary["devices"] if each["name"] == name]
        self.assertEqual(len(found), 1, summary["devices"])
        return found[0]

    def device(self, summary, path):
        return next(each for each in summary["paths"] if each["path"] == path)


class Cuda(DeviceCase):
    @unittest.skipIf(loads("libcuda.so.1"), "there is a driver here")
    def test_without_a_driver_only_the_host_is_timed(self):
        summary = self.use("cuda_program", "no_driver", self.scratch)
        self.assertEqual(self.why(summary, "cuda"), "libcuda.so.1 cannot be loaded")
        self.assertEqual(rig.calls(summary, "Batch/Forward"), 100)
        self.assertEqual(rig.losses(summary, "device_skipped"), 100)

    def test_a_stub_is_not_a_driver(self):
        if not STUB:
            self.skipTest("no CUDA toolkit here")
        (self.scratch / "libcuda.so.1").symlink_to(STUB)
        summary = self.use("cuda_program", "no_driver", self.scratch)
        self.assertIn("stub", self.why(summary, "cuda"))
        self.assertEqual(rig.calls(summary, "Batch/Forward"), 100)

    @unittest.skipIf(loads("libcuda.so.1"), "there is a driver here")
    def test_the_table_shows_the_reason(self):
        rig.PROGRAM = str(PROGRAMS / "cuda_program")
        ended = self.run_program("no_driver", status=42, LD_LIBRARY_PATH=self.scratch, TAKT_TABLE=1)
        self.assertIn("cuda is unavailable: libcuda.so.1 cannot be loaded", ended.out)
        self.assertEqual(ended.err, "")

    def test_the_table_has_stream_spans_next_to_the_hosts_times(self):
        rig.PROGRAM = str(PROGRAMS / "cuda_program")
        ended = self.run_program("times", status=42, LD_LIBRARY_PATH=FAKES / "cuda", TAKT_TABLE=1)
        self.assertIn("stream span", ended.out)
        forward = next(line for line in ended.out.splitlines() if line.startswith("  Forward"))
        self.assertRegex(forward, r"\s300 us\s+1\.00 us$")

    def test_one_queue_for_all_streams_is_reported(self):
        summary = self.use("cuda_program", "times", FAKES / "cuda", CUDA_DEVICE_MAX_CONNECTIONS=1)
        self.assertIn("CUDA_DEVICE_MAX_CONNECTIONS=1", summary["devices"][0]["caveat"])

    def test_without_a_device_only_the_host_is_timed(self):
        # The result of cuInit, or 3: not initialized.
        for error in (100, 3):
            with self.subTest(error):
                self.setUp()
                summary = self.use("cuda_program", "no_device", FAKES / "cuda", FAKE_NO_DEVICE=error)
                self.assertEqual(self.out.split(), f"init 100 count {error} count {error} 0 devices".split())
                self.assertEqual(self.why(summary, "cuda"), "no thread that passed a stream had a context of the device")
                self.assertEqual(rig.calls(summary, "Batch/Forward"), 100)
                self.assertEqual(rig.losses(summary, "skipped_no_context"), 100)

    def test_a_driver_without_context_ids_times_nothing(self):
        """After a reset the new context has the same handle. Without its ID, old events would be recorded."""
        summary = self.use("cuda_program", "reset", FAKES / "cuda_11")
        self.assertEqual(self.why(summary, "cuda"), "the driver is too old: it has no cuCtxGetId")
        self.assertIn("misuses 0, destroyed 0, synchronised 0", self.out)

    def test_spans_are_in_summary_and_rows(self):
        summary = self.use("cuda_program", "times", FAKES / "cuda")
        self.assertIsNone(self.why(summary, "cuda"))
        self.assertIsNone(summary["devices"][0]["caveat"])
        forward = self.device(summary, "Batch/Forward")
        self.assertEqual(forward["device"]["n"], 300)
        self.assertEqual(forward["device"]["total_ns"], 300_000)
        self.assertEqual(forward["host"]["n"], 300)
        rows = [row for row in self.steps() if row["path"] == "Batch/Forward"]
        self.assertEqual({row["device_ns"] for row in rows}, {"3000"})
        self.assertEqual({row["complete"] for row in rows}, {"1"})
        self.assertIn("timer 5000", self.out)
        self.assertIn("misuses 0, destroyed 0, synchronised 0", self.out)

    def test_spans_pending_at_exit_are_collected_before_the_driver_shuts_down(self):
        summary = self.use("cuda_program", "exit", FAKES / "cuda")
        self.assertEqual(self.device(summary, "Forward")["device"]["n"], 10)
        self.assertTrue(summary["failed"])  # exit status 42

    def test_a_device_error_is_seen_by_the_application(self):
        # An illegal address, a failed launch, a destroyed context or device, an unknown error, a driver that has shut
        # down.
        for error, why in ((700, "CUDA_ERROR_ILLEGAL_ADDRESS"), (719, "CUDA_ERROR"), (709, "CUDA_ERROR"), (214, "CUDA_ERROR"),
                           (999, "CUDA_ERROR"), (4, "the driver has shut down")):
            with self.subTest(error):
                self.setUp()
                summary = self.use("cuda_program", "fault", FAKES / "cuda", FAULT=error)
                self.assertEqual(self.out.count(f"query {error}\n"), 2)
                self.assertEqual(self.why(summary, "cuda"), why)
                forward = self.device(summary, "Forward")
                self.assertEqual(forward["host"]["n"], 100)
                self.assertEqual(forward["device_lost"], 50)
                self.assertIn("misuses 0, destroyed 0, synchronised 0", self.out)
                self.assertNotIn("events destroyed", self.out)

    def test_after_a_reset_spans_use_events_of_the_new_context(self):
        summary = self.use("cuda_program", "reset", FAKES / "cuda")
        self.assertIsNone(self.why(summary, "cuda"))
        forward = self.device(summary, "Forward")
        self.assertEqual(forward["device"]["n"], 50)
        self.assertEqual(forward["device_lost"], 50)
        self.assertIn("misuses 0, destroyed 0, synchronised 0", self.out)

    def test_after_a_last_reset_the_destroyed_context_is_not_queried(self):
        summary = self.use("cuda_program", "last_reset", FAKES / "cuda")
        self.assertEqual(self.why(summary, "cuda"), "the context has been reset")
        self.assertEqual(self.device(summary, "Forward")["device_lost"], 50)
        self.assertIn("misuses 0, destroyed 0, synchronised 0", self.out)

    def test_after_a_reset_threads_without_a_context_do_not_query_the_destroyed_one(self):
        for what in ("reset_elsewhere", "reset_used"):
            with self.subTest(what):
                self.setUp()
                summary = self.use("cuda_program", what, FAKES / "cuda")
                self.assertEqual(self.why(summary, "cuda"), "the context has been reset")
                self.assertEqual(self.device(summary, "Forward")["device_lost"], 50)
                self.assertIn("misuses 0, destroyed 0, synchronised 0", self.out)

    def test_a_thread_without_a_context_is_timed_on_streams_that_have_one(self):
        summary = self.use("cuda_program", "no_context", FAKES / "cuda")
        self.assertIsNone(self.why(summary, "cuda"))
        self.assertEqual(self.device(summary, "Forward")["device"]["n"], 100)
        self.assertEqual(self.device(summary, "Forward")["device"]["total_ns"], 100 * 1000)
        self.assertEqual(rig.losses(summary, "skipped_no_context"), 10)
        self.assertNotIn("a thread was given a context", self.out)
        self.assertIn("misuses 0, destroyed 0, synchronised 0", self.out)

    def test_a_green_context_is_part_of_its_device(self):
        summary = self.use("cuda_program", "green", FAKES / "cuda", TAKT_TRACE=1)
        self.assertIn("misuses 0, destroyed 0, synchronised 0", self.out)
        self.assertEqual(self.device(summary, "Batch/Forward/Comm")["device"]["n"], 20)
        lines = summary["time_lines"]
        self.assertEqual([(each["compute_ns"], each["comm_ns"], each["undecided"]) for each in lines],
                         [(20 * 100_000, 20 * 80_000, 20)])
        self.assertEqual(self.device(summary, "IO")["device"]["n"], 1)

    def test_streams_of_a_green_context_with_an_unknown_device_are_not_timed(self):
        summary = self.use("cuda_program", "green", FAKES / "cuda_12_4", TAKT_TRACE=1)
        self.assertIn("misuses 0, destroyed 0, synchronised 0", self.out)
        self.assertIsNone(self.device(summary, "Batch/Forward/Comm")["device"])
        self.assertEqual(rig.losses(summary, "skipped_refused"), 20 + 1)  # one per start
        self.assertEqual(self.device(summary, "Batch/Forward")["device"]["n"], 20)

    def test_a_region_takes_six_calls_and_eight_on_stream_0(self):
        self.use("cuda_program", "cost", FAKES / "cuda")
        self.assertIn("calls of 100 regions on a stream as expected 1", self.out)
        self.assertIn("calls of 100 regions on stream 0 as expected 1", self.out)
        self.assertIn("misuses 0, destroyed 0, synchronised 0", self.out)

    def test_a_profiler_sees_the_steps_of_its_window_only(self):
        self.use("cuda_program", "window", FAKES / "cuda")
        said = [line.strip() for line in self.out.splitlines() if "step" in line or "profiler" in line]
        self.assertEqual(said, ["step 0", "step 1", "profiler on", "step 2", "step 3", "step 4", "profiler off", "step 5",
                                "step 6", "step 7", "profiler on", "profiler off"])

    def test_a_profiler_starts_on_one_rank_or_on_all(self):
        for variable, here in ((None, 1), ("all", 1), ("3", 1), ("0", 0), ("some", 1)):
            with self.subTest(variable):
                self.setUp()
                env = {} if variable is None else {"TAKT_PROFILER_RANK": variable}
                self.use("cuda_program", "window", FAKES / "cuda", TAKT_RANK=3, TAKT_WORLD_SIZE=4, **env)
                self.assertEqual(self.out.count("profiler on"), 2 * here)
                self.assertEqual(self.out.count("profiler off"), 2 * here)

    def run_trials(self, **env):
        rig.PROGRAM = str(PROGRAMS / "cuda_program")
        return self.run_program("trials", status=42, LD_LIBRARY_PATH=FAKES / "cuda", TAKT_TABLE=0, **env).out.splitlines()

    def test_trials_wait_once_for_the_streams_and_a_window_is_one_of_full(self):
        said = self.run_trials(TAKT_TRIALS="all", TAKT_TRIALS_STEPS=4)
        window = said[said.index("loop") + 1:]
        self.assertEqual(window, ["profiler on"] + 3 * ["step in the window"] +
                         ["profiler off", "1 streams, 0 failed", "waited 12 times",
                          "misuses 0, destroyed 0, synchronised 12"])
        document = json.loads((self.directory() / "trials.json").read_text(encoding="utf-8"))
        # IO and FULL exclude steps that start an epoch
        self.assertEqual([kind["steps"] for kind in document["kinds"]], [12, 8, 8])
        self.assertEqual(document["waits_by"], "streams")
        self.assertEqual(rig.calls(self.summary(), "Batch"), 0)

    def test_the_window_of_trials_is_opened_on_one_rank_or_on_all(self):
        for rank, here in (("all", 1), ("3", 1), ("0", 0)):
            with self.subTest(rank):
                self.setUp()
                said = self.run_trials(TAKT_TRIALS="full", TAKT_TRIALS_STEPS=4, TAKT_RANK=3, TAKT_WORLD_SIZE=4,
                                       TAKT_RUN_ID="trials", TAKT_PROFILER_RANK=rank)
                self.assertEqual(said.count("profiler on"), here)
                self.assertEqual(said.count("profiler off"), here)

    def test_the_rank_that_code_chooses_wins(self):
        self.use("cuda_program", "window_of_rank", FAKES / "cuda", TAKT_RANK=3, TAKT_WORLD_SIZE=4, TAKT_PROFILER_RANK=0)
        said = [line for line in self.out.splitlines() if "window" in line or line == "profiler on"]
        self.assertEqual(said, ["window of rank 0", "window of rank 3", "profiler on", "window of rank -1", "profiler on"])

    @unittest.skipIf(loads("libcuda.so.1"), "there is a driver here")
    def test_a_window_without_a_driver_does_nothing(self):
        self.use("cuda_program", "window", self.scratch)
        self.assertNotIn("profiler", self.out)

    def test_a_capture_stays_valid(self):
        summary = self.use("cuda_program", "capture", FAKES / "cuda")
        self.assertIn("end 0", self.out)
        self.assertEqual(rig.losses(summary, "skipped_capturing"), 11)
        self.assertEqual(self.device(summary, "Forward")["device"]["n"], 30)
        self.assertIn("misuses 0, destroyed 0, synchronised 0", self.out)

    def test_capture_errors_of_the_driver_cost_only_the_affected_spans(self):
        summary = self.use("cuda_program", "capture_errors", FAKES / "cuda")
        forward = self.device(summary, "Forward")
        self.assertEqual(self.out.count("query 0\n"), 16)
        self.assertIsNone(self.why(summary, "cuda"))
        self.assertEqual(forward["host"]["n"], 160)
        # One failed query and one failed record for each error; 907 means that an event will never have a time.
        self.assertEqual(rig.losses(summary, "skipped_capturing"), 4 * 2)
        self.assertEqual(forward["device_lost"], 2)
        self.assertEqual(forward["device"]["n"], 160 - 4 * 2 - 2)
        self.assertEqual(forward["device"]["total_ns"], 1000 * forward["device"]["n"])
        self.assertIn("misuses 0, destroyed 0, synchronised 0", self.out)

    def test_a_capture_that_the_application_broke_ends_as_without_takt(self):
        summary = self.use("cuda_program", "broken_capture", FAKES / "cuda")
        self.assertIn("end 901", self.out)
        self.assertEqual(rig.losses(summary, "skipped_capturing"), 20)
        self.assertEqual(rig.losses(summary, "skipped_not_capturing"), 1)
        self.assertEqual(self.device(summary, "Forward")["device"]["n"], 10)
        self.assertIn("misuses 0, destroyed 0, synchronised 0", self.out)

    def test_a_program_that_always_captures_still_gets_its_spans(self):
        summary = self.use("cuda_program", "capture_always", FAKES / "cuda")
        self.assertEqual(self.device(summary, "Forward")["device"]["n"], 3000)
        self.assertEqual(rig.losses(summary, "device_skipped"), 3000)
        self.assertEqual(rig.losses(summary, "skipped_capturing"), 3000)
        self.assertIn("misuses 0, destroyed 0, synchronised 0", self.out)

    def test_regions_of_a_graph_are_timed_at_its_replays(self):
        summary = self.use("cuda_program", "graph", FAKES / "cuda")
        self.assertIn("nodes as expected 1", self.out)
        for name, length in (("Forward", 1000), ("Backward", 2000)):
            region = self.device(summary, f"Batch/{name}")
            self.assertEqual(region["device"]["n"], 100)
            self.assertEqual(region["device"]["total_ns"], 100 * length)
            self.assertEqual(region["host"]["n"], 0)
        rows = [row for row in self.steps() if row["path"] == "Batch/Forward"]
        self.assertEqual({(row["calls"], row["host_ns"], row["device_ns"]) for row in rows}, {("0", "0", "1000")})
        self.assertIn("misuses 0, destroyed 0, synchronised 0", self.out)

    def test_replays_that_follow_too_closely_are_missed_and_counted(self):
        summary = self.use("cuda_program", "graph_in_flight", FAKES / "cuda")
        forward = self.device(summary, "Batch/Forward")
        self.assertEqual(forward["device"]["n"], 1)
        self.assertEqual(forward["device"]["total_ns"], 1000)
        self.assertEqual(rig.losses(summary, "graph_samples_missed"), 2 * 99)
        self.assertIn("misuses 0, destroyed 0, synchronised 0", self.out)

    def test_a_graph_that_never_ran_is_missed_without_affecting_other_spans(self):
        summary = self.use("cuda_program", "graph_never_launched", FAKES / "cuda")
        self.assertIsNone(self.why(summary, "cuda"))
        self.assertEqual(rig.losses(summary, "graph_samples_missed"), 1)
        self.assertEqual(rig.losses(summary, "lost_device_error"), 0)
        self.assertEqual(self.device(summary, "Forward")["device"]["n"], 1000)
        self.assertIn("misuses 0, destroyed 0, synchronised 0", self.out)

    def test_a_run_ends_in_time_with_a_thousand_spans_pending(self):
        summary = self.use("cuda_program", "pending", FAKES / "cuda", TAKT_EXIT_MS=60_000, TAKT_GPU_RECORDS=4000, FAKE_RECORDS=4000)
        self.assertEqual(rig.losses(summary, "device_unresolved"), 1000)
        self.assertLess(self.seconds, rig.LATE)
        self.assertIn("misuses 0, destroyed 0, synchronised 0", self.out)

    def test_regions_of_a_device_that_is_far_behind_are_skipped_and_counted(self):
        summary = self.use("cuda_program", "behind", FAKES / "cuda")
        # an eighth of the 256 records is reserved for ends
        self.assertEqual(self.device(summary, "Forward")["device"]["n"], 112)
        self.assertEqual(rig.losses(summary, "device_skipped"), 3000 - 112)
        self.assertEqual(rig.losses(summary, "skipped_stream_full"), 3000 - 112)
        self.assertIn("misuses 0, destroyed 0, synchronised 0", self.out)
        self.setUp()
        summary = self.use("cuda_program", "behind", FAKES / "cuda", TAKT_GPU_RECORDS=8000, FAKE_RECORDS=8000)
        self.assertEqual(self.device(summary, "Forward")["device"]["n"], 1024)
        self.assertEqual(rig.losses(summary, "device_skipped"), 3000 - 1024)
        self.setUp()
        blocked = self.run_program("behind", status=42, LD_LIBRARY_PATH=FAKES / "cuda", TAKT_TABLE=0, TAKT_GPU_RECORDS=8000)
        self.assertIn("a record that would have waited for room in the queue", blocked.out)

    def test_a_forked_child_does_not_call_the_driver(self):
        self.use("cuda_program", "child", FAKES / "cuda")
        self.assertIn("calls of the child 0", self.out)
        child = self.summary(next(each for each in self.directories() if "child" in str(each)))
        self.assertIn("child", self.why(child, "cuda"))
        self.assertEqual(rig.calls(child, "Forward"), 1)


class Hip(DeviceCase):
    def test_without_a_library_only_the_host_is_timed(self):
        if HIP or any(loads(f"libamdhip64.so.{version}") for version in (7, 6, 5)):
            self.skipTest("there is one here")
        summary = self.use("hip_program", "unused", self.scratch)
        self.assertIn("cannot be loaded", self.why(summary, "hip"))

    def test_the_real_library_without_a_device(self):
        if not HIP or os.path.exists("/dev/kfd"):
            self.skipTest("no libamdhip64 here, or a device")
        for what in ("no_device", "unused"):
            with self.subTest(what):
                self.setUp()
                summary = self.use("hip_program", what, HIP_LIBRARY=HIP)
                self.assertEqual(self.why(summary, "hip"), "HIP finds no device")
                self.assertEqual(sum(each["host"]["n"] for each in summary["paths"] if each["name"] == "Forward"), 100)

    def test_a_run_ends_in_time_with_a_thousand_spans_pending(self):
        summary = self.use("hip_program", "pending", FAKES / "hip", HIP_LIBRARY="libamdhip64.so.7", FAKE_HIP=7, TAKT_EXIT_MS=60_000,
                           TAKT_GPU_RECORDS=4000, FAKE_RECORDS=4000)
        self.assertEqual(rig.losses(summary, "device_unresolved"), 1000)
        self.assertLess(self.seconds, rig.LATE)
        self.assertIn("misuses 0", self.out)

    def test_a_forked_child_does_not_call_the_runtime(self):
        self.use("hip_program", "child", FAKES / "hip", HIP_LIBRARY="libamdhip64.so.7", FAKE_HIP=7)
        self.assertIn("calls of the child 0", self.out)
        child = self.summary(next(each for each in self.directories() if "child" in str(each)))
        self.assertIn("child", self.why(child, "hip"))
        self.assertEqual(rig.calls(child, "Forward"), 1)

    def test_regions_of_a_graph_are_reported_as_unsupported(self):
        summary = self.use("hip_program", "graph", FAKES / "hip", HIP_LIBRARY="libamdhip64.so.7", FAKE_HIP=7)
        self.assertIn("nodes 1", self.out)
        self.assertIn("misuses 0", self.out)
        self.assertEqual(rig.losses(summary, "skipped_graph_unsupported"), 1)
        self.assertEqual(rig.losses(summary, "device_skipped"), 10)
        self.assertIn("unsupported", summary["devices"][0]["caveat"])
        self.assertIsNone(self.device(summary, "Forward")["device"])  # not 0

    def test_the_named_legacy_stream_is_stream_0(self):
        for version in ("6.0", "6.2", "7.1"):
            with self.subTest(version):
                self.setUp()
                summary = self.use("hip_program", "legacy", FAKES / "hip", HIP_LIBRARY="libamdhip64.so.7", FAKE_HIP=version)
                self.assertEqual(self.device(summary, "Forward")["device"]["n"], 100)
                self.assertEqual(self.device(summary, "Backward")["device"]["n"], 1)

    def test_a_capture_on_the_stream_of_earlier_regions_stays_valid(self):
        for version in ("6.0", "6.2", "7.1"):
            with self.subTest(version):
                self.setUp()
                # While a capture prevents polling, Takt does not see finished spans either.
                summary = self.use("hip_program", "capture_after", FAKES / "hip", HIP_LIBRARY="libamdhip64.so.7", FAKE_HIP=version,
                                   TAKT_GPU_RECORDS=4000, FAKE_RECORDS=4000)
                self.assertEqual(self.out.count("nodes 1\n"), 50)
                self.assertIn("misuses 0", self.out)
                forward = [each for each in summary["paths"] if each["name"] == "Forward"]
                self.assertEqual(sum(each["device"]["n"] for each in forward), 50 * 14)

    def test_a_per_thread_stream_is_not_timed(self):
        for version in ("6.2", "7.1"):
            with self.subTest(version):
                self.setUp()
                summary = self.use("hip_program", "per_thread", FAKES / "hip", HIP_LIBRARY="libamdhip64.so.7", FAKE_HIP=version)
                self.assertIn("misuses 0", self.out)
                self.assertIn("misuses at the end 0", self.out)
                self.assertEqual(self.device(summary, "Forward")["host"]["n"], 150)
                self.assertIsNone(self.device(summary, "Forward")["device"])
                self.assertEqual(rig.losses(summary, "skipped_refused"), 150 + 10)
                self.assertIn("hipStreamPerThread", summary["devices"][0]["caveat"])

    def test_a_destroyed_stream_is_not_queried(self):
        for version in ("6.2", "7.1"):
            with self.subTest(version):
                self.setUp()
                summary = self.use("hip_program", "destroy", FAKES / "hip", HIP_LIBRARY="libamdhip64.so.7", FAKE_HIP=version)
                self.assertIn("misuses 0", self.out)
                self.assertIn("misuses at the end 0", self.out)
                self.assertIsNone(self.why(summary, "hip"))
                forward = self.device(summary, "Forward")
                self.assertEqual(forward["device"]["n"], 20)
                self.assertEqual(forward["device"]["total_ns"], 20 * 1000)
                self.assertEqual(rig.losses(summary, "lost_stream_destroyed"), 20)
                self.assertEqual(forward["device_lost"], 20)

    def test_the_last_error_is_the_applications(self):
        for version in ("6.0", "6.2", "7.1"):
            with self.subTest(version):
                self.setUp()
                summary = self.use("hip_program", "errors", FAKES / "hip", HIP_LIBRARY="libamdhip64.so.7", FAKE_HIP=version)
                self.assertIn("misuses 0", self.out)
                self.assertIn("last 704", self.out)
                forward = self.device(summary, "Forward")
                self.assertEqual(forward["host"]["n"], 20_000)
                self.assertGreater(forward["device"]["n"], 5000)
                self.assertGreater(rig.losses(summary, "skipped_pending_error"), 1000)


class HipOnCuda(DeviceCase):
    """The HIP backend on a libamdhip64 that calls libcuda, here the fake one."""

    def run_it(self, what, version=7):
        summary = self.use("hip_on_cuda_program", what, f"{FAKES / 'hip_on_cuda'}:{FAKES / 'cuda'}", HIP_ON_CUDA=version)
        self.assertIn("misuses 0", self.out)
        return summary

    def test_spans_are_correct(self):
        for version in (6, 7):
            with self.subTest(version):
                self.setUp()
                summary = self.run_it("times", version)
                self.assertIsNone(self.why(summary, "hip"))
                forward = self.device(summary, "Batch/Forward")
                self.assertEqual((forward["device"]["n"], forward["device"]["total_ns"]), (300, 300_000))
                self.assertEqual(self.device(summary, "Batch")["device"]["total_ns"], 300_000)
                self.assertEqual(self.device(summary, "Comm")["device"]["total_ns"], 7000)

    def test_the_last_error_is_the_applications(self):
        for version in (6, 7):
            with self.subTest(version):
                self.setUp()
                summary = self.run_it("errors", version)
                self.assertIn("last 1", self.out)
                self.assertGreater(self.device(summary, "Forward")["device"]["n"], 2000)
                self.assertGreater(rig.losses(summary, "skipped_pending_error"), 1000)

    def test_spans_pending_at_exit_are_collected_before_the_driver_shuts_down(self):
        summary = self.use("cuda_program", "exit", FAKES / "cuda")
        self.assertEqual(self.device(summary, "Forward")["device"]["n"], 10)
        self.assertTrue(summary["failed"])  # exit status 42

    def test_a_device_error_is_seen_by_the_application(self):
        summary = self.run_it("fault")
        self.assertIn("device 700", self.out)
        self.assertIn("ILLEGAL_ADDRESS", self.why(summary, "hip"))
        self.assertEqual(self.device(summary, "Forward")["device_lost"], 50)

    def test_a_capture_stays_valid(self):
        summary = self.run_it("capture")
        self.assertIn("end 0", self.out)
        self.assertEqual(rig.losses(summary, "skipped_capturing"), 10)
        self.assertEqual(self.device(summary, "Forward")["device"]["n"], 20)

    @unittest.skipIf(loads("libcuda.so.1"), "there is a driver here")
    def test_without_a_driver_there_is_no_device(self):
        summary = self.use("hip_program", "no_device", FAKES / "hip_on_cuda", HIP_LIBRARY="libamdhip64.so.7")
        self.assertIn("last 101", self.out)
        self.assertEqual(self.why(summary, "hip"), "HIP finds no device")


if __name__ == "__main__":
    rig.main()
