# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the package made by `cpack`: its metadata, its installation with dpkg, its use by a program, and its complete
removal.

dpkg uses a separate directory with its own database, so this machine's packages do not change."""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from commands import ROOT, header_version, run

arguments = None


class DebTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="takt-deb-")
        cls.addClassCleanup(scratch.cleanup)
        cls.scratch = pathlib.Path(scratch.name)
        cls.made = run(arguments.cpack, "-G", "DEB", "-B", cls.scratch / "made", cwd=arguments.build)
        cls.packages = list((cls.scratch / "made").glob("*.deb"))

    def setUp(self):
        self.assertEqual(len(self.packages), 1, self.made)
        self.package = self.packages[0]
        self.root = self.scratch / self.id()
        for directory in ("info", "updates"):
            (self.root / "var/lib/dpkg" / directory).mkdir(parents=True)
        (self.root / "var/lib/dpkg/status").touch()

    def field(self, name):
        return run("dpkg-deb", "-f", self.package, name).strip()

    def dpkg(self, *words):
        # The dependencies are in the machine's own database.
        return run("dpkg", f"--root={self.root}", "--log=/dev/null", "--force-not-root", "--force-depends", *words)

    def there(self):
        """Returns everything in the directory except dpkg's own files."""
        return sorted(path.relative_to(self.root).as_posix() for path in self.root.rglob("*")
                      if not path.relative_to(self.root).as_posix().startswith("var"))

    def test_its_metadata(self):
        architecture = run("dpkg", "--print-architecture").strip()
        self.assertEqual(self.package.name, f"libtakt-dev_{header_version()}_{architecture}.deb")
        self.assertEqual((self.field("Package"), self.field("Version"), self.field("Architecture"), self.field("Section")),
                         ("libtakt-dev", header_version(), architecture, "libdevel"))

    def test_it_depends_on_the_libraries_of_its_files(self):
        depends = self.field("Depends")
        run("dpkg-deb", "-x", self.package, self.root)
        packages = set()
        if (self.root / "usr/include/takt/exporters/mlflow.hpp").exists():
            self.assertIn("libcurl4-openssl-dev | libcurl4-gnutls-dev", depends)
        for program in [*(self.root / "usr/bin").glob("*"), *(self.root / "usr/lib").rglob("*.so")]:
            libraries = re.findall(r" => (/\S+)", run("ldd", program))
            needed = re.findall(r"NEEDED +(\S+)", run("objdump", "-p", program))
            for library in (library for library in libraries if os.path.basename(library) in needed):
                # If /lib is a link to /usr/lib, the database knows the library by one of its two names.
                found = subprocess.run(["dpkg", "-S", library, os.path.realpath(library)], stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True, check=False).stdout
                packages.add(found.split(":", 1)[0])
        self.assertEqual({package for package in packages if not re.search(rf"(^|, ){re.escape(package)}( |,|$)", depends)}, set())
        self.assertNotRegex(depends, "fmt|nlohmann|cli11")
        self.assertEqual((self.root / "usr/bin/takt").exists(), "HAS_CLI" in os.environ)
        self.assertEqual("libstdc++6" in packages, "HAS_CLI" in os.environ)

    def test_it_is_installed_found_and_removed(self):
        self.dpkg("-i", self.package)
        self.assertIn("usr/include/takt/takt.hpp", self.there())
        self.assertEqual(len(self.there()), len(run("dpkg-deb", "-c", self.package).splitlines()))
        for consumer in ("find_package", "mlflow"):
            if consumer == "mlflow" and "usr/include/takt/exporters/mlflow.hpp" not in self.there():
                continue
            build = self.root / "var/build" / consumer
            run(arguments.cmake, "-G", arguments.generator, "-S", ROOT / "tests/consumer" / consumer, "-B", build,
                f"-DCMAKE_CXX_COMPILER={arguments.compiler}", f"-DCMAKE_PREFIX_PATH={self.root / 'usr'}")
            run(arguments.cmake, "--build", build)
            self.assertIn(str(self.root / "usr"), (build / "CMakeCache.txt").read_text(encoding="utf-8"))
            run(build / "consumer", cwd=build)
        if "HAS_CLI" in os.environ:
            for file in ("man/man1/takt.1", "bash-completion/completions/takt", "zsh/site-functions/_takt",
                         "fish/vendor_completions.d/takt.fish"):
                self.assertIn("takt", (self.root / "usr/share" / file).read_text(encoding="utf-8"))
            self.assertIn(header_version(), run(self.root / "usr/bin/takt", "--version"))
        self.dpkg("-r", "libtakt-dev")
        self.assertEqual(self.there(), [])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("--build", "--cmake", "--cpack", "--generator", "--compiler"):
        parser.add_argument(option, required=True)
    arguments, rest = parser.parse_known_args()
    if not all(shutil.which(tool) for tool in ("dpkg", "dpkg-deb", "dpkg-shlibdeps")):
        print("not checked: no dpkg, or no dpkg-shlibdeps")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest])
