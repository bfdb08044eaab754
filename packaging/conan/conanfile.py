# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Conan 2 recipe that packages this checkout: conan create packaging/conan --build=missing

Programs use Takt's own CMake package, so the targets are the same as after `cmake --install`."""

import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

required_conan_version = ">=2.1"


class TaktConan(ConanFile):
    name = "takt"
    description = "Where each training step's time goes"
    license = "BSD-3-Clause"
    topics = ("profiling", "training", "performance")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "mlflow": [True, False], "cli": [True, False]}
    # Takt compiles fmt into itself, so it needs the target that fmt's package has with this option only.
    default_options = {"shared": False, "fPIC": True, "mlflow": True, "cli": True, "fmt/*:header_only": True}
    implements = ["auto_shared_fpic"]

    def checkout(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        config = load(self, os.path.join(self.checkout(), "include", "takt", "config.hpp"))
        self.version = ".".join(re.findall(r"#define TAKT_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", config))

    def export_sources(self):
        for name in ("CMakeLists.txt", "LICENSE"):
            copy(self, name, self.checkout(), self.export_sources_folder)
        for name in ("backends", "bindings", "cmake", "exporters", "include", "src"):
            copy(self, f"{name}/*", self.checkout(), self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        # Programs that use Takt need neither of the first three.
        self.requires("fmt/[>=8.1]", visible=False)
        self.requires("nlohmann_json/[>=3.9.1]", visible=False)
        if self.options.cli:
            self.requires("cli11/[>=2.0]", visible=False)
        if self.options.mlflow:
            # takt-config.cmake looks for it, even if libtakt is shared.
            self.requires("libcurl/[>=7.68]", transitive_libs=True)

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("Takt supports Linux only")
        check_min_cppstd(self, 17)

    def generate(self):
        dependencies = CMakeDeps(self)
        for package in ("fmt", "nlohmann_json", "cli11", "libcurl"):
            # By default Conan rejects a later major version than Takt's minimum.
            dependencies.set_property(package, "cmake_config_version_compat", "AnyNewerVersion")
        dependencies.generate()
        toolchain = CMakeToolchain(self)
        mlflow, cli = ("ON" if option else "OFF" for option in (self.options.mlflow, self.options.cli))
        toolchain.cache_variables.update({
            "TAKT_BUILD_TESTS": "OFF", "TAKT_BUILD_EXAMPLES": "OFF", "TAKT_BUILD_BENCHMARKS": "OFF",
            "TAKT_WITH_MLFLOW": mlflow, "TAKT_WITH_WANDB_ONLINE": mlflow, "TAKT_WITH_CLI": cli,
            "TAKT_WITH_NVTX": "OFF", "TAKT_WITH_NVCC": "OFF"})
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")  # takt-config.cmake is in the package
        self.cpp_info.builddirs = ["lib/cmake/takt"]
        # For other build systems, which get the core.
        self.cpp_info.libs = ["takt"]
        self.cpp_info.system_libs = ["pthread", "dl"]
