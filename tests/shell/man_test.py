# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""The man page matches --help, and man page checkers find no errors."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

COMMAND = os.environ["COMMAND"]


def takt(*words):
    return subprocess.run([COMMAND, *words], check=True, capture_output=True, text=True, timeout=600).stdout


class Man(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        source = takt("man")
        cls.page = source.replace("\\-", "-")
        scratch = tempfile.TemporaryDirectory(prefix="takt-man-")
        cls.addClassCleanup(scratch.cleanup)
        cls.file = os.path.join(scratch.name, "takt.1")
        with open(cls.file, "w", encoding="utf-8") as file:
            file.write(source)

    def section(self, command):
        return self.page.partition(f"\n.SS takt {command}\n")[2].partition("\n.S")[0]

    def test_it_has_every_option_of_every_command(self):
        commands = re.findall(r"^  ([a-z-]+) ", takt("--help").partition("Commands:")[2].partition("\n\n")[0], re.MULTILINE)
        self.assertEqual(re.findall(r"^\.SS takt (.*)$", self.page, re.MULTILINE), commands)
        for command in commands:
            helped = takt(command, "--help")
            options = set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", helped, re.MULTILINE)) - {"--help"}
            with self.subTest(command):
                if command == "help":  # whose options are those of takt itself
                    continue
                self.assertEqual(set(re.findall(r"(?:^|, )\\fB(--[a-z-]+)", self.section(command), re.MULTILINE)), options)
                for status in re.findall(r"^Exit status: (.*)$", helped, re.MULTILINE):
                    self.assertIn(status, self.section(command))
        self.assertIn("Exit status: ", takt("report", "--help"))
        self.assertIn("\\fB--version", self.page)

    def tool(self, *words):
        if shutil.which(words[0]) is None:
            self.skipTest(f"no {words[0]}")
        return subprocess.run(words, capture_output=True, text=True, check=False, timeout=600, env={**os.environ, "MANWIDTH": "100"})

    def test_mandoc_finds_nothing(self):
        lint = self.tool("mandoc", "-T", "lint", "-W", "warning", self.file)
        # A date would make builds not reproducible.
        self.assertEqual([line for line in lint.stdout.splitlines() if "missing date" not in line], [], lint)

    def test_groff_finds_nothing(self):
        done = self.tool("groff", "-man", "-ww", "-T", "utf8", self.file)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_man_displays_it(self):
        done = self.tool("man", "-l", self.file)
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("--fail-on PERCENT", done.stdout)
        self.assertRegex(done.stdout, r"takt diff \[options\] \[BASE\.\.\.\] -- NEW")


if __name__ == "__main__":
    unittest.main(verbosity=2)
