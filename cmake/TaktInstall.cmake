# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
include(CMakePackageConfigHelpers)

# The names that find_package(takt COMPONENTS ...) accepts. Each has its own export set, so that requesting `headers`
# looks up nothing else. A component follows those that it needs.
set(TAKT_COMPONENTS headers takt cuda hip models mpi mpi_c prometheus roctx tensorboard torch wandb)
foreach(optional mlflow nvtx)
  string(TOUPPER ${optional} part)
  if(TAKT_HAS_${part})
    list(APPEND TAKT_COMPONENTS ${optional})
  endif()
endforeach()
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/takt)
set(without_link)
if(TAKT_PYTHON)
  set(without_link NAMELINK_SKIP)
endif()

install(TARGETS takt_headers EXPORT takt-headers-targets)
if(TAKT_HAS_CLI)
  install(TARGETS takt_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
set(without)
foreach(optional mlflow nvtx)
  if(NOT optional IN_LIST TAKT_COMPONENTS)
    list(APPEND without PATTERN ${optional}.hpp EXCLUDE)
  endif()
endforeach()
foreach(component IN LISTS TAKT_COMPONENTS)
  set(target takt)
  if(NOT component STREQUAL "takt")
    set(target takt_${component})
  endif()
  if(NOT component STREQUAL "headers")
    install(
      TARGETS ${target} EXPORT takt-${component}-targets
      ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
      LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ${without_link}
      RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
  install(EXPORT takt-${component}-targets NAMESPACE takt:: DESTINATION ${package_dir})
endforeach()
install(
  DIRECTORY include/takt backends/include/takt exporters/include/takt
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING
  PATTERN "*.hpp" ${without})
install(FILES include/takt.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES bindings/takt.f90 bindings/takt_mpi.cpp DESTINATION ${CMAKE_INSTALL_DATADIR}/takt)
install(FILES cmake/TaktFortran.cmake DESTINATION ${package_dir})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/cmake/tsan.supp DESTINATION ${CMAKE_INSTALL_DATADIR}/takt)
install(FILES ${PROJECT_SOURCE_DIR}/exporters/grafana/jobs.json DESTINATION ${CMAKE_INSTALL_DATADIR}/takt/grafana)

set(TAKT_FORTRAN_SOURCE ${CMAKE_INSTALL_DATADIR}/takt/takt.f90)
configure_package_config_file(cmake/takt-config.cmake.in ${PROJECT_BINARY_DIR}/takt-config.cmake
                              INSTALL_DESTINATION ${package_dir} PATH_VARS TAKT_FORTRAN_SOURCE)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/takt-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/takt-config.cmake ${PROJECT_BINARY_DIR}/takt-config-version.cmake
        DESTINATION ${package_dir})

# pkg-config: paths are relative to the .pc file, so the tree can be moved. An installation has either a static or a
# shared libtakt; if it is static, its dependencies are in Libs.
set(pc_dir ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH TAKT_PC_PREFIX ${pc_dir} ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" TAKT_PC_PREFIX "${TAKT_PC_PREFIX}")
foreach(dir LIBDIR INCLUDEDIR DATADIR)
  set(TAKT_PC_${dir} ${CMAKE_INSTALL_${dir}})
  if(NOT IS_ABSOLUTE "${TAKT_PC_${dir}}")
    set(TAKT_PC_${dir} "\${prefix}/${TAKT_PC_${dir}}")
  endif()
endforeach()
set(TAKT_PC_NEEDS "-pthread")
foreach(library IN LISTS CMAKE_DL_LIBS)
  string(APPEND TAKT_PC_NEEDS " -l${library}")
endforeach()
set(TAKT_PC_LIBS)
set(TAKT_PC_LIBS_PRIVATE ${TAKT_PC_NEEDS})
if(NOT BUILD_SHARED_LIBS)
  set(TAKT_PC_LIBS " ${TAKT_PC_NEEDS}")
  set(TAKT_PC_LIBS_PRIVATE)
endif()
foreach(library IN LISTS TAKT_CXX_LIBRARIES)
  string(STRIP "${TAKT_PC_LIBS_PRIVATE} -l${library}" TAKT_PC_LIBS_PRIVATE)
endforeach()
set(TAKT_PC_MODE ${TAKT_LIBRARY_MODE})
list(TRANSFORM TAKT_PC_MODE PREPEND " -D")
configure_file(cmake/takt.pc.in ${PROJECT_BINARY_DIR}/takt.pc @ONLY)
if(NOT TAKT_PYTHON)  # -ltakt needs the link
  install(FILES ${PROJECT_BINARY_DIR}/takt.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
