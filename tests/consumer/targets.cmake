# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause

# takt_expect_targets(<allowed>...): fails if find_package(takt) added any other imported target.
function(takt_expect_targets)
  get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  list(REMOVE_ITEM targets ${ARGN})
  if(targets)
    message(FATAL_ERROR "find_package(takt) brought along: ${targets}")
  endif()
endfunction()
