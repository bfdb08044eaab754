// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Version of a library that the program uses with Takt, for MachineInfo::libraries. Static storage.
struct LibraryVersion {
  const char* name;                      ///< "mpi"
  const char* version;                   ///< used up to its first comma or line break
  const LibraryVersion* next = nullptr;  ///< set by add_library_version()
};

/// Adds a version to later snapshots. Once for each name. Any thread.
TAKT_EXPORT void add_library_version(LibraryVersion& version) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
