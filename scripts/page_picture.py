# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Takes pictures of the top of a page, light and dark: page_picture.py PAGE.html OUT-light.png OUT-dark.png. Needs
chromium and its driver."""

import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tests" / "page"))

import browser  # noqa: E402

WIDTH, HEIGHT = 1000, 1150


def main():
    page, *pictures = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch, browser.Browser(scratch) as steered:
        steered.resize(WIDTH, HEIGHT)
        for picture, dark in zip(pictures, (False, True), strict=True):
            steered.look(dark=dark)
            steered.open(page)
            steered.settle()
            pathlib.Path(picture).write_bytes(steered.picture())


main()
