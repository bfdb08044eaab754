# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Prints the size of run pages and the time until a browser can use them: page.py build-ci/tests/page/page_program

For each kind of run it prints the page's bytes, and the median and maximum of nine measurements: from the start of the
navigation until the page's script has drawn all charts and responds."""

import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "page"))

import browser  # noqa: E402

TIMES = 9
KINDS = {"usual": "2 000 steps", "long": "1 000 000 steps", "regions": "60 regions", "many_ranks": "1 000 ranks", "largest": "as much as there can be"}


def time_to_interaction(path, steered):
    """Returns the time until the page responds, in ms."""
    steered.open(path)
    steered.settle()
    return float(steered.run("return document.documentElement.dataset.ready"))


def main():
    missing = browser.missing()
    if missing:
        sys.exit(missing)
    print(f"{'page':<34}{'kB':>6}{'ready, ms':>12}{'longest':>10}")
    with tempfile.TemporaryDirectory() as scratch, browser.Browser(scratch) as steered:
        for kind, name in KINDS.items():
            directory = pathlib.Path(scratch) / kind
            directory.mkdir()
            subprocess.run([sys.argv[1], kind, str(directory)], check=True)
            page = directory / "run.html"
            ready = [time_to_interaction(page, steered) for _ in range(TIMES)]
            print(f"{name:<34}{page.stat().st_size / 1000:>6.0f}{statistics.median(ready):>12.0f}{max(ready):>10.0f}", flush=True)


main()
