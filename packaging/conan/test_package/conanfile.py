# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Builds and runs a program with the package that `conan create` has just made."""

import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, cmake_layout


class TaktTest(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps", "CMakeToolchain"

    def requirements(self):
        self.requires(self.tested_reference_str, run=True)  # the command, too

    def layout(self):
        cmake_layout(self)

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if not can_run(self):
            return
        runs = os.path.join(self.build_folder, "takt-runs")
        self.run(f"TAKT_DIR={runs} {os.path.join(self.cpp.build.bindir, 'train')}", env="conanrun")
        if self.dependencies["takt"].options.cli:
            self.run(f"takt report {runs}/*", env="conanrun")
