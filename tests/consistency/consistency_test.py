# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""summary.json, steps.csv, trace.json and the snapshots of one run agree to the nanosecond."""

import collections
import decimal
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))
import rig  # noqa: E402

EPOCHS, STEPS, SAMPLES = 3, 200, 300


def by_path(summary):
    return {path["path"]: path for path in summary["paths"]}


class Consistency(rig.Case):
    def setUp(self):
        super().setUp()
        ended = self.run_program(TAKT_TRACE=1, TAKT_PERIOD_MS=10)
        self.assertEqual(ended.err, "")
        self.shown, self.read = map(json.loads, ended.out.splitlines())
        self.written = self.summary()

    def test_the_file_has_the_data_that_exporters_got(self):
        self.assertEqual(self.written, self.shown)
        self.assertTrue(self.written["finished"])
        self.assertEqual(self.written["losses"], [])

    def test_the_trees_equal_the_reported_data(self):
        self.assertEqual(by_path(self.read).keys(), by_path(self.written).keys())
        for name, path in by_path(self.written).items():
            for field in ("host", "device", "self_ns", "items", "bytes", "skipped"):
                self.assertEqual(by_path(self.read)[name][field], path[field], (name, field))
        self.assertEqual(self.read["series"], self.written["series"])

    def test_counts_equal_those_of_the_program(self):
        n = {name: path["host"]["n"] for name, path in by_path(self.written).items()}
        self.assertEqual(n, {
            "Epoch": EPOCHS, "Epoch/Batch": EPOCHS * STEPS, "Epoch/Batch/IO": EPOCHS * STEPS,
            "Epoch/Batch/Forward": EPOCHS * STEPS, "Epoch/Batch/Backward": EPOCHS * STEPS,
            "Epoch/Batch/Backward/Comm": EPOCHS * STEPS, "Epoch/Batch/Optimizer": EPOCHS * STEPS // 10, "Epoch/Save": EPOCHS,
            "Load": EPOCHS, "Load/Decode": EPOCHS * SAMPLES,
        })
        self.assertEqual(by_path(self.written)["Epoch/Batch"]["items"], 32 * EPOCHS * STEPS)
        self.assertEqual(by_path(self.written)["Epoch/Batch/IO"]["bytes"], 1000 * EPOCHS * STEPS)

    def test_self_times_add_up(self):
        paths = self.written["paths"]
        children = collections.Counter()
        for path in paths:
            if path["parent"] is not None:
                children[path["parent"]] += path["host"]["total_ns"]
        for index, path in enumerate(paths):
            self.assertEqual(path["self_ns"], path["host"]["total_ns"] - children[index], path["path"])

    def test_rows_add_up_to_the_totals(self):
        rows = self.steps()
        total, count, batch, items = collections.Counter(), collections.Counter(), {}, {}
        for row in rows:
            self.assertEqual((row["batch_path"], row["thread"], row["complete"]), ("Epoch/Batch", "main", "1"))
            total[row["path"]] += int(row["host_ns"])
            count[row["path"]] += int(row["calls"])
            batch[int(row["step"])] = int(row["batch_ns"])
            items[int(row["step"])] = int(row["items"])
        paths = by_path(self.written)
        below = {name for name in paths if name.startswith("Epoch/Batch/")}
        self.assertEqual(set(total), below)
        for name in below:
            self.assertEqual(total[name], paths[name]["host"]["total_ns"], name)
            self.assertEqual(count[name], paths[name]["host"]["n"], name)
        self.assertEqual(sorted(batch), list(range(EPOCHS * STEPS)))
        self.assertEqual(sum(batch.values()), paths["Epoch/Batch"]["host"]["total_ns"])
        self.assertEqual(sum(items.values()), paths["Epoch/Batch"]["items"])

        # For values of the step, one row per step is enough.
        heads = list({int(row["step"]): row for row in rows}.values())
        ends = [int(row["begin_ns"]) + int(row["batch_ns"]) for row in heads]
        for before, row in zip(ends, heads[1:]):
            self.assertGreaterEqual(int(row["begin_ns"]), before)
        self.assertLessEqual(ends[-1], self.written["wall_ns"])
        for before, end, row in zip(ends, ends[1:], heads[1:]):
            if row["period_ns"]:
                self.assertEqual(int(row["period_ns"]), end - before)
        self.assertEqual([int(row["step"]) for row in heads if not row["period_ns"]], [0, STEPS, 2 * STEPS])

        (series,) = self.written["series"]
        warm = [row for row in heads if row["warmup"] == "0"]
        self.assertEqual(series["steps"], len(heads))
        self.assertEqual(series["warmup_steps"], len(heads) - len(warm))
        counted = [int(row["period_ns"]) for row in warm if row["period_ns"]]
        self.assertEqual(series["throughput"]["steps"], len(counted))
        self.assertEqual(series["throughput"]["period_ns"], sum(counted))
        self.assertEqual(series["throughput"]["excluded_steps"], EPOCHS - 1)

    def test_spans_of_the_time_line_add_up_to_the_totals(self):
        trace = json.loads((self.directory() / "trace.json").read_text(encoding="utf-8"), parse_float=decimal.Decimal)
        self.assertEqual(trace["otherData"]["dropped_spans"], 0)
        threads = {event["tid"]: event["args"]["name"] for event in trace["traceEvents"]
                   if event["ph"] == "M" and event["name"] == "thread_name"}
        total, count, tracks = collections.Counter(), collections.Counter(), collections.defaultdict(list)
        for event in trace["traceEvents"]:
            if event["ph"] != "X":
                continue
            begin, length = int(event["ts"] * 1000), int(event["dur"] * 1000)
            total[event["name"]] += length
            count[event["name"]] += 1
            tracks[event["tid"]].append((begin, -length, event["name"]))
            self.assertEqual(event["pid"], self.written["run"]["pid"])
        for path in self.written["paths"]:
            self.assertEqual(total[path["name"]], path["host"]["total_ns"], path["path"])
            self.assertEqual(count[path["name"]], path["host"]["n"], path["path"])
        self.assertEqual(len(total), len(self.written["paths"]))

        loaders = [tid for tid, name in threads.items() if name == "loader"]
        self.assertEqual(len(loaders), EPOCHS)
        self.assertEqual(set(tracks), {*loaders, 0})
        self.assertEqual(threads[0], "main")
        for tid in loaders:
            self.assertEqual({name for _, _, name in tracks[tid]}, {"Load", "Decode"})
        parents = {path["name"]: self.written["paths"][path["parent"]]["name"] if path["parent"] is not None else None
                   for path in self.written["paths"]}
        for spans in tracks.values():
            self.assert_nested(sorted(spans), parents)

    def assert_nested(self, spans, parents):
        """Asserts that each span is within a span of its parent's key and does not overlap its neighbours. The order of
        spans of zero length at the same time is undefined."""
        places = collections.defaultdict(list)
        for begin, minus_length, name in spans:
            places[name].append((begin, begin - minus_length))
        for name, intervals in places.items():
            for (_, end), (begin, _) in zip(intervals, intervals[1:]):
                self.assertLessEqual(end, begin, name)
            if parents[name] is None:
                continue
            above = iter(places[parents[name]])
            first, last = next(above)
            for begin, end in intervals:
                while not (first <= begin and end <= last):
                    first, last = next(above)  # StopIteration: no enclosing span


if __name__ == "__main__":
    rig.main()
