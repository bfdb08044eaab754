# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Records real runs of the digits example and prints the verdicts of `takt diff --fail-on 2%` on them, as a table for
docs/compare.md.

A block is four consecutive runs with batch sizes 80, 85, 90 and 80 again; every second block runs in reverse order. The
slowdown of steps with 85 and 90 is measured over all blocks. Each comparison uses a random choice of blocks. With
--power, takt_diff_power then judges all choices of the runs with 80, with one side made exactly 5 % and 10 % slower."""

import argparse
import collections
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

BLOCK = (("base", 80), ("85", 85), ("90", 90), ("same", 80))


def train(example, batch, epochs, directory):
    subprocess.run([example, "--epochs", str(epochs), "--batch", str(batch)], env={**os.environ, "TAKT_DIR": str(directory)},
                   # 1: too few epochs to reach its accuracy
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def record(example, blocks, epochs, directory):
    """Returns the directories of the runs by block and name. Skips runs that were recorded before."""
    runs = []
    for block in range(blocks):
        runs.append({})
        for name, batch in BLOCK if block % 2 == 0 else reversed(BLOCK):
            place = directory / f"{block}-{name}"
            if not place.exists():
                train(example, batch, epochs, place)
            runs[-1][name] = next(place.iterdir())
    return runs


def compare(takt, base, new):
    done = subprocess.run([takt, "diff", "--json", "--fail-on", "2%", *base, "--", *new], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 3):
        sys.exit(f"diff_digits.py: {done.stderr}")
    return json.loads(done.stdout)


def step_figures(takt, runs, base, new):
    """Returns the step's statistics over all blocks, by name; the first one decides."""
    document = compare(takt, [block[base] for block in runs], [block[new] for block in runs])
    return {each["figure"]: each for each in document["regions"][0]["figures"]}


def describe(takt, runs):
    figures = step_figures(takt, runs, "base", "same")
    print(f"{4 * len(runs)} runs; differences of two runs one after the other scatter by " +
          ", ".join(f"{100 * figures[name]['scatter']:.2f} % ({name}, by {figures[name]['basis']})" for name in ("p25", "p50", "mean", "p95") if name in figures))


def change_of(takt, runs, base, new):
    first = next(iter(step_figures(takt, runs, base, new).values()))
    return f"{100 * first['change']:+.1f} % (batch {new})"


def judge(takt, runs, sides, pick, draws):
    changes = [("none", "base", "same")] + [(change_of(takt, runs, base, new), base, new) for base, new in (("base", "85"), ("same", "90"))]
    print("| change of a step | runs a side | comparisons | regression | no regression | inconclusive |\n|---|---|---|---|---|---|")

    def add_line(change, side, draw):
        answers = collections.Counter(compare(takt, *draw())["answer"] for _ in range(draws))
        shares = " | ".join(f"{100 * answers[answer] / draws:.0f} %" for answer in ("regression", "no regression", "inconclusive"))
        print(f"| {change} | {side} | {draws} | {shares} |", flush=True)

    def some(blocks, side, *names):
        drawn = pick.sample(blocks, side)
        return [[block[name] for block in drawn] for name in names]

    halves = runs[:len(runs) // 2], runs[len(runs) // 2:]
    for side in sides:
        if side > len(runs):
            continue
        for change, base, new in changes:
            add_line(change, side, lambda base=base, new=new, side=side: some(runs, side, base, new))
        if side <= len(halves[0]):
            add_line("none, one side ran first", side, lambda side=side: some(halves[0], side, "base") + some(halves[1], side, "base"))


def judge_exact(takt, power, runs):
    lines = []
    for block in runs:
        first = step_figures(takt, [block], "base", "same")["p25"]
        lines.append(f"{first['base']} {first['new']}\n")
    print(subprocess.run([power, "--pairs"], input="".join(lines), capture_output=True, text=True, check=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("takt")
    parser.add_argument("example")
    parser.add_argument("--blocks", type=int, default=12)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--busy", action="store_true", help="as many other programs as there are processors compute meanwhile")
    parser.add_argument("--power", help="takt_diff_power of the benchmarks")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="keep the runs there, and judge again those that are there")
    wishes = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="takt-digits-") as name:
        others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() if wishes.busy else 0)]
        try:
            runs = record(wishes.example, wishes.blocks, wishes.epochs, wishes.keep or pathlib.Path(name))
        finally:
            for each in others:
                each.kill()
        describe(wishes.takt, runs)
        judge(wishes.takt, runs, (3, 5), random.Random(1), wishes.draws)
        if wishes.power:
            judge_exact(wishes.takt, wishes.power, runs)


if __name__ == "__main__":
    main()
