// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/key.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Numbers and names of the process's keys. Lives forever; entries are never removed. Any thread.
class KeyTable {
 public:
  KeyTable() noexcept;

  /// Returns the number of `key`; the first use registers it (a lock and an allocation). kOverflowKey if there are too
  /// many keys, or while no memory is available.
  KeyIndex resolve(const Key& key) noexcept;
  /// Returns the key for a name made at run time, see takt::key().
  const Key& intern(std::string_view name, Kind kind) noexcept;
  /// Returns the number of the key whose name has this hash, kNoKey if there is none yet.
  KeyIndex find(std::uint64_t hash) const noexcept;

  const char* name(KeyIndex index) const noexcept { return entry(index).name(); }
  Kind kind(KeyIndex index) const noexcept { return entry(index).kind(); }
  const Key& entry(KeyIndex index) const noexcept {
    return *entry_[index].load(std::memory_order_acquire);  // pairs with insert()
  }
  /// Number of keys refused at the limit, and number of names declared with two kinds.
  std::uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }
  std::uint64_t conflicts() const noexcept { return conflicts_.load(std::memory_order_relaxed); }
  /// Number of failed allocations for keys.
  std::uint64_t without_memory() const noexcept { return without_memory_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kSlots = 8192;  // open addressing by hash, at most half full

  KeyIndex named(std::string_view name, std::uint64_t hash, Kind kind) noexcept;
  KeyIndex add(std::string_view name, std::uint64_t hash, Kind kind) noexcept;
  KeyIndex insert(std::string_view name, std::uint64_t hash, Kind kind) noexcept;
  void check_kind(KeyIndex index, Kind kind) noexcept;

  std::atomic<const Key*> entry_[kMaxKeys] = {};
  std::atomic<KeyIndex> slot_[kSlots] = {};
  std::atomic<bool> in_conflict_[kMaxKeys] = {};
  std::uint32_t count_ = 0;  // guarded by RegistrationLock
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint64_t> conflicts_{0};
  std::atomic<std::uint64_t> without_memory_{0};
};

KeyTable& key_table() noexcept;

/// Numbers of metric names. Known names are found without a lock. Any thread.
class MetricNames {
 public:
  static constexpr std::uint32_t kMaxNames = 1024;
  /// Returns the name's number. Returns 0, counted, if there are too many names or while no memory is available.
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
  std::uint32_t count_ = 0;  // guarded by RegistrationLock
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint64_t> without_memory_{0};
};
MetricNames& metric_names() noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
