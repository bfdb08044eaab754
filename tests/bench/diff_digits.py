# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""What the gate of `takt diff --fail-on 2%` says of real runs between which nothing was changed: the digits example, many times.

diff_digits.py <takt> <example> [runs, 60 without] [draws, 150 without] [runs a side, 5 without]"""

import collections
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile


def train(example, folder):
    subprocess.run([example, "--epochs", "6"], env={**os.environ, "TAKT_DIR": str(folder)}, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=False)


def compare(takt, base, new):
    done = subprocess.run([takt, "diff", "--json", "--fail-on", "2%", *base, "--", *new], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 3):
        sys.exit(f"diff_digits.py: {done.stderr}")
    return json.loads(done.stdout)


def main(takt, example, runs=60, draws=150, side=5):
    with tempfile.TemporaryDirectory(prefix="takt-digits-") as name:
        folder = pathlib.Path(name)
        for _ in range(int(runs)):
            train(example, folder)
        all_runs = sorted(folder.iterdir())
        listed = json.loads(subprocess.run([takt, "ls", "--json", folder], capture_output=True, check=True).stdout)["runs"]
        rates = [run["steps_per_s"] for run in listed]
        print(f"{len(rates)} runs, {listed[0]['steps']} steps each; scatter of their steps a second: "
              f"{100 * statistics.stdev(rates) / statistics.mean(rates):.1f} %")
        answers, needed = collections.Counter(), []
        pick = random.Random(1)
        for _ in range(int(draws)):
            drawn = pick.sample(all_runs, 2 * int(side))
            document = compare(takt, drawn[:int(side)], drawn[int(side):])
            answers[document["answer"]] += 1
            if document["answer"] == "inconclusive":
                needed.append(document["regions"][0]["gate"]["runs_needed"])
        print(f"of {draws} draws of {side} runs a side: " +
              ", ".join(f"{answer} {answers[answer]}" for answer in ("regression", "no regression", "inconclusive")))
        if needed:
            middle = statistics.median(needed)
            print(f"runs a side that the inconclusive ones ask for, in the middle: {'above 1000' if middle > 1000 else f'{middle:.0f}'}")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
