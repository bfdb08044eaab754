# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Packs the checks on a GPU into one directory that runs on other machines: gpu_pack.py <build directory> <new
directory> [--here] [--simulated]

Rejects and lists everything that would not run there. --here: for this machine only, so its C library may be used.
--simulated: packs the programs on gpu_simulator.cpp, which tests the same rules. scripts/device-check.sh calls it."""

import argparse
import datetime
import pathlib
import re
import shutil
import subprocess
import sys

from gpu_code import architectures

HERE = pathlib.Path(__file__).resolve().parent
MOST_BYTES = 32 * 2**20
# versions of Ubuntu 22.04, which newer systems also have
NEWEST = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13)}
ARCHITECTURES = {"sm_80", "sm_90", "ptx"}
# Libraries that every supported machine has.
EVERYWHERE = re.compile(r"(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|ld-linux-x86-64|ld-linux-aarch64)\.so\.\d+$")
CARRIED = re.compile(r"libfmt\.so\.\d+$")
SCRIPTS = ("gpu_check.py", "gpu_clock.py", "gpu_machine.py", "gpu_table.py", "gpu_torch.py")


def programs(build, simulated):
    """Returns the source of each file of the directory."""
    device = build / "tests" / "device"
    names = {"bin/gpu_check": device / "gpu_check", "bin/gpu_training": build / "examples" / "example_18_cuda_training_step"}
    if simulated:
        names = {"bin/gpu_check": device / "gpu_check_simulated", "bin/gpu_training": device / "gpu_training_simulated"}
    return {**names, "bin/gpu_probe": device / "gpu_probe", "lib/libcount_calls.so": device / "libcount_calls.so",
            "lib/libgpu_regions.so": device / "libgpu_regions.so",
            "lib/hip_on_cuda/libamdhip64.so.7": device / "fakes" / "hip_on_cuda" / "libamdhip64.so.7"}


def output(*command):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True).stdout


def needed(path):
    return re.findall(r"NEEDED +(\S+)", output("objdump", "-p", path))


def carried(path):
    """Returns the libraries to pack for this program: {name: path}."""
    found = dict(re.findall(r"(\S+) => (/\S+)", output("ldd", path)))
    return {name: pathlib.Path(found[name]) for name in needed(path) if CARRIED.match(name)}


def version(text):
    return tuple(int(part) for part in text.split("."))


def too_new(path):
    """Returns symbols with versions that other machines lack."""
    for of, number, symbol in re.findall(r"\((\w+?)_([0-9.]+)\)? +(\S+)", output("objdump", "-T", path)):
        if of in NEWEST and version(number) > NEWEST[of]:
            yield f"{path.name} needs {symbol} of {of}_{number}; {'.'.join(map(str, NEWEST[of]))} is the newest that may be"


def problems(pack, options):
    """Returns the reasons why the directory would not run elsewhere."""
    for path in sorted((*pack.glob("bin/*"), *pack.glob("lib/**/*.so*"))):
        yield from (f"{path.name} needs {name}, which is not everywhere" for name in needed(path)
                    if not EVERYWHERE.match(name) and not (pack / "lib" / name).is_file())
        if not options.here:
            yield from too_new(path)
    if not options.here and not options.simulated:
        for name in ("gpu_check", "gpu_training"):
            lacking = ARCHITECTURES - architectures(pack / "bin" / name)
            if lacking:
                yield f"{name} has no code for {', '.join(sorted(lacking))}"
    size = sum(path.stat().st_size for path in pack.rglob("*") if path.is_file())
    if size > MOST_BYTES:
        yield f"the directory has {size} bytes; {MOST_BYTES} are the most"


def add(pack, name, source):
    target = pack / name
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)
    target.chmod(0o755)
    subprocess.run(["strip", "--strip-unneeded", str(target)], check=True)


def built_from():
    try:
        commit = output("git", "-C", HERE, "describe", "--always", "--dirty").strip()
    except (OSError, subprocess.CalledProcessError):
        commit = "an unknown commit"
    return f"from {commit} on {datetime.date.today().isoformat()}"


def fill(pack, options):
    sources = programs(options.build, options.simulated)
    for name, source in sources.items():
        add(pack, name, source)
        for library, where in carried(source).items():
            add(pack, f"lib/{library}", where)
    for script in SCRIPTS:
        shutil.copy(HERE / script, pack)
    shutil.copy(HERE / "gpu_run.sh", pack / "run.sh")
    (pack / "run.sh").chmod(0o755)
    (pack / "built.txt").write_text(built_from() + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("pack", type=pathlib.Path)
    parser.add_argument("--here", action="store_true")
    parser.add_argument("--simulated", action="store_true")
    options = parser.parse_args()
    if options.pack.exists() and any(options.pack.iterdir()):
        print(f"{options.pack} is not empty", file=sys.stderr)
        return 2
    options.pack.mkdir(parents=True, exist_ok=True)
    fill(options.pack, options)
    wrong = list(problems(options.pack, options))
    print("".join(f"{each}\n" for each in wrong), end="", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
