// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include <cstdint>
#include <optional>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What can be told from here about a process that left a sign of life in a file.
enum class Life {
  alive,    ///< it is there
  gone,     ///< it has ended, also where nobody has waited for it yet, or its number is another one's by now
  unknown,  ///< it runs, or ran, on another machine, or in a container that numbers processes by itself
};

/// Of this process: two that have the same one, on one machine, call the same process by the same number. Nothing if it
/// cannot be told. Any thread.
TAKT_EXPORT std::optional<std::uint64_t> pid_namespace() noexcept;

/// The mark of this process; without what /proc does not tell. Any thread.
TAKT_EXPORT ProcessMark process_mark() noexcept;

/// \param host,pid of the process, in this machine's own words.
/// \param heartbeat_unix_ns when it gave its last sign of life, on the clock of the file system; what began later is
/// not it.
/// Counts where its mark tells nothing.
/// \param pid_namespace that the number is of; if it is not known, it is taken for this one.
/// Any thread. Exported for the exporters that are libraries of their own.
TAKT_EXPORT Life life_of(const std::string& host, std::int64_t pid, std::int64_t heartbeat_unix_ns,
                         std::optional<std::uint64_t> pid_namespace, const ProcessMark& mark = {});

}  // namespace detail
TAKT_END_NAMESPACE
