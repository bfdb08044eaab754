# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the Conan recipe in packaging/: creates the package, static and shared, and builds programs with it.

Conan is installed with pip into a build directory; the test is skipped if PyPI is unreachable. Its cache is temporary and has
no remotes. Takt's requirements are recipes that lead to this machine's packages, with the names, targets and options of
ConanCenter's."""

import argparse
import os
import pathlib
import re
import sys
import tempfile
import unittest

from commands import ROOT, header_version, run

sys.path.insert(0, str(ROOT / "tests/integration"))

import fetch  # noqa: E402

# Versions as in ConanCenter, some of a later major than Takt's minimum, with the file, target and mode of find_package().
SYSTEM = {"fmt/11.0.2": ("fmt", "fmt::fmt-header-only", "config"),
          "nlohmann_json/3.11.3": ("nlohmann_json", "nlohmann_json::nlohmann_json", "config"),
          "cli11/2.4.2": ("CLI11", "CLI11::CLI11", "config"),
          "libcurl/8.10.1": ("CURL", "CURL::libcurl", "both")}
RECIPE = """
from conan import ConanFile
class System(ConanFile):
    name, version = "{package}", "{version}"
    package_type = "{kind}-library"
    options = {{"header_only": [True, False]}}
    default_options = {{"header_only": False}}
    def package_info(self):
        self.cpp_info.includedirs = self.cpp_info.libdirs = self.cpp_info.bindirs = []
        self.cpp_info.system_libs = ["curl"] if self.name == "libcurl" else []
        self.cpp_info.set_property("cmake_file_name", "{file}")
        self.cpp_info.set_property("cmake_find_mode", "{mode}")
        if self.name != "fmt" or self.options.header_only:
            self.cpp_info.set_property("cmake_target_name", "{target}")
"""
arguments = None


class ConanTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="takt-conan-")
        cls.addClassCleanup(scratch.cleanup)
        cls.scratch = pathlib.Path(scratch.name)
        # The build directories are below the cache, so relative paths let ccache find earlier results.
        cls.environment = {**os.environ, "CONAN_HOME": str(cls.scratch / "home"), "CCACHE_BASEDIR": scratch.name, "CCACHE_NOHASHDIR": "1",
                           "CXX": arguments.compiler, "PATH": f"{pathlib.Path(arguments.cmake).parent}:{os.environ['PATH']}"}
        cls.conan("profile", "detect")
        cls.conan("remote", "remove", "*")
        for reference, (file, target, mode) in SYSTEM.items():
            package, version = reference.split("/")
            recipe = cls.scratch / package / "conanfile.py"
            recipe.parent.mkdir()
            recipe.write_text(RECIPE.format(package=package, version=version, file=file, target=target, mode=mode,
                                            kind="static" if package == "libcurl" else "header"), encoding="utf-8")
            cls.conan("export", recipe.parent)

    @classmethod
    def conan(cls, *words):
        return run(pathlib.Path(sys.executable).with_name("conan"), *words, cwd=cls.scratch, env=cls.environment)

    def create(self, *options):
        # The recipe's own test program runs, too.
        self.options = [word for option in options for word in ("-o", f"takt/*:{option}")]
        # Without these, find_package() would continue with the machine's own packages if it rejected Conan's.
        only = {f"CMAKE_FIND_ROOT_PATH_MODE_{what}": "ONLY" for what in ("PACKAGE", "INCLUDE", "LIBRARY")}
        only["CMAKE_FIND_ROOT_PATH"] = str(self.scratch)
        self.options += ["-c", f"tools.cmake.cmaketoolchain:extra_variables={only}"]
        return self.conan("create", ROOT / "packaging/conan", "--build=missing", "--build=takt/*", "-c", "tools.build:jobs=2",
                          "-c", f"tools.cmake.cmake_layout:test_folder={self.scratch / 'test_package'}",
                          "-c", "tools.cmake.cmaketoolchain:user_presets=", *self.options)

    def build(self, *components):
        """Builds and runs a program for libtakt and for each of these components."""
        directory = self.scratch / self.id()
        self.conan("install", f"--requires=takt/{header_version()}", "-g", "CMakeDeps", "-g", "CMakeToolchain", "-of", directory,
                   *self.options)
        run(arguments.cmake, "-G", arguments.generator, "-S", ROOT / "tests/package/conan", "-B", directory / "build",
            f"-DCOMPONENTS={';'.join(components)}", f"-DCMAKE_TOOLCHAIN_FILE={directory / 'conan_toolchain.cmake'}",
            "-DCMAKE_BUILD_TYPE=Release", env=self.environment)
        run(arguments.cmake, "--build", directory / "build", env=self.environment)
        self.assertIn(f"takt_DIR:PATH={self.scratch}/home/", (directory / "build/CMakeCache.txt").read_text(encoding="utf-8"))
        for program in ("takt", *components):
            run(directory / "build" / program, cwd=directory)

    def test_a_static_package_has_the_command_and_the_trackers(self):
        printed = self.create("shared=False", "mlflow=True", "cli=True")
        self.assertEqual(len(re.findall(r"^Batch +3 ", printed, re.MULTILINE)), 2, printed)  # the second is by `takt report`
        self.build("mlflow", "tensorboard", "wandb")

    def test_a_shared_package_has_its_trackers(self):
        self.assertNotIn("cli11", self.create("shared=True", "mlflow=True", "cli=False"))
        self.build("mlflow", "tensorboard")

    def test_a_package_without_options_needs_no_libraries(self):
        self.assertNotRegex(self.create("shared=False", "mlflow=False", "cli=False"), "cli11|libcurl")
        self.build("tensorboard", "wandb")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("--cmake", "--generator", "--compiler"):
        parser.add_argument(option, required=True)
    parser.add_argument("--venv", type=pathlib.Path, help="installs Conan there, and runs with its Python")
    arguments, rest = parser.parse_known_args()
    if arguments.venv:
        fetch.become(fetch.fetch("Conan", ["conan>=2.1,<3"], arguments.venv), arguments.venv, __file__, f"--cmake={arguments.cmake}",
                     f"--generator={arguments.generator}", f"--compiler={arguments.compiler}", *rest)
    unittest.main(argv=[sys.argv[0], *rest])
