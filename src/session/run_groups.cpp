// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/run_groups.hpp"

#include <takt/error.hpp>

#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// Of ASCII alone: names of groups stand between commas and equal each other on all ranks.
bool is_of_a_group_name(char each) noexcept {
  return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') || (each >= '0' && each <= '9') || each == '_' ||
         each == '-' || each == '.';
}

}  // namespace

void RunGroups::set(std::string_view name, int number) {
  if (name.empty() || name.size() > kLongestName || !std::all_of(name.begin(), name.end(), is_of_a_group_name)) {
    throw Error(
        detail::format("takt: Session::group() was given the name \"{}\"; a name has 1 to {} letters, digits, '_', '-' "
                       "and '.', such as \"stage\"",
                       fit(printable(name), 60), kLongestName));
  }
  if (number < 0) {
    throw Error(detail::format("takt: Session::group(\"{}\", {}): numbers of groups begin at 0", name, number));
  }
  if (groups_.size() == kMost && groups_.find(name) == groups_.end()) {
    throw Error(
        detail::format("takt: Session::group(\"{}\", {}): a rank is in {} groups at most; name only what makes its "
                       "work differ",
                       name, number, kMost));
  }
  groups_.insert_or_assign(std::string(name), number);
}

}  // namespace detail
TAKT_END_NAMESPACE
