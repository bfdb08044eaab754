# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that Doxygen makes a reference of the public headers without warnings, and that every type and free function
is documented."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]


def public_headers():
    for directory in ("include", "backends/include", "exporters/include"):
        for path in (ROOT / directory).rglob("*.hpp"):
            if "detail" not in path.parts:
                yield path


def is_explained(element):
    return any("".join(element.find(part).itertext()).strip() for part in ("briefdescription", "detaileddescription"))


class ReferenceTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="takt-reference-")
        cls.addClassCleanup(scratch.cleanup)
        cls.directory = pathlib.Path(scratch.name)
        settings = (ROOT / "docs/Doxyfile").read_text(encoding="utf-8")
        settings += f"\nOUTPUT_DIRECTORY = \"{cls.directory}\"\nGENERATE_XML = YES\n"
        done = subprocess.run(["doxygen", "-"], input=settings, cwd=ROOT, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=240)
        cls.status, cls.said = done.returncode, done.stdout
        cls.compounds = [xml.etree.ElementTree.parse(path).getroot().find("compounddef")
                         for path in sorted((cls.directory / "xml").glob("*.xml")) if path.name not in ("index.xml", "Doxyfile.xml")]

    def test_no_warning(self):
        self.assertEqual((self.status, self.said), (0, ""))
        self.assertTrue((self.directory / "html/index.html").is_file())

    def test_every_public_header_is_included(self):
        there = {compound.findtext("compoundname") for compound in self.compounds if compound.get("kind") == "file"}
        self.assertEqual(there, {path.name for path in public_headers()})

    def test_every_type_and_free_function_is_explained(self):
        silent, count = [], 0
        for compound in self.compounds:
            kind, name = compound.get("kind"), compound.findtext("compoundname")
            if kind in ("class", "struct") and compound.get("prot") == "public":
                count += 1
                silent += [] if is_explained(compound) else [name]
            for member in compound.iter("memberdef"):
                if member.get("kind") == "enum" or kind == "namespace":
                    count += 1
                    silent += [] if is_explained(member) else [f"{name}::{member.findtext('name')}"]
        self.assertEqual(silent, [])
        self.assertGreater(count, 50)

    def test_nothing_private_is_shown(self):
        names = {compound.findtext("compoundname") for compound in self.compounds}
        self.assertIn("takt::Scope", names)
        self.assertEqual([name for name in names if "detail" in name], [])


if __name__ == "__main__":
    if shutil.which("doxygen") is None:
        print("not checked: no doxygen")
        sys.exit(77)
    unittest.main()
