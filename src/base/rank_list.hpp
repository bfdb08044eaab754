// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// "5, 7, 9", and "..." behind the sixteenth. Any thread.
inline std::string rank_list(const std::vector<std::uint32_t>& ranks) {
  constexpr std::size_t kMostListed = 16;
  std::string text;
  for (std::size_t at = 0; at < std::min(ranks.size(), kMostListed); ++at) {
    text += (at == 0 ? "" : ", ") + std::to_string(ranks[at]);
  }
  return ranks.size() > kMostListed ? text + ", ..." : text;
}

}  // namespace detail
TAKT_END_NAMESPACE
