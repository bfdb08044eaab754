# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause

# takt::fortran: the module takt from TAKT_FORTRAN_SOURCE. The program compiles it, because only its compiler can read
# its .mod files. Also part of the installed package.
if(NOT TARGET takt_fortran)
  add_library(takt_fortran STATIC EXCLUDE_FROM_ALL ${TAKT_FORTRAN_SOURCE})
  add_library(takt::fortran ALIAS takt_fortran)
  set_target_properties(takt_fortran PROPERTIES Fortran_MODULE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/takt_fortran)
  target_include_directories(takt_fortran INTERFACE ${CMAKE_CURRENT_BINARY_DIR}/takt_fortran)
  target_link_libraries(takt_fortran PUBLIC takt::takt)
endif()
