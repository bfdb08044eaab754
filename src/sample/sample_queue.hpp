// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/sample.hpp>

#include "sample/sample_source.hpp"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Where threads that sample leave what they find for the one that collects. Any thread; nobody holds its lock for
/// longer than it takes to move a few pointers.
class SampleQueue {
 public:
  /// What is new since it was last asked for.
  struct News {
    std::vector<Meter> meters;
    std::vector<Unsampled> unsampled;
    std::vector<Sample> samples;                              ///< without their numbers
    std::vector<std::pair<std::uint32_t, std::string>> lost;  ///< meters, and why there are no more samples of them
  };

  /// \param most samples that wait; then new ones are dropped, counted.
  explicit SampleQueue(std::size_t most) : most_(most) {}

  /// Returns the index of the first of these meters.
  std::uint32_t add(std::vector<Meter> meters, std::vector<Unsampled> unsampled);
  /// \param first index of the first meter of their source.
  void push(std::uint32_t first, std::vector<Reading>& readings);
  News take();
  std::uint64_t dropped() const;

 private:
  const std::size_t most_;
  mutable std::mutex mutex_;
  News news_;
  std::uint32_t meters_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace detail
TAKT_END_NAMESPACE
