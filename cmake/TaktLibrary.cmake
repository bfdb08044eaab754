# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause

# Builds Takt's libraries. Each source is compiled once, into object libraries. They make up a library and its static
# twin takt_<name>_private. The command, tests and benchmarks link the twin if libtakt is shared, because its private
# parts are hidden.

if(NOT TAKT_UNITY_BATCH MATCHES "^[0-9]+$")
  message(FATAL_ERROR "TAKT_UNITY_BATCH is '${TAKT_UNITY_BATCH}'; it can be 1 (each source alone), another number, or 0 (all of a library).")
endif()

# takt_join(<target>): compiles its sources together, TAKT_UNITY_BATCH at a time. Private names are unique in a library,
# so any batch size works.
function(takt_join target)
  if(TAKT_UNITY_BATCH EQUAL 1)
    set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE BATCH UNITY_BUILD_BATCH_SIZE ${TAKT_UNITY_BATCH})
  # g++ treats an included source as a header, in which private names would be wrong. It also collects its memory so
  # often that this takes a tenth of the time.
  target_compile_options(
    ${target} PRIVATE "$<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage;--param=ggc-min-heapsize=400000;--param=ggc-min-expand=200>")
endfunction()

# takt_compile_cold(<target>): optimizes a release build for size and compile time. No training loop waits for this
# code, and every program contains it. With g++ these options compile a quarter faster than -Os and make a tenth more
# code (scripts/bench.sh --build).
function(takt_compile_cold target)
  set(gnu -O1 -finline-limit=1 -fno-align-functions -fno-align-loops -fno-align-jumps -fno-tree-ch -fno-tree-loop-im -fno-move-loop-invariants
          -fcrossjumping --param=min-crossjump-insns=1 -fpeephole2 -fno-omit-frame-pointer)
  target_compile_options(
    ${target} PRIVATE "$<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>:${gnu}>"
                      $<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:Clang,AppleClang>>:-Os>)
endfunction()

# takt_add_objects(<name> [COLD] SOURCES <source>... [LIBRARIES <library>...]): adds sources that are compiled once and
# joined; COLD ones are optimized for size.
function(takt_add_objects name)
  cmake_parse_arguments(PARSE_ARGV 1 objects "COLD" "" "SOURCES;LIBRARIES")
  add_library(${name} OBJECT ${objects_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE ${objects_LIBRARIES} Threads::Threads takt_warnings)
  set_target_properties(
    ${name}
    PROPERTIES CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON
               POSITION_INDEPENDENT_CODE ON)
  if(objects_COLD)
    takt_compile_cold(${name})
  endif()
  takt_join(${name})
endfunction()

# A Python wheel has no symbolic links, so each library in it is one file.
set(TAKT_FILE_VERSION ${PROJECT_VERSION})
if(TAKT_PYTHON)
  set(TAKT_FILE_VERSION ${PROJECT_VERSION_MAJOR})
endif()

# takt_add_library(<name> OBJECTS <object library>... LIBRARIES <library>... [PRIVATE <library>...]): adds the library
# <name> and <name>_private.
function(takt_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 library "" "" "OBJECTS;LIBRARIES;PRIVATE")
  set(objects ${library_OBJECTS})
  list(TRANSFORM objects REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
  string(REGEX REPLACE "^takt_?" "" short ${name})
  if(NOT short)
    set(short takt)
  endif()
  add_library(${name} ${objects})
  add_library(takt::${short} ALIAS ${name})
  target_link_libraries(${name} PUBLIC ${library_LIBRARIES} PRIVATE ${library_PRIVATE})
  set_target_properties(
    ${name}
    PROPERTIES EXPORT_NAME ${short}
               LINKER_LANGUAGE CXX
               VERSION ${TAKT_FILE_VERSION}
               SOVERSION ${PROJECT_VERSION_MAJOR})
  if(BUILD_SHARED_LIBS AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
    # Threads keep a pointer into the library, so it must outlive a plug-in that loaded it.
    target_link_options(${name} PRIVATE LINKER:-z,nodelete)
  endif()
  if(NOT TAKT_TOP_LEVEL AND NOT TAKT_INSTALL)
    # a program builds only what it links
    set_target_properties(${name} ${library_OBJECTS} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  if(NOT BUILD_SHARED_LIBS)
    add_library(${name}_private ALIAS ${name})
  elseif(TAKT_BUILD_TESTS OR TAKT_BUILD_BENCHMARKS OR TAKT_HAS_CLI)
    set(private_libraries ${library_LIBRARIES})
    list(TRANSFORM private_libraries REPLACE "^takt$" "takt_private")
    add_library(${name}_private STATIC ${objects})
    target_link_libraries(${name}_private PUBLIC ${private_libraries} PRIVATE ${library_PRIVATE})
    set_target_properties(${name}_private PROPERTIES LINKER_LANGUAGE CXX EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# takt_add_component(<name> [COLD] [INCLUDE <directory>] [OBJECTS <object library>...] [LIBRARIES <private ones>...]
# SOURCES <source>...): adds takt::<name>, a library that is separate from libtakt.
function(takt_add_component name)
  cmake_parse_arguments(PARSE_ARGV 1 component "COLD" "INCLUDE" "OBJECTS;LIBRARIES;SOURCES")
  set(cold)
  if(component_COLD)
    set(cold COLD)
  endif()
  takt_add_objects(takt_${name}_objects ${cold} SOURCES ${component_SOURCES} LIBRARIES takt_headers ${component_LIBRARIES})
  takt_add_library(
    takt_${name}
    OBJECTS takt_${name}_objects ${component_OBJECTS}
    LIBRARIES takt
    PRIVATE ${component_LIBRARIES})
  if(BUILD_SHARED_LIBS AND CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT DEFINED CMAKE_INSTALL_RPATH)
    # A program that links only this library has no path to libtakt, which is in the same directory.
    set_target_properties(takt_${name} PROPERTIES INSTALL_RPATH "$ORIGIN")
  endif()
  if(component_INCLUDE)
    target_include_directories(takt_${name}_objects PRIVATE ${component_INCLUDE})
    target_include_directories(takt_${name} PUBLIC $<BUILD_INTERFACE:${component_INCLUDE}>)
    if(TARGET takt_${name}_private AND BUILD_SHARED_LIBS)
      target_include_directories(takt_${name}_private PUBLIC ${component_INCLUDE})
    endif()
  endif()
endfunction()
