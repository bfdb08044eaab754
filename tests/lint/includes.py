# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Checks who may include whom. Resolves every #include to an area or a module, and checks the list of allowed ones."""

import re
import tree
from modules import ROOMS

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)
PUBLIC_DIRS = {"include": "core", "backends/include": "backends", "exporters/include": "exporters"}

PUBLIC = {"core", "standard"}
# Allowed includes in an area's headers; a .cpp file next to them may use `system` and `third party` too.
MAY_USE = {"core": PUBLIC, "backends": {"backends"} | PUBLIC, "exporters": {"exporters"} | PUBLIC,
           "backends/src": {"backends/src", "backends", "system"} | PUBLIC}
CPP_MAY_USE = {"system", "third party"}
# The exporters are separate libraries. They may use these modules of libtakt if the code is exported or header-only.
LIBTAKT = {"base", "record", "process", "journal", "sample", "findings", "ranks", "measure", "report", "page", "session"}
SHARED_WITH_EXPORTERS = {"base/encoding.hpp", "base/environment.hpp", "base/report_error.hpp", "base/file.hpp",
                         "base/directory_files.hpp", "base/format.hpp", "base/git_tree.hpp", "base/json.hpp", "base/json_text.hpp",
                         "base/other_process.hpp", "base/secrets.hpp", "base/text.hpp", "base/threads.hpp",
                         "journal/journal_reader.hpp"}
# The same for the backends, which look up vendors' libraries like the sampler does.
SHARED_WITH_BACKENDS = {"base/driver_library.hpp", "base/threads.hpp"}
# The main header for training code includes the CPU clock. One header includes the program's MPI. Two include its
# libtorch; one of them includes the backend that this libtorch is built for. No other exceptions.
EXCEPTIONS = {("include/takt/takt.hpp", "takt/backends/cpu.hpp"), ("include/takt/mpi.hpp", "mpi.h"),
              *(("include/takt/detail/torch_observer.hpp", name)
                for name in ("ATen/SequenceNumber.h", "ATen/record_function.h", "c10/core/GradMode.h")),
              *(("include/takt/torch.hpp", name) for name in ("ATen/record_function.h", "torch/version.h", "takt/backends/cuda.hpp",
                "takt/backends/hip.hpp", "c10/cuda/CUDAStream.h", "c10/hip/HIPStream.h"))}

# <time.h> and <sched.h> are POSIX and included by every libstdc++ header about threads; the recorder needs
# clock_gettime and sched_yield inline.
STANDARD = {"time.h", "sched.h"} | set(
    """algorithm any array atomic bitset cctype cerrno cfloat charconv chrono cinttypes climits clocale cmath
    condition_variable csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime cwchar deque exception filesystem
    forward_list fstream functional future initializer_list iomanip ios iosfwd iostream istream iterator limits list
    locale map memory memory_resource mutex new numeric optional ostream queue random ratio regex set shared_mutex sstream
    stack stdexcept streambuf string string_view system_error thread tuple type_traits typeindex typeinfo unordered_map
    unordered_set utility valarray variant vector version""".split())
# Slow to compile, and in a version that a program may not share: each is included by only one source, which the others
# call.
ALONE = {"fmt/": {"src/base/format.cpp"}, "nlohmann/": {"src/base/json.cpp"},
         "CLI/": {"src/cli/command_line.cpp"}}
THIRD_PARTY = re.compile(r"(fmt|nlohmann|CLI|curl|nvtx3|catch2|benchmark|spdlog)/|cuda|hip|roctx|roctracer", re.IGNORECASE)


def area_of_file(path):
    """Returns core, backends, exporters, backends/src, or a module of the sources."""
    for directory, area in PUBLIC_DIRS.items():
        if path.startswith(directory + "/"):
            return area
    if path.startswith("backends/src/"):
        return "backends/src"
    room = re.match(r"(?:exporters/)?src/(?:(\w+)/)?", path)
    return room[1] or "no room"


def area_of_include(path, quote, name):
    if quote == '"' and name.startswith("takt/"):
        return "a public header in quotes"
    if quote == '"' and path.startswith("backends/src/"):
        return "private to libtakt" if "/" in name and name not in SHARED_WITH_BACKENDS else "backends/src"
    if quote == '"':
        room = name.split("/")[0] if "/" in name else "without its room"
        crosses = path.startswith("exporters/") and room in LIBTAKT and name not in SHARED_WITH_EXPORTERS
        return f"private to libtakt ({room})" if crosses else room
    for directory, area in PUBLIC_DIRS.items():
        if (tree.root() / directory / name).is_file():
            return area
    if name.startswith("takt/"):
        return "missing"
    if name in STANDARD:
        return "standard"
    return "third party" if THIRD_PARTY.match(name) else "system"


def missing_in_design():
    pages = (tree.root() / "docs/design.md").read_text(encoding="utf-8")
    return [f"docs/design.md: no room {room}" for room in ROOMS if f"src/{room}/`" not in pages]


def misplaced(path, name):
    """Returns the sources that may include it, if this one may not."""
    homes = next((files for prefix, files in ALONE.items() if name.startswith(prefix)), {path})
    return set() if path in homes else homes


def allowed_in(area, path):
    if area in ROOMS:
        allowed = ROOMS[area] | {area, "system"} | PUBLIC
        allowed |= {"exporters"} if path.startswith(("exporters/", "src/cli/", "src/report/")) else set()
    else:
        allowed = MAY_USE.get(area, set())
    return allowed | (CPP_MAY_USE if path.endswith(".cpp") else set())


def circles():
    """Finds circles between modules: each may use only those above it."""
    above = set()
    for room, used in ROOMS.items():
        yield from ((room, other) for other in used - above)
        above.add(room)


def main():
    problems = [f"{room}: {used} stands below it in the table of modules: a circle" for room, used in circles()]
    problems += missing_in_design()
    checked = 0
    for path, text in tree.files(tree.CODE, ("include", "src", "backends", "exporters")):
        area = area_of_file(path)
        allowed = allowed_in(area, path)
        if not allowed:
            problems.append(f"{path}: {area} is not in the table of modules")
        for quote, name in INCLUDE.findall(text):
            checked += 1
            used = area_of_include(path, quote, name)
            if used not in allowed and (path, name) not in EXCEPTIONS:
                problems.append(f"{path}: {name} is {used}; {area} may include {', '.join(sorted(allowed))}")
            if homes := misplaced(path, name):
                problems.append(f"{path}: {name} is for {', '.join(sorted(homes))} alone")
    print(f"{checked} includes")
    tree.finish(problems if checked else ["no include found"])


main()
