# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Puts the checks on a GPU into one directory that runs on other machines: gpu_pack.py <build directory> <new directory> [--here] [--simulated]

It refuses what would not run there, and says what. --here: it is for this machine, and may need its C library. --simulated: the programs
are those on gpu_simulator.cpp, which the tests pack by the same rules. scripts/device-check.sh calls it."""

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
NEWEST = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13)}  # those of Ubuntu 22.04, and of what is newer
ARCHITECTURES = {"sm_80", "sm_90", "ptx"}
# What each machine has that these programs can run on.
EVERYWHERE = re.compile(r"(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|ld-linux-x86-64|ld-linux-aarch64)\.so\.\d+$")
CARRIED = re.compile(r"libfmt\.so\.\d+$")
SCRIPTS = ("gpu_check.py", "gpu_clock.py", "gpu_machine.py", "gpu_table.py", "gpu_torch.py")


def programs(build, simulated):
    """Where each file of the directory comes from."""
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
    """The libraries to bring along for this one: {name: where it is}."""
    found = dict(re.findall(r"(\S+) => (/\S+)", output("ldd", path)))
    return {name: pathlib.Path(found[name]) for name in needed(path) if CARRIED.match(name)}


def version(text):
    return tuple(int(part) for part in text.split("."))


def too_new(path):
    """Symbols of versions that machines out there lack."""
    for of, number, symbol in re.findall(r"\((\w+?)_([0-9.]+)\)? +(\S+)", output("objdump", "-T", path)):
        if of in NEWEST and version(number) > NEWEST[of]:
            yield f"{path.name} needs {symbol} of {of}_{number}; {'.'.join(map(str, NEWEST[of]))} is the newest that may be"


def problems(pack, options):
    """What would keep the directory from running elsewhere."""
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
