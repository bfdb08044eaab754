# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause

# Finds the headers of NVTX 3, which CUDA toolkits contain, as target nvtx3-c, the name in NVTX's own CMake files.
include(FindPackageHandleStandardArgs)
find_package(CUDAToolkit QUIET)
find_path(nvtx3_INCLUDE_DIR nvtx3/nvToolsExt.h HINTS ${CUDAToolkit_INCLUDE_DIRS} /usr/local/cuda/include)
find_package_handle_standard_args(nvtx3 REQUIRED_VARS nvtx3_INCLUDE_DIR)
if(nvtx3_FOUND AND NOT TARGET nvtx3-c)
  add_library(nvtx3-c INTERFACE IMPORTED)
  set_target_properties(nvtx3-c PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${nvtx3_INCLUDE_DIR})
endif()
