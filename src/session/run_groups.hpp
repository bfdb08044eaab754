// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The groups that this rank is in. One thread at a time.
class RunGroups {
 public:
  static constexpr std::size_t kMost = 8;
  static constexpr std::size_t kLongestName = 32;

  /// The last call of a name wins. \throws takt::Error as Session::group() does, and then changes nothing.
  void set(std::string_view name, int number);
  /// By name.
  std::vector<std::pair<std::string, int>> list() const { return {groups_.begin(), groups_.end()}; }

 private:
  std::map<std::string, int, std::less<>> groups_;
};

}  // namespace detail
TAKT_END_NAMESPACE
