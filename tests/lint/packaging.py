# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the recipes in packaging/: packaging.py <root> <cmake>

* All have Takt's version, its options, its least versions of dependencies, and the sources that the build needs.
* The vcpkg port, the Spack recipe and the Dockerfile, which no test builds, are valid: CMake runs the portfile and Python
  the Spack recipe, with functions that check their arguments.
* docs/install.md names the placeholders, and has the same CMake options as the Dockerfile."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import types
import tree

CONAN = "packaging/conan/conanfile.py"
PORT = "packaging/vcpkg/takt/portfile.cmake"
MANIFEST = "packaging/vcpkg/takt/vcpkg.json"
SPACK = "packaging/spack/takt/package.py"
DOCKER = "packaging/docker/Dockerfile"
PAGE = "docs/install.md"
PLACEHOLDER = re.compile(r'"(<[^>"]+>)"')
# A recipe decides on each of these. The others detect what only tests and examples use.
DECIDED = {"TAKT_BUILD_TESTS", "TAKT_BUILD_EXAMPLES", "TAKT_BUILD_BENCHMARKS", "TAKT_WITH_CLI", "TAKT_WITH_MLFLOW",
           "TAKT_WITH_WANDB_ONLINE"}
# The options that each feature or variant turns on.
FEATURES = {"cli": {"TAKT_WITH_CLI"}, "mlflow": {"TAKT_WITH_MLFLOW", "TAKT_WITH_WANDB_ONLINE"}}


def read(path):
    return (tree.root() / path).read_text(encoding="utf-8")


def takt_version():
    return ".".join(re.findall(r"#define TAKT_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", read("include/takt/config.hpp")))


def option_problems():
    """Compares the options with those of CMakeLists.txt, where CMake would ignore one that is unknown."""
    known = set(re.findall(r"^(?:option|set)\((TAKT_\w+)", read("CMakeLists.txt"), re.MULTILINE))
    for path in (CONAN, PORT, SPACK, DOCKER):
        named = set(re.findall(r"TAKT_(?:BUILD|WITH)_\w+", read(path)))
        for option in sorted(named - known):
            yield f"{path}: CMakeLists.txt has no option {option}"
        for option in sorted(DECIDED - named):
            yield f"{path}: does not set {option}"


def least_version_problems():
    """Compares the least versions of dependencies with those that CMake accepts."""
    text = read("cmake/TaktDependencies.cmake")
    wanted = dict(re.findall(r"^takt_require\(\S+ (\w+) ([\d.]+)", text, re.MULTILINE))
    wanted["CLI11"] = re.search(r" CLI11 ([\d.]+) ", text)[1]
    wanted["CURL"] = re.search(r"TAKT_CURL_VERSION ([\d.]+)", text)[1]
    names = {"fmt": ("fmt", "fmt"), "nlohmann_json": ("nlohmann_json", "nlohmann-json"), "CLI11": ("cli11", "cli11"), "CURL": ("libcurl", "curl")}
    for package, version in wanted.items():
        conan, spack = names[package]
        if f'"{conan}/[>={version}]"' not in read(CONAN):
            yield f"{CONAN}: does not require {conan}/[>={version}]"
        if not re.search(rf'"{spack}@{version.removesuffix(".0")}(?:\.0)?:"', read(SPACK)):
            yield f"{SPACK}: does not depend on {spack}@{version}:"


def placeholder_problems():
    for path in (PORT, SPACK):
        for placeholder in PLACEHOLDER.findall(read(path)):
            if f"`{placeholder}`" not in read(PAGE):
                yield f"{PAGE}: does not say that {path} has the placeholder {placeholder}"


def manifest_problems():
    try:
        port = json.loads(read(MANIFEST))
    except json.JSONDecodeError as error:
        yield f"{MANIFEST}: {error}"
        return
    identifier = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
    for field in sorted(set(port) - {"$comment", "name", "version", "port-version", "description", "homepage", "license", "supports",
                                     "dependencies", "features"}):
        yield f"{MANIFEST}: vcpkg does not know the field {field}"
    for field in ("name", "version", "description", "license", "supports"):
        if not isinstance(port.get(field), str) or not port[field]:
            yield f"{MANIFEST}: no text in the field {field}"
    if port.get("version") != takt_version():
        yield f"{MANIFEST}: the version is {port.get('version')}, that of Takt {takt_version()}"
    if port.get("name") != pathlib.Path(MANIFEST).parent.name:
        yield f"{MANIFEST}: the name differs from the directory"
    if set(port["features"]) != set(FEATURES):
        yield f"{MANIFEST}: the features are {sorted(port['features'])}"
    for feature, said in port["features"].items():
        if not identifier.fullmatch(feature) or set(said) - {"description", "dependencies", "supports"} or not said.get("description"):
            yield f"{MANIFEST}: {feature} is not a feature with a description"
    for dependency in [*port["dependencies"], *(each for said in port["features"].values() for each in said["dependencies"])]:
        more = dependency if isinstance(dependency, dict) else {"name": dependency}
        if not identifier.fullmatch(more.get("name", "")) or set(more) - {"name", "host", "features", "default-features", "platform", "version>="}:
            yield f"{MANIFEST}: {dependency} is not a dependency"


# vcpkg's functions, which fail without a required argument or with an unknown one. vcpkg_cmake_configure prints the options.
STUBS = r"""
cmake_minimum_required(VERSION 3.22)
function(check_arguments name given required optional)
  set(lists FEATURES OPTIONS TOOL_NAMES FILE_LIST)
  set(values ${required} ${optional})
  list(REMOVE_ITEM values ${lists})
  cmake_parse_arguments(arg "AUTO_CLEAN" "${values}" "${lists}" ${given})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${name} does not know ${arg_UNPARSED_ARGUMENTS}")
  endif()
  foreach(each IN LISTS required)
    if(NOT arg_${each})
      message(FATAL_ERROR "${name} needs ${each}")
    endif()
  endforeach()
  foreach(each ${lists} ${values})
    set(arg_${each} "${arg_${each}}" PARENT_SCOPE)
  endforeach()
endfunction()
function(vcpkg_from_git)
  check_arguments(vcpkg_from_git "${ARGN}" "OUT_SOURCE_PATH;URL;REF" "HEAD_REF")
  set(${arg_OUT_SOURCE_PATH} ${TAKT_ROOT} PARENT_SCOPE)
endfunction()
function(vcpkg_check_features)
  check_arguments(vcpkg_check_features "${ARGN}" "OUT_FEATURE_OPTIONS;FEATURES" "")
  set(options)
  while(arg_FEATURES)
    list(POP_FRONT arg_FEATURES feature variable)
    set(value OFF)
    if(feature IN_LIST FEATURES)
      set(value ON)
    endif()
    list(APPEND options -D${variable}=${value})
  endwhile()
  set(${arg_OUT_FEATURE_OPTIONS} ${options} PARENT_SCOPE)
endfunction()
function(vcpkg_cmake_configure)
  check_arguments(vcpkg_cmake_configure "${ARGN}" "SOURCE_PATH" "")
  if(NOT EXISTS ${arg_SOURCE_PATH}/CMakeLists.txt)
    message(FATAL_ERROR "no CMakeLists.txt in SOURCE_PATH")
  endif()
  message(STATUS "options ${arg_OPTIONS}")
endfunction()
function(vcpkg_cmake_install)
  check_arguments(vcpkg_cmake_install "${ARGN}" "" "")
endfunction()
function(vcpkg_cmake_config_fixup)
  check_arguments(vcpkg_cmake_config_fixup "${ARGN}" "CONFIG_PATH" "PACKAGE_NAME")
endfunction()
function(vcpkg_fixup_pkgconfig)
  check_arguments(vcpkg_fixup_pkgconfig "${ARGN}" "" "")
endfunction()
function(vcpkg_copy_tools)
  check_arguments(vcpkg_copy_tools "${ARGN}" "TOOL_NAMES" "")
endfunction()
function(vcpkg_install_copyright)
  check_arguments(vcpkg_install_copyright "${ARGN}" "FILE_LIST" "")
  foreach(file IN LISTS arg_FILE_LIST)
    if(NOT EXISTS ${file})
      message(FATAL_ERROR "there is no ${file}")
    endif()
  endforeach()
endfunction()
include(${TAKT_PORT})
"""


def port_problems(cmake):
    with tempfile.TemporaryDirectory(prefix="takt-port-") as scratch:
        stubs = pathlib.Path(scratch) / "stubs.cmake"
        stubs.write_text(STUBS, encoding="utf-8")
        for feature, options in {"core": set(), **FEATURES}.items():
            done = subprocess.run([cmake, f"-DFEATURES=core;{feature}", "-DPORT=takt", f"-DCURRENT_PACKAGES_DIR={scratch}/packages",
                                   f"-DTAKT_ROOT={tree.root().resolve()}", f"-DTAKT_PORT={(tree.root() / PORT).resolve()}", "-P", str(stubs)],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
            if done.returncode != 0:
                yield f"{PORT}: {' '.join(done.stderr.split())}"
                return
            on = set(re.findall(r"-D(TAKT_WITH_\w+)=ON", done.stdout))
            if on != options:
                yield f"{PORT}: with the feature {feature} these are on: {sorted(on)}"


class Spack:
    """Spack's functions that a recipe calls, with their parameters, and CMakePackage."""

    def __init__(self):
        self.versions, self.variants = set(), {}
        package = types.ModuleType("spack.package")
        for function in (self.version, self.variant, self.depends_on, self.requires, self.license):
            setattr(package, function.__name__, function)
        builder = types.ModuleType("spack_repo.builtin.build_systems.cmake")
        builder.CMakePackage = type("CMakePackage", (), {"define": staticmethod(self.define),
                                                         "define_from_variant": staticmethod(self.define_from_variant)})
        self.modules = {"spack": types.ModuleType("spack"), package.__name__: package, builder.__name__: builder}
        for name in ("spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"):
            self.modules[name] = types.ModuleType(name)

    def version(self, name, checksum=None, *, preferred=None, deprecated=None, branch=None, tag=None, commit=None, sha256=None):
        if not (checksum or branch or tag or commit or sha256):
            raise TypeError(f"the version {name} has no source")
        self.versions.add(name)

    def variant(self, name, default=None, description="", values=None, multi=None, when=None):
        if not description:
            raise TypeError(f"the variant {name} has no description")
        self.variants[name] = default

    def depends_on(self, spec, when=None, type=("build", "link")):  # pylint: disable=redefined-builtin
        if when and when.lstrip("+~") not in self.variants:
            raise TypeError(f"there is no variant {when}")

    def requires(self, *specs, policy="one_of", when=None, msg=None):
        if not specs:
            raise TypeError("nothing is required")

    def license(self, identifier, checked_by=None, when=None):
        if identifier != "BSD-3-Clause":
            raise TypeError(f"the license is not {identifier}")

    def define(self, name, value):
        return f"-D{name}={'ON' if value else 'OFF'}"

    def define_from_variant(self, name, variant):
        return self.define(name, self.variants[variant])

    def options(self, text, chosen):
        """Returns the recipe's options for CMake if exactly these variants are on."""
        sys.modules.update(self.modules)
        names = {}
        exec(compile(text, SPACK, "exec"), names)  # pylint: disable=exec-used
        self.variants = {name: name in chosen for name in self.variants}
        return names["Takt"]().cmake_args()


def spack_problems():
    spack = Spack()
    expected = {"shared": {"BUILD_SHARED_LIBS"}, **FEATURES}
    try:
        for variant, options in expected.items():
            on = {each[2:-3] for each in spack.options(read(SPACK), {variant}) if each.endswith("=ON")}
            if on != options:
                yield f"{SPACK}: with {variant} these are on: {sorted(on)}"
    except (SyntaxError, TypeError, NameError, KeyError, ImportError, AttributeError) as error:
        yield f"{SPACK}: {error!r}"
        return
    if set(spack.variants) != set(expected):
        yield f"{SPACK}: the variants are {sorted(spack.variants)}"
    if takt_version() not in spack.versions:
        yield f"{SPACK}: there is no version {takt_version()}"


def instructions():
    """Returns (instruction, words) of the Dockerfile, with continued lines joined."""
    text = re.sub(r"^\s*#.*\n", "", read(DOCKER), flags=re.MULTILINE).replace("\\\n", " ")
    return [(name, rest.split()) for name, _, rest in (line.partition(" ") for line in text.splitlines() if line.strip())]


def docker_problems():
    steps = instructions()
    copied = [word.removesuffix("/") for name, words in steps if name == "COPY" and not words[0].startswith("--from") for word in words[:-1]]
    head = read(DOCKER).splitlines()[:2]
    if head != ["# SPDX-FileCopyrightText: The Takt authors", "# SPDX-License-Identifier: BSD-3-Clause"]:
        yield f"{DOCKER}: does not begin with the two SPDX lines"
    for name in sorted({name for name, _ in steps} - {"FROM", "RUN", "WORKDIR", "COPY", "USER", "ENTRYPOINT", "CMD"}):
        yield f"{DOCKER}: {name} is no instruction that this knows"
    for source in copied:
        if not (tree.root() / source).exists():
            yield f"{DOCKER}: there is no {source} to copy"
    exported = re.findall(r'"([\w.]+)"', "".join(re.findall(r"for name in \((.*?)\)", read(CONAN))))
    if sorted(copied) != sorted(exported):
        yield f"{DOCKER}: copies {sorted(copied)}, but {CONAN} exports {sorted(exported)}"
    users = [words for name, words in steps if name == "USER"]
    if not users or users[-1] in (["root"], ["0"]):
        yield f"{DOCKER}: the user is root"
    if dict(steps).get("ENTRYPOINT") != ['["takt"]']:
        yield f"{DOCKER}: the entry point is not takt"
    runs = [" ".join(words) for name, words in steps if name == "RUN"]
    listed = re.search(r"BUILD_PACKAGES=\((.*?)\)", read("scripts/lib.sh"), re.DOTALL)[1]
    for package in re.findall(r"(\S+?):\S+", listed):
        if package != "ninja-build" and f" {package} " not in runs[0]:
            yield f"{DOCKER}: does not install {package}"
    said = re.search(r"cmake -S \. -B build .*?(?=\ncmake --build)", read(PAGE), re.DOTALL)
    if not said:
        yield f"{PAGE}: does not configure with cmake -S . -B build"
    for option in re.findall(r"-DTAKT_\w+=\w+", said[0] if said else ""):
        if not any(option in run for run in runs):
            yield f"{DOCKER}: {PAGE} has {option}"


tree.finish([*option_problems(), *least_version_problems(), *placeholder_problems(), *manifest_problems(),
             *port_problems(sys.argv[2]), *spack_problems(), *docker_problems()])
