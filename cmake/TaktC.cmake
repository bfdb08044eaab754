# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause

# Enables C in this directory, with the compiler that belongs to the C++ compiler: targets and sanitizers must match.
if(NOT CMAKE_C_COMPILER)
  string(REGEX REPLACE "clang\\+\\+" "clang" takt_c_compiler "${CMAKE_CXX_COMPILER}")
  string(REGEX REPLACE "g\\+\\+" "gcc" takt_c_compiler "${takt_c_compiler}")
  string(REGEX REPLACE "c\\+\\+" "cc" takt_c_compiler "${takt_c_compiler}")
  if(EXISTS "${takt_c_compiler}")
    set(CMAKE_C_COMPILER "${takt_c_compiler}")
  endif()
endif()
enable_language(C)
