# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""G15: measures by how much GPU spans on Takt's time line differ from the host's time, using the GPU's own clock. Needs
only Python 3.8 and its standard library."""

import collections
import json
import pathlib

from gpu_table import row

EVENT_NS = 6000  # maximum delay of a span's end after the end of its kernel
WINDOW = 5  # readings before and after one, during which the clocks do not drift apart

# One kernel, in ns: when the host started its region, released it and saw its end; and when it ran by the GPU's clock.
Reading = collections.namedtuple("Reading", "region opened seen begin end")
# The same kernel on the time line, in ns: start of the host's region and end of the GPU's span.
Placed = collections.namedtuple("Placed", "begin end")


def readings_in(text):
    return [Reading(*map(int, line.split("\t"))) for line in text.splitlines()]


def placed_in(trace):
    """Returns the spans on the time line and its stated maximum error."""
    spans = {"host": [], "device": []}
    for event in trace["traceEvents"]:
        if event["ph"] == "X" and event["name"] == "Tick":
            spans["device" if event["tid"] >= 1_000_000 else "host"].append(event)
    host, device = (sorted(each, key=lambda event: event["ts"]) for each in spans.values())
    line, = trace["otherData"]["time_lines"]
    placed = [Placed(here["ts"] * 1e3, (there["ts"] + there["dur"]) * 1e3) for here, there in zip(host, device)]
    return placed if len(host) == len(device) else [], line["gpu_clock_error_ns"]


def errors(readings, placed):
    """Returns the minimum error of each span's end in ns, negative if early. Errors below the resolution count as
    zero."""
    bounds = [(each.opened - each.begin, each.seen - each.end) for each in readings]  # host clock minus GPU clock
    # or less: the host may be interrupted between the two
    offsets = [span.begin - reading.region for reading, span in zip(readings, placed)]
    for at, (reading, span) in enumerate(zip(readings, placed)):
        near = slice(max(0, at - WINDOW), at + WINDOW + 1)
        least, most = max(each[0] for each in bounds[near]), min(each[1] for each in bounds[near])
        if least > most:  # the clocks drifted apart
            least, most = bounds[at]
        end = span.end - min(offsets[near])  # on the clock of the host's readings
        lowest, highest = end - reading.end - most - EVENT_NS, end - reading.end - least
        yield lowest if lowest > 0 else highest if highest < 0 else 0


def judged(readings, placed, published):
    if len(placed) != len(readings) or not readings:
        return [row("G15", "kernels on the time line", str(len(readings)), str(len(placed)), False)]
    worst = max(errors(readings, placed), key=abs)
    width = sorted(each.seen - each.opened - (each.end - each.begin) for each in readings)[len(readings) // 2]
    return [row("G15", "the GPU's clock is known of the host to, median", "", f"{width / 1e3:.3f} us", None),
            row("G15", "spans end beside their kernels by at least", f"at most what is published: {published / 1e3:.3f} us",
                f"{worst / 1e3:.3f} us", abs(worst) <= published)]


def compare(directory):
    """Returns the rows for the run that `gpu_check clock` recorded in this directory."""
    traces = sorted(pathlib.Path(directory).glob("clock-*/**/trace.json"))
    if not traces:
        return [row("G15", "a time line", "yes", "no", False)]
    readings = readings_in((pathlib.Path(directory) / "clock.tsv").read_text(encoding="utf-8"))
    return judged(readings, *placed_in(json.loads(traces[-1].read_text(encoding="utf-8"))))
