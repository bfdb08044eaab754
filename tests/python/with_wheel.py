# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Builds the wheel with pip, and runs tests with it.

with_wheel.py build <directory> [abi3]: builds, with Debian's Python if that has PyTorch, else with this one; for abi3 with
one from 3.12 on.
with_wheel.py run <directory> <test> [argument]...: runs a test. WITH: "torch" exits with 77 without PyTorch; "abi3" uses
that wheel with the newest Python; other words are packages from PyPI, with "alone" without those of the system."""

import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))

import fetch  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEBIAN = "/usr/bin/python3"
TELL = "import json, sys, sysconfig; print(json.dumps([sys.version_info[:2], sysconfig.get_path('include'), sys.executable]))"


def tell(python):
    """Returns version, directory of the headers, and path of a Python; None if it does not run."""
    done = subprocess.run([python, "-c", TELL], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def has(python, module):
    return subprocess.run([python, "-c", f"import {module}"], stderr=subprocess.DEVNULL, check=False).returncode == 0


def skip(why):
    print("skipped:", why)
    sys.exit(fetch.SKIPPED)


@functools.lru_cache
def new_pythons():
    """Returns the Pythons from 3.12 on, sorted by version."""
    found = [tell(path) for path in filter(None, (shutil.which(f"python3.{minor}") for minor in range(12, 20)))]
    found += [tell(str(path)) for path in pathlib.Path.home().glob(".pyenv/versions/3.*/bin/python3")]
    found = sorted(each for each in found if each is not None and each[0] >= [3, 12])
    if not found:
        skip("no Python from 3.12 on")
    return [each[2] for each in found]


def usual_python():
    python = DEBIAN if has(DEBIAN, "torch") else sys.executable
    if not (pathlib.Path(tell(python)[1]) / "Python.h").is_file():
        skip("no headers of Python (Debian and Ubuntu: apt-get install python3-dev)")
    return python


def environment_of(python, directory, packages, *options):
    """Returns the Python of a virtual environment, which is made if it is missing or has other packages."""
    inside = str(directory / "bin" / "python")
    ready, listed = directory / "takt-ready", "\n".join([python, *packages])
    if not ready.exists() or ready.read_text(encoding="utf-8") != listed:
        subprocess.run([python, "-m", "venv", "--clear", *options, str(directory)], check=True)
        fetch.install(inside, "what the wheel needs", *packages)
        ready.write_text(listed, encoding="utf-8")
    return inside


def build(base, kind="usual"):
    directory = base / kind
    inside = environment_of(new_pythons()[0] if kind == "abi3" else usual_python(), directory / "venv",
                            ["scikit-build-core", "nanobind"])
    shutil.rmtree(directory / "dist", ignore_errors=True)
    done = fetch.run(inside, "-m", "pip", "wheel", str(ROOT), "--no-build-isolation", "--no-deps", "-w",
                     str(directory / "dist"), f"--config-settings=build-dir={directory / 'build'}")
    print(done.stdout[-6000:])
    sys.exit(done.returncode)


def run(base, test, *arguments):
    wanted = os.environ.get("WITH", "")
    if wanted == "torch" and not has(usual_python(), "torch"):
        skip("no PyTorch (Debian and Ubuntu: apt-get install python3-torch)")
    directory = base / ("abi3" if wanted == "abi3" else "usual")
    packages = [] if wanted in ("", "abi3", "torch") else wanted.split()
    options = ["--system-site-packages"]
    if "alone" in packages:
        packages.remove("alone")
        options = []
    python = new_pythons()[-1] if wanted == "abi3" else usual_python()
    inside = environment_of(python, base / f"venv-{directory.name}-{pathlib.Path(test).stem}", packages or ["mypy"], *options)
    wheel = next((directory / "dist").glob("*.whl"))
    subprocess.run([inside, "-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps", str(wheel)], check=True)
    fetch.become(inside, directory, str(pathlib.Path(__file__).with_name(test)), *arguments)


{"build": build, "run": run}[sys.argv[1]](pathlib.Path(sys.argv[2]).resolve(), *sys.argv[3:])
