# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Tests that scripts/time_line.py draws a trace correctly: the typical calls, each region's position, and each one's
own time."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

SCRIPT = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts/time_line.py"
SVG = "{http://www.w3.org/2000/svg}"


def event(name, begin, end, thread=0):
    return {"name": name, "ph": "X", "ts": begin, "dur": end - begin, "pid": 1, "tid": thread}


def step(begin, compute):
    """Returns 300 us of IO and `compute` us of computation in a Batch that is 100 us longer."""
    return [event("IO", begin, begin + 300), event("Forward", begin + 300, begin + 300 + compute),
            event("Batch", begin, begin + 400 + compute)]


class TimeLine(unittest.TestCase):
    def draw(self, *options):
        steps = [*step(0, 9_000), *step(10_000, 600), *step(11_000, 600), *step(12_000, 5_000)]
        events = [*steps, event("Epoch", 0, 20_000), event("Load", 10_000, 11_000, thread=7),
                  {"name": "thread_name", "ph": "M", "pid": 1, "tid": 0, "args": {"name": "<main>"}}]
        with tempfile.TemporaryDirectory() as directory:
            trace, out = pathlib.Path(directory, "trace.json"), pathlib.Path(directory, "out.svg")
            trace.write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
            subprocess.run([sys.executable, "-B", str(SCRIPT), str(trace), str(out), *options], check=True)
            picture = xml.parse(out).getroot()
        return [text.text for text in picture.iter(SVG + "text")], list(picture.iter(SVG + "rect"))

    def test_typical_steps_and_each_regions_own_time(self):
        words, _ = self.draw("--steps", "2")
        self.assertIn("2 training steps, 2 ms, and what each region takes of it by itself", words)
        self.assertEqual(words.count("Batch  1 ms"), 2)
        self.assertEqual(words[-3:], ["Forward 60 %", "IO 30 %", "Batch itself 10 %"])

    def test_regions_are_drawn_at_their_times(self):
        _, boxes = self.draw("--steps", "2")
        batches = [float(box.get("x")) for box in boxes if box.get("y") == "58"]
        self.assertEqual(batches, [16, 415])  # 798 between the margins

    def test_around_a_region_everything_inside_it_is_drawn(self):
        words, _ = self.draw("--around", "Epoch", "--dark")
        self.assertIn("Epoch  20 ms", words)
        self.assertNotIn("Load", " ".join(words))


unittest.main()
