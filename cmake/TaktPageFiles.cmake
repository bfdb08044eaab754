# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause

# The pages of runs are HTML, CSS and JavaScript in src/page. They become strings in the library. Each style sheet and
# script has the hash that a page's Content-Security-Policy refers to. CMake is the only tool needed.

# takt_base64(<variable> <hex digits>)
function(takt_base64 variable hex)
  set(alphabet ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  string(LENGTH ${hex} length)
  set(text "")
  foreach(at RANGE 0 ${length} 6)
    string(SUBSTRING "${hex}" ${at} 6 group)
    string(LENGTH "${group}" digits)
    if(digits EQUAL 0)
      break()
    endif()
    string(SUBSTRING "${group}00000" 0 6 group)
    foreach(shift 18 12 6 0)
      math(EXPR index "(0x${group} >> ${shift}) & 63")
      string(SUBSTRING ${alphabet} ${index} 1 letter)
      if(shift EQUAL 6 AND digits LESS 4 OR shift EQUAL 0 AND digits LESS 6)
        set(letter =)
      endif()
      string(APPEND text ${letter})
    endforeach()
  endforeach()
  set(${variable} ${text} PARENT_SCOPE)
endfunction()

# takt_add_page_file(<variable> <name> <file>...): appends the definition of kPage<name>, the concatenated files, to the
# C++ in <variable>. CMake runs again when a file changes.
function(takt_add_page_file variable name)
  set(text "")
  foreach(file ${ARGN})
    set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} content)
    # The page that contains the file has the license once.
    string(REGEX REPLACE "(/\\*|//|<!--) SPDX-[^\n]*\n" "" content "${content}")
    # Every program with a Session contains these texts; removing indentation and comments makes them a third smaller.
    string(REGEX REPLACE "\n +" "\n" content "${content}")
    string(REGEX REPLACE "\n//[^\n]*" "" content "${content}")
    string(REGEX REPLACE "\n/\\*[^\n]*\\*/" "" content "${content}")
    string(APPEND text "${content}")
  endforeach()
  string(SHA256 hash "${text}")
  takt_base64(hash ${hash})
  set(${variable} "${${variable}}\nconst PageFile kPage${name} = {R\"takt(${text})takt\",\n    \"sha256-${hash}\"};\n" PARENT_SCOPE)
endfunction()

# takt_page_scripts(<variable> <name>...): sets the variable to the scripts of these names in src/page.
function(takt_page_scripts variable)
  set(files ${ARGN})
  list(TRANSFORM files PREPEND ${PROJECT_SOURCE_DIR}/src/page/)
  list(TRANSFORM files APPEND .js)
  set(${variable} ${files} PARENT_SCOPE)
endfunction()

# takt_write_page_files(<source> <definitions>)
function(takt_write_page_files source definitions)
  file(
    CONFIGURE
    OUTPUT ${source}
    CONTENT [=[// Made from the files of src/page by cmake/TaktPageFiles.cmake.
#include "page/html.hpp"

TAKT_BEGIN_NAMESPACE
namespace detail {
@definitions@
}  // namespace detail
TAKT_END_NAMESPACE
]=]
    @ONLY)
  set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)  # only strings
endfunction()
