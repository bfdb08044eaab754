// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/key.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What every call of an operator of that name shares.
struct TorchName {
  std::atomic<std::uint64_t> hash{0};           ///< 0: free
  std::atomic<const Key*> key{nullptr};         ///< nullptr: being made
  std::atomic<std::uint64_t> calls{0};          ///< of a collective
  std::atomic<std::uint64_t> input_bytes{0};    ///< of a collective
  std::atomic<std::uint64_t> without_bytes{0};  ///< of the calls
};

inline bool starts_with(std::string_view text, std::string_view with) noexcept {
  return text.substr(0, with.size()) == with;
}

/// What the engine of autograd puts before the name of a node that it evaluates.
inline constexpr std::string_view kTorchEvaluates = "autograd::engine::evaluate_function: ";

/// The name without what differs from call to call, such as the 12 of "ProfilerStep#12".
inline std::string_view torch_name_of(std::string_view name) noexcept {
  if (starts_with(name, kTorchEvaluates)) { name.remove_prefix(kTorchEvaluates.size()); }
  name = name.substr(0, name.find(", seq"));
  const std::size_t last = name.find_last_not_of("0123456789");
  return last != std::string_view::npos && last > 0 && name[last] == '#' ? name.substr(0, last) : name;
}

/// As c10d's process groups name what they do.
inline bool is_collective(std::string_view name) noexcept {
  return starts_with(name, "nccl:") || starts_with(name, "gloo:") || starts_with(name, "mpi:") ||
         starts_with(name, "ucc:");
}

/// As libtorch's dispatcher names what it hands to a process group.
inline bool is_dispatched_collective(std::string_view name) noexcept { return starts_with(name, "c10d::"); }

/// Operators by name, of all threads. Never destroyed: threads of libtorch may still be inside of one at the end.
class TorchNames {
 public:
  static constexpr std::uint32_t kMost = 1024;

  void allow(std::uint32_t most) noexcept {
    most_.store(most < kMost ? most : kMost, std::memory_order_relaxed);  // orders nothing
  }

  /// nullptr: beyond the bound. Any thread.
  TorchName* find(std::string_view name) noexcept {
    std::uint64_t hash = 14695981039346656037U;
    for (const char c : name) { hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U; }
    hash += hash == 0 ? 1U : 0U;
    for (std::size_t at = hash % kSlots;; at = (at + 1) % kSlots) {
      std::uint64_t there = name_[at].hash.load(std::memory_order_relaxed);  // the key has an order of its own
      if (there == 0 && !take(name_[at], hash, there)) { return nullptr; }
      if (there == hash) { return &name_[at]; }
    }
  }

  /// The key of `name`, made at its first call, which takes a lock. Any thread.
  static const Key& key_of(TorchName* entry, std::string_view name, Kind kind) noexcept {
    static constexpr const char* kFurther = "(further operators)";
    if (entry == nullptr) {
      static const Key& further = takt::key(kFurther, Kind::compute);
      return further;
    }
    const Key* known = entry->key.load(std::memory_order_acquire);  // pairs with the release below
    if (known != nullptr) { return *known; }
    std::array<char, 256> copy;  // a longer name keeps 255 characters
    const std::size_t size = name.size() < copy.size() ? name.size() : copy.size() - 1;
    std::memcpy(copy.data(), name.data(), size);
    copy[size] = '\0';
    const Key& made = takt::key(copy.data(), kind);
    entry->key.store(&made, std::memory_order_release);  // another thread may store the same
    return made;
  }

  template <class Use>
  void for_each(Use use) const {
    for (const TorchName& name : name_) {
      if (name.key.load(std::memory_order_acquire) != nullptr) { use(name); }  // pairs with key_of()
    }
  }

 private:
  static constexpr std::size_t kSlots = std::size_t{2} * kMost;

  /// Makes a free place that of `hash`, unless another thread was quicker: `there` is then its hash. False: too many.
  bool take(TorchName& name, std::uint64_t hash, std::uint64_t& there) noexcept {
    if (count_.fetch_add(1, std::memory_order_relaxed) < most_.load(std::memory_order_relaxed)) {
      if (name.hash.compare_exchange_strong(there, hash, std::memory_order_relaxed)) {
        there = hash;
        return true;
      }
      count_.fetch_sub(1, std::memory_order_relaxed);
      return true;
    }
    count_.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }

  std::array<TorchName, kSlots> name_{};
  std::atomic<std::uint32_t> count_{0};
  std::atomic<std::uint32_t> most_{256};
};
inline TorchNames torch_names;

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
