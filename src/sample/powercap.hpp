// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "sample/counter_sum.hpp"

#include <cstdint>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The energy that the processors of the machine have used, as the kernel tells it (powercap, RAPL): of all packages
/// together. What a package is, is the vendor's; main memory is no part of it. One thread at a time.
class Powercap {
 public:
  /// \param folder where the kernel has its zones; tests have one of their own.
  explicit Powercap(const std::string& folder = "/sys/class/powercap");

  /// Why there is nothing to read; empty: there is.
  const std::string& missing() const noexcept { return missing_; }
  /// In uJ since the first call. False: it cannot be read any more.
  bool energy(std::int64_t& microjoules);

 private:
  struct Zone {
    std::string file;
    CounterSum sum;
  };
  void add(const std::string& folder);

  std::vector<Zone> zones_;
  std::string missing_;
};

}  // namespace detail
TAKT_END_NAMESPACE
