# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause

# What libtakt is built with. A target that a parent project has already wins.
include(GNUInstallDirs)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

# takt_require(<target> <package> <least version, or "" for any> <Debian's name for it>)
function(takt_require target package version debian)
  if(NOT TARGET ${target})
    find_package(${package} ${version} QUIET GLOBAL)
  endif()
  if(NOT TARGET ${target})
    if(version)
      string(APPEND version " or later")
    endif()
    message(FATAL_ERROR "Takt needs ${package} ${version}, and there is no CMake package of it here.\n"
                        "Debian and Ubuntu: apt-get install ${debian}\n"
                        "Elsewhere: install it and pass -DCMAKE_PREFIX_PATH=<where it is>.")
  endif()
endfunction()

takt_require(fmt::fmt-header-only fmt 8 libfmt-dev)
takt_require(nlohmann_json::nlohmann_json nlohmann_json 3.9 nlohmann-json3-dev)
