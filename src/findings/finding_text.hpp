// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

// What sentences of findings are made of. All: any thread.

/// "41 %", and below ten "4.1 %".
std::string share_text(double share);
/// "+6.0 %", "-41 %".
std::string change_text(double share);
/// "8.0 ×", "340 ×".
std::string times_text(double ratio);
/// "100th", "2nd".
std::string ordinal(std::uint64_t number);
/// "41 200"; of a negative one, too, as programs number their steps.
std::string step_text(std::int64_t step);
/// "IO", "IO and Decode", "IO, Decode and 2 more".
std::string list_text(const std::vector<std::string>& names);

}  // namespace detail
TAKT_END_NAMESPACE
