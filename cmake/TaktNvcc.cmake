# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause

# Enables nvcc for the example and the checks in CUDA. Nothing that is installed needs it. Sets TAKT_HAS_NVCC depending
# on TAKT_WITH_NVCC. Included at the top because a language applies to a directory and those below.
include(CheckLanguage)

set(TAKT_HAS_NVCC OFF)
if(NOT TAKT_WITH_NVCC MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "TAKT_WITH_NVCC is '${TAKT_WITH_NVCC}'; it can be AUTO, ON or OFF.")
elseif(TAKT_WITH_NVCC STREQUAL "OFF")
  message(STATUS "Takt: the CUDA example and the checks on a GPU are switched off (TAKT_WITH_NVCC)")
elseif(TAKT_SANITIZE)
  message(STATUS "Takt: the CUDA example and the checks on a GPU are left out of sanitized builds")
else()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    # By default CMake uses nvcc's own architecture: the oldest one that is not deprecated, as code and as PTX for all
    # later ones. That is enough to compile the sources and to run anywhere.
    enable_language(CUDA)
    set(TAKT_HAS_NVCC ON)
    message(STATUS "Takt: the CUDA example and the checks on a GPU are built, with nvcc ${CMAKE_CUDA_COMPILER_VERSION}")
  elseif(TAKT_WITH_NVCC STREQUAL "ON")
    message(FATAL_ERROR "TAKT_WITH_NVCC is ON, and there is no nvcc that works.\n"
                        "Install the CUDA toolkit, or pass -DCMAKE_CUDA_COMPILER=<path of nvcc>.")
  else()
    message(STATUS "Takt: the CUDA example and the checks on a GPU are left out: no nvcc that works (CUDA toolkit)")
  endif()
endif()
