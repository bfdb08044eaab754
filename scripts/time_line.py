# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Draws a part of a trace.json of Takt as an SVG: time_line.py TRACE OUT.svg [--steps N | --around KEY] [--dark]

--steps N: N consecutive Batches with a time closest to the median. --around KEY: the call of that region, such as an
Epoch, with a time closest to the median. Below the time line is each region's own time in that part. Draws only the
thread with the Batches."""

import argparse
import collections
import html
import json
import pathlib
import statistics

WIDTH, MARGIN, ROW, FONT = 830, 16, 30, 13
LIGHT = {"back": "#ffffff", "text": "#1f2328", "faint": "#59636e", "line": "#d1d9e0", "frame": "#e6eaef", "label": "#1f2328"}
DARK = {"back": "#0d1117", "text": "#f0f6fc", "faint": "#9198a1", "line": "#3d444d", "frame": "#2a313c", "label": "#0d1117"}
# Distinguishable for colour-blind readers (Okabe and Ito), and suitable as a background of dark text.
COLOURS = ["#56b4e9", "#e69f00", "#009e73", "#f0e442", "#cc79a7", "#d55e00", "#999999"]

Region = collections.namedtuple("Region", "name begin end")


def regions_of(trace):
    """Returns the regions of the thread with the Batches, outer ones before those inside them."""
    events = [event for event in json.loads(pathlib.Path(trace).read_text(encoding="utf-8"))["traceEvents"] if event["ph"] == "X"]
    thread = next(event["tid"] for event in events if event["name"] == "Batch")
    found = [Region(event["name"], event["ts"], event["ts"] + event["dur"]) for event in events if event["tid"] == thread]
    return sorted(found, key=lambda region: (region.begin, -region.end))


def length(region):
    return region.end - region.begin


def usual_steps(regions, count):
    """Returns that many consecutive Batches, without an Epoch between them."""
    batches = [region for region in regions if region.name == "Batch"]
    middle = statistics.median(map(length, batches))
    rows = [batches[at:at + count] for at in range(len(batches) - count + 1)]
    best = min(rows, key=lambda row: (row[-1].end - row[0].begin) - sum(map(length, row)) +
               max(abs(length(batch) - middle) for batch in row))
    return best[0].begin, best[-1].end


def usual_call(regions, name):
    calls = [region for region in regions if region.name == name]
    middle = statistics.median(map(length, calls))
    best = min(calls, key=lambda region: abs(length(region) - middle))
    return best.begin, best.end


def levels_of(regions):
    """Returns (level, region, True if it contains others) of each."""
    open_, placed = [], []
    for region in regions:
        while open_ and placed[open_[-1]][1].end <= region.begin:
            open_.pop()
        if open_:
            placed[open_[-1]][2] = True
        open_.append(len(placed))
        placed.append([len(open_) - 1, region, False])
    return placed


def own_times(placed, begin, end):
    """Returns {name: time} in which each was the innermost region."""
    own = collections.Counter()
    for at, (level, region, _) in enumerate(placed):
        own[region.name] += length(region)
        for other_level, other, _ in placed[at + 1:]:
            if other.begin >= region.end:
                break
            if other_level == level + 1:
                own[region.name] -= length(other)
    own[""] = end - begin - sum(length(region) for level, region, _ in placed if level == 0)
    return own


def in_words(microseconds):
    for unit, size in (("s", 1e6), ("ms", 1e3), ("us", 1)):
        if microseconds >= size or unit == "us":
            return f"{microseconds / size:.3g} {unit}"


def step_of_axis(span):
    """Returns the largest of 1, 2 and 5 times a power of ten that gives at least five ticks."""
    power = 1.0
    while power * 10 < span / 5:
        power *= 10
    return max(power * times for times in (1, 2, 5) if power * times <= span / 5)


class Picture:
    def __init__(self, colours, begin, end):
        self.colours_ = colours
        self.begin_ = begin
        self.scale_ = (WIDTH - 2 * MARGIN) / (end - begin)
        self.parts_ = []

    def text(self, x, y, words, colour="text", anchor="start"):
        self.parts_.append(f'<text x="{x:.1f}" y="{y:.1f}" fill="{self.colours_[colour]}" text-anchor="{anchor}">'
                           f"{html.escape(words)}</text>")

    def box(self, x, y, width, height, fill):
        self.parts_.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}" rx="2" fill="{fill}"/>')

    def x(self, time):
        return MARGIN + (time - self.begin_) * self.scale_

    def axis(self, end, top, bottom):
        step = step_of_axis(end - self.begin_)
        number = 0
        while number * step <= (end - self.begin_) - step / 3:
            x = self.x(self.begin_ + number * step)
            self.parts_.append(f'<path d="M{x:.1f} {top}V{bottom}" stroke="{self.colours_["line"]}"/>')
            self.text(x + 4, top + 10, in_words(number * step) if number else "0", "faint")
            number += 1

    def region(self, level, region, has_inner, top, fill):
        x, width = self.x(region.begin), max(0.7, length(region) * self.scale_ - 0.6)
        self.box(x, top + level * ROW, width, ROW - 4, self.colours_["frame"] if has_inner else fill)
        for label in (f"{region.name}  {in_words(length(region))}", region.name):
            if len(label) * FONT * 0.58 + 6 < width:
                self.text(x + width / 2, top + level * ROW + 18, label, "text" if has_inner else "label", "middle")
                break

    def shares(self, own, span, y, fills):
        """Returns the shares, the longest first, as far as they fit, and down to a thousandth."""
        x = MARGIN
        for name, time in own.most_common():
            words = f"{name if name in fills else name + ' itself' if name else 'no region'} {100 * time / span:.2g} %"
            width = 18 + len(words) * FONT * 0.56
            if time / span < 0.001 or x + width > WIDTH - MARGIN:
                break
            self.box(x, y - 11, 12, 12, fills.get(name, self.colours_["frame"]))
            self.text(x + 18, y, words)
            x += width + 18

    def written(self, height):
        return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
                          f'font-family="-apple-system, Segoe UI, Noto Sans, DejaVu Sans, sans-serif" font-size="{FONT}">',
                          f'<rect width="{WIDTH}" height="{height}" rx="6" fill="{self.colours_["back"]}"/>',
                          *self.parts_, "</svg>", ""])


def draw(regions, begin, end, title, colours):
    placed = levels_of([region for region in regions if region.begin >= begin and region.end <= end])
    leaves = sorted({region.name for _, region, has_inner in placed if not has_inner})
    fills = {name: COLOURS[number % len(COLOURS)] for number, name in enumerate(leaves)}
    depth = 1 + max(level for level, _, _ in placed)
    picture = Picture(colours, begin, end)
    picture.text(MARGIN, 24, title)
    top = 58
    picture.axis(end, 38, top + depth * ROW)
    for level, region, has_inner in placed:
        picture.region(level, region, has_inner, top, fills.get(region.name))
    picture.shares(own_times(placed, begin, end), end - begin, top + depth * ROW + 22, fills)
    return picture.written(top + depth * ROW + 36)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    parser.add_argument("out")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--steps", type=int)
    what.add_argument("--around")
    parser.add_argument("--dark", action="store_true")
    asked = parser.parse_args()
    regions = regions_of(asked.trace)
    begin, end = usual_steps(regions, asked.steps) if asked.steps else usual_call(regions, asked.around)
    what = f"{asked.steps} training steps" if asked.steps else f"One {asked.around}"
    title = f"{what}, {in_words(end - begin)}, and what each region takes of it by itself"
    pathlib.Path(asked.out).write_text(draw(regions, begin, end, title, DARK if asked.dark else LIGHT), encoding="utf-8")


main()
