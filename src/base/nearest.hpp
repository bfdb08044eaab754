// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstddef>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Of `count` known words (1 or more) the one with the fewest letters to change, add or take away to get it from
/// `word`, which is perhaps misspelt. Of long words the first 64 bytes count. Any thread.
std::string_view nearest(std::string_view word, const std::string_view* known, std::size_t count) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
