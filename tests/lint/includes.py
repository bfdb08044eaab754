# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Who may include whom. Every #include of the library is resolved to an area, and each area names those it may use."""

import re
import tree

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)
PUBLIC_FOLDERS = {"include": "core", "backends/include": "backends", "exporters/include": "exporters"}

# By file name for headers; a .cpp file next to them may use `system` and `third party` too.
MAY_USE = {
    "core": {"core", "standard"},
    "backends": {"backends", "core", "standard"},
    "exporters": {"exporters", "core", "standard"},
    "src": {"src", "core", "standard", "system"},
    "backends/src": {"backends/src", "backends", "core", "standard", "system"},
    "exporters/src": {"exporters/src", "exporters", "core", "standard", "system"},
}
CPP_MAY_USE = {"system", "third party"}
# What exporters, which are libraries of their own, may use of libtakt's private part: it is exported, or nothing but constants.
SHARED_WITH_EXPORTERS = {"crc32c.hpp", "descriptor.hpp", "fault.hpp", "file.hpp", "folder_files.hpp", "journal_reader.hpp",
                         "json_text.hpp", "losses.hpp", "nanoseconds.hpp", "other_process.hpp"}
# The front door of training code brings the CPU clock along. Nothing else crosses.
EXCEPTIONS = {("include/takt/takt.hpp", "takt/backends/cpu.hpp")}

# <time.h> and <sched.h> are POSIX and come with every libstdc++ header that knows threads; the recorder needs
# clock_gettime and sched_yield inline.
STANDARD = {"time.h", "sched.h"} | set(
    """algorithm any array atomic bitset cctype cerrno cfloat charconv chrono cinttypes climits clocale cmath
    condition_variable csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime cwchar deque exception filesystem
    forward_list fstream functional future initializer_list iomanip ios iosfwd iostream istream iterator limits list
    locale map memory memory_resource mutex new numeric optional ostream queue random ratio regex set shared_mutex sstream
    stack stdexcept streambuf string string_view system_error thread tuple type_traits typeindex typeinfo unordered_map
    unordered_set utility valarray variant vector version""".split())
THIRD_PARTY = re.compile(r"(fmt|nlohmann|CLI|curl|nvtx3|catch2|benchmark|spdlog)/|cuda|hip|roctx|roctracer", re.IGNORECASE)


def area_of_file(path):
    for folder, area in PUBLIC_FOLDERS.items():
        if path.startswith(folder + "/"):
            return area
    for area in ("backends/src", "exporters/src", "src"):
        if path.startswith(area + "/"):
            return area
    return None


def area_of_include(path, quote, name):
    if quote == '"' and area_of_file(path) == "exporters/src" and not (tree.root() / path).with_name(name).is_file():
        return "exporters/src" if name in SHARED_WITH_EXPORTERS else "src"
    if quote == '"':
        return area_of_file(path) if path.endswith(".cpp") or not name.startswith("takt/") else "quoted public header"
    for folder, area in PUBLIC_FOLDERS.items():
        if (tree.root() / folder / name).is_file():
            return area
    if name.startswith("takt/"):
        return "missing"
    if name in STANDARD:
        return "standard"
    return "third party" if THIRD_PARTY.match(name) else "system"


def main():
    problems = []
    checked = 0
    for path, text in tree.files(tree.CODE, ("include", "src", "backends", "exporters")):
        area = area_of_file(path)
        if area is None or path.startswith("src/cli/"):
            continue
        allowed = MAY_USE[area] | (CPP_MAY_USE if path.endswith(".cpp") else set())
        for quote, name in INCLUDE.findall(text):
            checked += 1
            used = area_of_include(path, quote, name)
            if used not in allowed and (path, name) not in EXCEPTIONS:
                problems.append(f"{path}: <{name}> is {used}; {area} may include {', '.join(sorted(allowed))}")
    print(f"{checked} includes")
    tree.finish(problems if checked else ["no include found"])


main()
