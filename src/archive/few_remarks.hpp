// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Lines about something of which there may be more than anybody reads: the first ones, and how many there were. A
/// value; one thread at a time.
class FewRemarks {
 public:
  static constexpr std::size_t kMost = 16;

  void add(std::string line) {
    if (first_.size() < kMost) { first_.push_back(std::move(line)); }
    ++count_;
  }
  bool empty() const noexcept { return count_ == 0; }
  /// The first ones, and a last one that counts the others.
  std::vector<std::string> lines(const std::string& about) const {
    std::vector<std::string> all;
    for (const std::string& each : first_) { all.push_back(about + ": " + each); }
    if (count_ > kMost) { all.push_back(about + ": " + std::to_string(count_ - kMost) + " more of this kind"); }
    return all;
  }

 private:
  std::vector<std::string> first_;
  std::uint64_t count_ = 0;
};

}  // namespace detail
TAKT_END_NAMESPACE
