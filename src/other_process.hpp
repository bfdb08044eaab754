// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What can be told from here about a process that left a sign of life in a file.
enum class Life {
  alive,    ///< it is there
  gone,     ///< it is not there any more, or its number is another one's by now
  unknown,  ///< it runs, or ran, on another machine
};

/// \param host,pid of the process, in this machine's own words.
/// \param sign_unix_ns when it gave its last sign of life, on the clock of the file system; what began later is not it.
/// Any thread. Exported for the exporters that are libraries of their own.
TAKT_EXPORT Life life_of(const std::string& host, std::int64_t pid, std::int64_t sign_unix_ns);

}  // namespace detail
TAKT_END_NAMESPACE
