# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Spack recipe. Untested: Spack could not be reached. Replace the placeholder in `git`."""

from spack.package import *
from spack_repo.builtin.build_systems.cmake import CMakePackage


class Takt(CMakePackage):
    """C++ library and command that show where each training step's time goes."""

    git = "<git URL of this repository>"

    license("BSD-3-Clause")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    variant("shared", default=False, description="Build libtakt as a shared library")
    variant("mlflow", default=True, description="takt::mlflow, and sending from takt::wandb")
    variant("cli", default=True, description="The command takt")

    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("fmt@8.1:", type="build")
    depends_on("nlohmann-json@3.9.1:", type="build")
    depends_on("cli11@2:", type="build", when="+cli")
    depends_on("curl@7.68:", when="+mlflow")

    requires("platform=linux", msg="Takt supports Linux only")

    def cmake_args(self):
        return [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("TAKT_WITH_MLFLOW", "mlflow"),
            self.define_from_variant("TAKT_WITH_WANDB_ONLINE", "mlflow"),
            self.define_from_variant("TAKT_WITH_CLI", "cli"),
            self.define("TAKT_BUILD_TESTS", False),
            self.define("TAKT_BUILD_EXAMPLES", False),
            self.define("TAKT_BUILD_BENCHMARKS", False),
            self.define("TAKT_WITH_NVTX", False),
            self.define("TAKT_WITH_NVCC", False),
        ]
