// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>

namespace takt_test {

/// Returns the directory `tests` of the sources. Not derived from __FILE__, which may be relative to the compiler's
/// directory.
std::filesystem::path tests_directory();

}  // namespace takt_test
