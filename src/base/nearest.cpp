// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/nearest.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::size_t kLongest = 64;

/// Levenshtein's, over one row.
std::size_t edit_distance(std::string_view a, std::string_view b) noexcept {
  a = a.substr(0, kLongest);
  b = b.substr(0, kLongest);
  std::array<std::size_t, kLongest + 1> row{};
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0U : 1U);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view word, const std::string_view* known, std::size_t count) noexcept {
  return *std::min_element(known, known + count, [word](std::string_view a, std::string_view b) {
    return edit_distance(word, a) < edit_distance(word, b);
  });
}

}  // namespace detail
TAKT_END_NAMESPACE
