// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "base/folder_files.hpp"

#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// trace.json of a run folder, or another file, open for reading. Whoever plants a file there cannot wish for what it
/// begins with: what is none of Takt's time lines is not opened, with errno ENOEXEC. Any thread.
Descriptor open_time_line(const FolderFiles& folder, const std::string& name = "trace.json");

}  // namespace detail
TAKT_END_NAMESPACE
