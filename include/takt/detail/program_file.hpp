// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Sets the file that is the program, if the process runs an interpreter: its git commit is the run's, unless the
/// working directory has one. Empty: none, as in an interactive session. Copies the text. Any thread. Throws
/// std::bad_alloc.
TAKT_EXPORT void set_program_file(const char* path);

}  // namespace detail
TAKT_END_NAMESPACE
