# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Shared by the tests of pages: one browser, and pages that a program makes once each."""

import atexit
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import browser

if browser.missing():
    print(f"not run: {browser.missing()}")
    sys.exit(77)
PROGRAM = sys.argv.pop(1)
SCRATCH = tempfile.TemporaryDirectory(prefix="takt-page-")
DIR = pathlib.Path(SCRATCH.name)
BROWSER = browser.Browser(DIR)
atexit.register(SCRATCH.cleanup)
atexit.register(BROWSER.close)
pages = {}


def page(kind):
    """Returns the directory with the page of that kind."""
    if kind not in pages:
        pages[kind] = DIR / kind
        pages[kind].mkdir()
        subprocess.run([PROGRAM, kind, str(pages[kind])], check=True, timeout=600)
    return pages[kind]


class Case(unittest.TestCase):
    def setUp(self):
        BROWSER.resize(1280, 900)
        BROWSER.look()
        BROWSER.console()
        self.says = []  # patterns of the expected messages on the console

    def tearDown(self):
        self.assertEqual([line for line in BROWSER.console() if not any(re.search(word, line) for word in self.says)], [])

    def open(self, kind, address=""):
        BROWSER.open(page(kind) / "run.html", address)
        BROWSER.settle()

    def open_changed(self, kind, words, others):
        """Opens the page with the last occurrence of a text replaced."""
        text = (page(kind) / "run.html").read_text(encoding="utf-8")
        at = text.rindex(words)
        changed = DIR / "changed.html"
        changed.write_text(text[:at] + others + text[at + len(words):], encoding="utf-8")
        BROWSER.open(changed)

    def summary(self, kind):
        return json.loads((page(kind) / "summary.json").read_text(encoding="utf-8"))

    def count(self, selector):
        return BROWSER.run("return document.querySelectorAll(arguments[0]).length", selector)

    def text(self, selector):
        return BROWSER.run("return document.querySelector(arguments[0])?.textContent ?? null", selector)

    def wider_than_window(self):
        """Returns elements that extend beyond the window's right edge, except scrollable ones."""
        return BROWSER.run(
            "const inside = '.scroll, nav ul, svg, .skip, .patterns';"
            "const wide = [...document.querySelectorAll('body *')].filter((e) => !e.closest(inside) && e.getBoundingClientRect().right > innerWidth + 1);"
            "return [...wide, ...document.documentElement.scrollWidth > innerWidth ? [document.body] : []].map((e) => `${e.tagName}.${e.className}`)")


def main():
    unittest.main(verbosity=2)
