// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include <cstdint>
#include <optional>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// State of a process that left a heartbeat in a file.
enum class Life {
  alive,    ///< it is running
  gone,     ///< it ended, though perhaps not reaped, or its number belongs to another process now
  unknown,  ///< it runs or ran on another machine, or in a container with its own process numbers
};

/// Returns this process's PID namespace, or nothing if unknown. Processes on one machine that share it use the same
/// process numbers. Any thread.
TAKT_EXPORT std::optional<std::uint64_t> pid_namespace() noexcept;

/// Returns the mark of this process, without values that /proc does not provide. Any thread.
TAKT_EXPORT ProcessMark process_mark() noexcept;

/// Returns the state of a process.
/// \param host,pid as that process recorded them.
/// \param heartbeat_unix_ns its last heartbeat, on the file system's clock. A process that started later is another
/// one. Used if `mark` cannot decide.
/// \param pid_namespace the namespace of `pid`; this process's if unknown. Any thread. Exported for the separate
/// exporter libraries.
TAKT_EXPORT Life life_of(const std::string& host, std::int64_t pid, std::int64_t heartbeat_unix_ns,
                         std::optional<std::uint64_t> pid_namespace, const ProcessMark& mark = {});

}  // namespace detail
TAKT_END_NAMESPACE
