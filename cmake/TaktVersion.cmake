# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause

# Sets TAKT_VERSION from the only place that defines it.
set(config ${CMAKE_CURRENT_LIST_DIR}/../include/takt/config.hpp)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${config})
file(READ ${config} config)
set(TAKT_VERSION)
foreach(part MAJOR MINOR PATCH)
  if(NOT config MATCHES "#define TAKT_VERSION_${part} ([0-9]+)")
    message(FATAL_ERROR "include/takt/config.hpp does not define TAKT_VERSION_${part}")
  endif()
  list(APPEND TAKT_VERSION ${CMAKE_MATCH_1})
endforeach()
list(JOIN TAKT_VERSION "." TAKT_VERSION)
unset(config)
