// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "support/tests_directory.hpp"

std::filesystem::path takt_test::tests_directory() { return TAKT_TESTS_DIRECTORY; }
