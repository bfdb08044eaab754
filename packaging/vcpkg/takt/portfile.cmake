# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause

# vcpkg port, for --overlay-ports. Untested: vcpkg's registry could not be reached. Replace both placeholders.
vcpkg_from_git(
  OUT_SOURCE_PATH SOURCE_PATH
  URL "<git URL of this repository>"
  REF "<commit>")

vcpkg_check_features(
  OUT_FEATURE_OPTIONS feature_options
  FEATURES
    cli TAKT_WITH_CLI
    mlflow TAKT_WITH_MLFLOW
    mlflow TAKT_WITH_WANDB_ONLINE)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${feature_options}
    -DTAKT_BUILD_TESTS=OFF
    -DTAKT_BUILD_EXAMPLES=OFF
    -DTAKT_BUILD_BENCHMARKS=OFF
    -DTAKT_WITH_NVTX=OFF
    -DTAKT_WITH_NVCC=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/takt)
vcpkg_fixup_pkgconfig()
if("cli" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES takt AUTO_CLEAN)
endif()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share" "${CURRENT_PACKAGES_DIR}/share/doc")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
