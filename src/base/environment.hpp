// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The value of a variable, empty where it is unset or empty; valid until the variable is changed. Any thread while no
/// other one changes the environment, as with getenv().
std::string_view environment_value(const char* name) noexcept;

/// All of `text` as a decimal number from `low` to `high`; false, and `number` unchanged, where it is not one.
bool parse_number(std::string_view text, std::int64_t low, std::int64_t high, std::int64_t& number) noexcept;

/// Understands 1, true, on, yes, 0, false, off and no, in any case; false, and `flag` unchanged, for all else.
bool parse_flag(std::string_view value, bool& flag);

/// "TAKT_EXIT_MS=abc is not <expected>; using <used>", once a variable. Never throws.
void report_bad_value(std::string_view name, std::string_view value, std::string_view expected,
                      std::string_view used) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
