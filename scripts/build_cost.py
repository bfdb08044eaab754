# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Prints the cost of building Takt, in units, and the sizes of the results: build_cost.py [--limits] <checkout>...

A unit is the processor time of compiling a four-line program that uses nlohmann/json: times differ between machines,
the ratio does not. With --limits the status is 1 if the last checkout exceeds the limits below."""

import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

# Limits, in units, bytes or seconds.
LIMITS = {"takt::takt alone": 15, "installed build": 45, "demo": 40, "program with a Session": 1_300_000, "command": 3_500_000,
          "touched source of src/report/": 15}
UNIT = """#include <nlohmann/json.hpp>
#include <cstdio>
int main(int count, char** words) {
  auto value = nlohmann::json::parse(count > 1 ? words[1] : "{}");
  value["count"] = count;
  std::puts(value.dump().c_str());
}
"""
PROGRAM = """#include <takt/session.hpp>
#include <takt/takt.hpp>
int main() {
  takt::Session session("one");
  takt::Scope batch(takt::Batch);
}
"""
CONSUMER = """cmake_minimum_required(VERSION 3.22)
project(consumer LANGUAGES CXX)
add_subdirectory("%s" takt)
add_executable(consumer program.cpp)
target_link_libraries(consumer PRIVATE takt::takt)
"""
RELEASE = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_COMPILER_LAUNCHER=", "-DTAKT_WITH_NVCC=OFF"]
WITHOUT = ["-DTAKT_BUILD_TESTS=OFF", "-DTAKT_BUILD_BENCHMARKS=OFF"]


def run(*words):
    """Runs a command without a compiler cache. Returns its processor time and its wall time, in s."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                          check=False, env={name: value for name, value in os.environ.items() if not name.startswith("CMAKE_")})
    if done.returncode != 0:
        sys.exit(done.stdout)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.monotonic() - begin


def text_of(program):
    """Returns the number of bytes that `size` counts as text."""
    return int(subprocess.run(["size", program], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[1].split()[0])


def objects_of(build):
    return len(list(build.rglob("*.o")))


class Cost:
    def __init__(self, checkout, scratch):
        self.checkout = checkout.resolve()
        self.scratch = pathlib.Path(scratch)
        self.figures = {}
        source = self.scratch / "unit.cpp"
        source.write_text(UNIT, encoding="utf-8")
        self.unit = statistics.median(run("g++", "-O2", "-c", source, "-o", self.scratch / "unit.o")[0] for _ in range(3))
        print(f"{checkout}: one unit is {self.unit:.2f} s of processor time")

    def tell(self, what, value, kind, more=""):
        self.figures[what] = value
        shown = {"units": f"{value:.1f} units", "bytes": f"{value / 1e6:.2f} MB", "s": f"{value:.1f} s"}[kind]
        print(f"  {what + ':':32}{shown:>12}{more}", flush=True)

    def build(self, name, *options, target, source=None):
        """Builds a target. Returns the directory."""
        directory = self.scratch / name
        run("cmake", "-S", source or self.checkout, "-B", directory, *RELEASE, *options)
        processor, wall = run("cmake", "--build", directory, "--target", target, "-j", os.cpu_count())
        self.tell(name, processor / self.unit, "units", f"  {objects_of(directory)} objects, {wall:.0f} s here")
        return directory

    def measure(self):
        project = self.scratch / "consumer"
        project.mkdir()
        (project / "program.cpp").write_text(PROGRAM, encoding="utf-8")
        (project / "CMakeLists.txt").write_text(CONSUMER % self.checkout, encoding="utf-8")
        alone = self.build("takt::takt alone", target="consumer", source=project)
        self.tell("program with a Session", text_of(alone / "consumer"), "bytes", "  of text")
        installed = self.build("installed build", *WITHOUT, "-DTAKT_BUILD_EXAMPLES=OFF", target="all")
        command = installed / "src/cli/takt"
        self.tell("command", command.stat().st_size, "bytes", f"  {text_of(command) / 1e6:.2f} MB of text")
        (self.checkout / "src/report/notes.cpp").touch()
        self.tell("touched source of src/report/", run("cmake", "--build", installed, "--target", "takt_command", "-j", os.cpu_count())[1], "s",
                  "  until the command is linked again")
        self.build("demo", *WITHOUT, target="example_01_digits")
        return self


def main():
    words = sys.argv[1:]
    with_limits = "--limits" in words
    checkouts = [word for word in words if word != "--limits"]
    if not checkouts:
        sys.exit(__doc__)
    for checkout in checkouts:
        with tempfile.TemporaryDirectory(prefix="takt-build-") as scratch:
            cost = Cost(pathlib.Path(checkout), scratch).measure()
    over = {what: limit for what, limit in LIMITS.items() if cost.figures[what] > limit}
    for what, limit in over.items():
        print(f"{what}: {cost.figures[what]:.4g}; {limit:.4g} is the limit")
    sys.exit(1 if over and with_limits else 0)


main()
