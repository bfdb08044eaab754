# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause

# The dependencies of libtakt. A target of a parent project takes precedence.
include(GNUInstallDirs)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

# takt_find(<target> <package> <least version, or "" for any>): calls find_package unless the target exists. A parent
# project that links it indirectly needs the target too, but find_package supports that only since CMake 3.24. fmt and
# nlohmann/json stay local: the parent project may find or add its own later.
function(takt_find target package version)
  if(TARGET ${target})
    return()
  endif()
  find_package(${package} ${version} QUIET)
  if(TARGET ${target} AND NOT package MATCHES "^(fmt|nlohmann_json)$")
    get_target_property(real ${target} ALIASED_TARGET)
    if(NOT real)
      set(real ${target})
    endif()
    set_target_properties(${real} PROPERTIES IMPORTED_GLOBAL TRUE)
  endif()
  foreach(variable VERSION VERSION_STRING)
    set(${package}_${variable} "${${package}_${variable}}" PARENT_SCOPE)
  endforeach()
endfunction()

# takt_require(<target> <package> <least version, or "" for any> <Debian's name for it>)
function(takt_require target package version debian)
  takt_find(${target} ${package} "${version}")
  if(NOT TARGET ${target})
    if(version)
      string(APPEND package " ${version} or later")
    endif()
    message(FATAL_ERROR "Takt needs ${package}, and there is no CMake package of it here.\n"
                        "Debian and Ubuntu: apt-get install ${debian}\n"
                        "Elsewhere: install it and pass -DCMAKE_PREFIX_PATH=<where it is>.")
  endif()
endfunction()

takt_require(fmt::fmt-header-only fmt 8.1 libfmt-dev)
takt_require(nlohmann_json::nlohmann_json nlohmann_json 3.9.1 nlohmann-json3-dev)

# takt_look_for(<part> <what it is> <target> <package> <least version> <Debian's name for it>): finds the additional
# dependency of an optional part. Sets TAKT_HAS_<part> depending on TAKT_WITH_<part>.
function(takt_look_for part what target package version debian)
  set(wanted "${TAKT_WITH_${part}}")
  set(found OFF)
  if(NOT wanted MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "TAKT_WITH_${part} is '${wanted}'; it can be AUTO, ON or OFF.")
  elseif(wanted STREQUAL "ON")
    takt_require(${target} ${package} "${version}" ${debian})
  elseif(wanted STREQUAL "AUTO")
    takt_find(${target} ${package} "${version}")
  endif()
  if(wanted STREQUAL "OFF")
    message(STATUS "Takt: ${what} is switched off (TAKT_WITH_${part})")
  elseif(TARGET ${target})
    set(found ON)
    message(STATUS "Takt: ${what} is built, with ${package} ${${package}_VERSION_STRING}${${package}_VERSION}")
  else()
    message(STATUS "Takt: ${what} is left out: no ${package} ${version} or later "
                   "(Debian and Ubuntu: apt-get install ${debian})")
  endif()
  set(TAKT_HAS_${part} ${found} PARENT_SCOPE)
endfunction()

# Dependencies of the tests only. A find_package for one major version of Catch2 does not accept another.
if(TAKT_BUILD_TESTS)
  takt_find(Catch2::Catch2 Catch2 3)
  if(TAKT_BUILD_TESTS STREQUAL "AUTO")
    takt_find(Catch2::Catch2 Catch2 2.13)
    find_package(Python3 QUIET COMPONENTS Interpreter)
    if(NOT (TARGET Catch2::Catch2 AND Python3_FOUND))
      message(STATUS "Takt: the tests are left out: no Catch2 2.13 or later, or no Python 3 "
                     "(Debian and Ubuntu: apt-get install catch2 python3)")
      set(TAKT_BUILD_TESTS OFF)
    endif()
  else()
    takt_require(Catch2::Catch2 Catch2 2.13 catch2)
  endif()
endif()

set(TAKT_CURL_VERSION 7.68)
takt_look_for(MLFLOW takt::mlflow CURL::libcurl CURL ${TAKT_CURL_VERSION} libcurl4-openssl-dev)
takt_look_for(WANDB_ONLINE "sending from takt::wandb" CURL::libcurl CURL ${TAKT_CURL_VERSION} libcurl4-openssl-dev)
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR}/modules)
takt_look_for(NVTX takt::nvtx nvtx3-c nvtx3 "" nvidia-cuda-dev)
takt_look_for(CLI "the command takt" CLI11::CLI11 CLI11 2.0 libcli11-dev)
