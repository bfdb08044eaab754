// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>

namespace takt_test {

/// Returns the directory `tests` of the sources. A __FILE__ may be relative to where the compiler ran.
std::filesystem::path tests_directory();

}  // namespace takt_test
