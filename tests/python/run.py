# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Tests whose run has a directory of its own."""

import json
import pathlib
import tempfile
import unittest

import takt


class Case(unittest.TestCase):
    def session(self, name):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        return takt.Session(name, dir=scratch.name, table=False, warmup=0)

    @staticmethod
    def summary(session):
        """Returns the summary of a run that has ended."""
        return json.loads((pathlib.Path(session.directory) / "summary.json").read_text(encoding="utf-8"))
