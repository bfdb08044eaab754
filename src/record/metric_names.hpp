// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Names of metrics and their numbers. Numbers are found without a lock once a name is known. Any thread.
class MetricNames {
 public:
  static constexpr std::uint32_t kMaxNames = 1024;
  /// 0, counted, where there are too many names, or, until there is some, no memory.
  std::uint64_t number(std::string_view name) noexcept;
  std::string_view name(std::uint64_t number) const noexcept;
  std::uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }
  std::uint64_t without_memory() const noexcept { return without_memory_.load(std::memory_order_relaxed); }

 private:
  struct Entry {
    std::uint64_t hash;
    std::string_view given;
    std::string_view name;  // without control characters
  };
  std::uint64_t add(std::string_view name, std::uint64_t hash) noexcept;
  static const Entry* make(std::string_view name, std::uint64_t hash) noexcept;
  std::uint64_t find(std::string_view name, std::uint64_t hash, std::size_t& at) const noexcept;

  std::atomic<const Entry*> slot_[2 * kMaxNames] = {};
  std::uint32_t count_ = 0;  // under a RegistrationLock
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint64_t> without_memory_{0};
};
MetricNames& metric_names() noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
