# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause

# Package that `cpack` makes from the install rules: libtakt-dev_<version>_<architecture>.deb. Only building Takt needs
# fmt and nlohmann/json; programs that link a sending exporter need libcurl's headers.
set(CPACK_GENERATOR DEB)
set(CPACK_SOURCE_GENERATOR "")  # scripts/release.sh makes the source archive
set(CPACK_PACKAGE_NAME libtakt-dev)
set(CPACK_PACKAGE_CONTACT "The Takt authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "where each training step's time goes: C++ library and command")
set(CPACK_PACKAGE_DESCRIPTION "Takt times training loops that are written in C++. Code names its regions with scopes,
and at the end of the run there is a table, a summary as JSON, and one line of CSV
for each step and region. This package has the library, its headers, and the
command takt where that was built.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
if(TAKT_HAS_MLFLOW OR TAKT_HAS_WANDB_ONLINE)
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "libcurl4-openssl-dev | libcurl4-gnutls-dev")
endif()
# Adds the dependencies of its programs and shared libraries.
find_program(TAKT_SHLIBDEPS dpkg-shlibdeps)
if(TAKT_SHLIBDEPS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
include(CPack)
