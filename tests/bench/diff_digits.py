# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""What the gate of `takt diff --fail-on 2%` says of real runs of the digits example, with batches of 64, 67 (5 % more work in a step)
and 71 (11 % more), as a table for docs/compare.md. A block is four runs one right after the other: 64, 67, 71 and 64 again, every second block
the other way round. Each comparison is of some of the blocks, drawn at random."""

import argparse
import collections
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

BLOCK = (("base", 64), ("+5 %", 67), ("+11 %", 71), ("same", 64))


def train(example, batch, epochs, folder):
    subprocess.run([example, "--epochs", str(epochs), "--batch", str(batch)], env={**os.environ, "TAKT_DIR": str(folder)},
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)  # 1: too few epochs for its accuracy


def record(example, blocks, epochs, folder):
    """Folders of the runs by block and name."""
    runs = []
    for block in range(blocks):
        runs.append({})
        for name, batch in BLOCK if block % 2 == 0 else reversed(BLOCK):
            place = folder / f"{block}-{name[:2].strip('+')}"
            train(example, batch, epochs, place)
            runs[-1][name] = next(place.iterdir())
    return runs


def compare(takt, base, new):
    done = subprocess.run([takt, "diff", "--json", "--fail-on", "2%", *base, "--", *new], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 3):
        sys.exit(f"diff_digits.py: {done.stderr}")
    return json.loads(done.stdout)


def describe(takt, runs):
    document = compare(takt, [block["base"] for block in runs], [block["same"] for block in runs])
    figures = {each["figure"]: each for each in document["regions"][0]["figures"]}
    print(f"{4 * len(runs)} runs; differences of two runs one after the other scatter by " +
          ", ".join(f"{100 * figures[name]['scatter']:.2f} % ({name}, by {figures[name]['basis']})" for name in ("p10", "p50", "mean", "p95") if name in figures))


def judge(takt, runs, sides, pick, draws):
    print("| change | runs a side | comparisons | regression | no regression | inconclusive |\n|---|---|---|---|---|---|")

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
        for change, base, new in (("none", "base", "same"), ("+5 %", "base", "+5 %"), ("+11 %", "same", "+11 %")):
            add_line(change, side, lambda base=base, new=new, side=side: some(runs, side, base, new))
        if side <= len(halves[0]):
            add_line("none, one side ran first", side, lambda side=side: some(halves[0], side, "base") + some(halves[1], side, "base"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("takt")
    parser.add_argument("example")
    parser.add_argument("--blocks", type=int, default=12)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--busy", action="store_true", help="as many other programs as there are processors compute meanwhile")
    wishes = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="takt-digits-") as name:
        others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() if wishes.busy else 0)]
        try:
            runs = record(wishes.example, wishes.blocks, wishes.epochs, pathlib.Path(name))
        finally:
            for each in others:
                each.kill()
        describe(wishes.takt, runs)
        judge(wishes.takt, runs, (3, 5), random.Random(1), wishes.draws)


if __name__ == "__main__":
    main()
