# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""On every track of a time line slices are disjoint or nested, because Perfetto drops others, and all ended regions are
there."""

import collections
import json
import os
import re
import subprocess
import unittest

import rig


def slices(file):
    trace = json.loads(file.read_text(encoding="utf-8"))
    return [event for event in trace["traceEvents"] if event["ph"] == "X"], trace["otherData"]


def crossings(events):
    """Returns slices that start inside another one of their track and end after it."""
    tracks = collections.defaultdict(list)
    for event in events:
        begin = round(event["ts"] * 1000)
        tracks[event["pid"], event["tid"]].append((begin, -begin - round(event["dur"] * 1000), event["name"]))
    found = []
    for track, spans in tracks.items():
        around = []
        for begin, minus_end, name in sorted(spans):
            while around and around[-1] <= begin:
                around.pop()
            if around and -minus_end > around[-1]:
                found.append((track, name, begin, -minus_end))
            around.append(-minus_end)
    return found


class Nesting(rig.Case):
    def assert_nested(self, file, least_tracks):
        events, other = slices(file)
        self.assertEqual(crossings(events), [])
        self.assertGreaterEqual(len({event["tid"] for event in events}), least_tracks)
        return events, other

    def test_regions_that_overlap_have_further_tracks(self):
        for period in (10, 10_000):
            with self.subTest(period=period):
                ended = self.run_program(TAKT_TRACE=1, TAKT_PERIOD_MS=period, TAKT_EXIT_MS=60_000,
                                         TAKT_DIR=self.scratch / str(period))
                self.runs = self.scratch / str(period)
                events, other = self.assert_nested(self.directory() / "trace.json", 8)
                self.assertEqual(len(events), int(re.search(r"ended (\d+)", ended.out).group(1)))
                self.assertEqual(other["dropped_spans"], 0)
                self.assertEqual([loss for loss in other["losses"] if "span" in loss["what"]], [])
                self.assertGreater(rig.losses(self.summary(), "end_without_start"), 0)

    def test_the_time_line_of_a_journal_nests(self):
        self.run_program(TAKT_EXIT_MS=60_000)
        file = self.scratch / "trace.json"
        subprocess.run([os.environ["COMMAND"], "trace", str(self.directory()), "-o", str(file)], check=True, env=rig.environment(),
                       stdout=subprocess.DEVNULL)
        events, _ = self.assert_nested(file, 2)
        self.assertIn("IO (open)", {event["name"] for event in events})
        self.assertEqual(len({event["tid"] for event in events if event["name"].startswith(("Batch", "Epoch"))}), 1)

    def test_the_time_line_of_a_job_has_each_region_of_its_ranks_once(self):
        for rank in (0, 1):
            self.run_program(TAKT_RUN_ID="job", RANK=rank, WORLD_SIZE=2, LOCAL_RANK=rank, TAKT_TRACE=1, TAKT_EXIT_MS=60_000)
        recorded = [slices(directory / "trace.json")[0] for directory in self.directories()]
        self.assertEqual(len(recorded), 2)
        file = self.scratch / "job.json"
        merged = self.scratch / "all.tar"
        command = lambda *words: subprocess.run([os.environ["COMMAND"], *map(str, words)], check=True, env=rig.environment(),
                                                capture_output=True, text=True)
        command("merge", self.runs, "-o", merged)
        for run in (self.runs, merged):
            with self.subTest(run.name):
                done = command("trace", run, "-o", file)
                events, other = slices(file)
                self.assertIn(f": {sum(map(len, recorded))} regions that 2 of them recorded, steps and regions open", done.stdout)
                self.assertEqual(done.stderr, "")
                for rank, of_rank in enumerate(recorded):
                    self.assertEqual(other["ranks"][rank]["recorded"]["slices"], len(of_rank))
                    own = [each for each in events if each["pid"] == rank and not each["name"].endswith(" (open)")]
                    shape = lambda all_: sorted((each["tid"], each["name"], each["cat"], round(each["dur"] * 1000)) for each in all_)
                    self.assertEqual(shape(own), shape(of_rank))
                self.assertEqual(crossings([each for each in events if not each["name"].endswith(" (open)")]), [])

    def test_coroutines_nest(self):
        if "COROUTINES" not in os.environ:
            self.skipTest("the compiler has no coroutines")
        subprocess.run([os.environ["COROUTINES"], "session"], check=True, timeout=60 * rig.SLACK,
                       env=rig.environment(TAKT_DIR=self.runs, TAKT_TRACE=1, TAKT_PERIOD_MS=10, TAKT_EXIT_MS=60_000))
        events, _ = self.assert_nested(self.directory() / "trace.json", 8)
        self.assertIn("inside", {event["name"] for event in events})


if __name__ == "__main__":
    rig.main()
