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

# What an exporter needs beyond that. Sets TAKT_HAS_MLFLOW.
set(TAKT_CURL_VERSION 7.68)
set(TAKT_HAS_MLFLOW OFF)
if(NOT TAKT_WITH_MLFLOW MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "TAKT_WITH_MLFLOW is '${TAKT_WITH_MLFLOW}'; it can be AUTO, ON or OFF.")
elseif(TAKT_WITH_MLFLOW STREQUAL "ON")
  takt_require(CURL::libcurl CURL ${TAKT_CURL_VERSION} libcurl4-openssl-dev)
elseif(TAKT_WITH_MLFLOW STREQUAL "AUTO" AND NOT TARGET CURL::libcurl)
  find_package(CURL ${TAKT_CURL_VERSION} QUIET GLOBAL)
endif()
if(TAKT_WITH_MLFLOW STREQUAL "OFF")
  message(STATUS "Takt: takt::mlflow is switched off (TAKT_WITH_MLFLOW)")
elseif(TARGET CURL::libcurl)
  set(TAKT_HAS_MLFLOW ON)
  message(STATUS "Takt: takt::mlflow is built, with libcurl ${CURL_VERSION_STRING}")
else()
  message(STATUS "Takt: takt::mlflow is left out: no libcurl ${TAKT_CURL_VERSION} or later "
                 "(Debian and Ubuntu: apt-get install libcurl4-openssl-dev)")
endif()
