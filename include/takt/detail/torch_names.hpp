// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/key.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
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

/// The name without a number at its end that stands behind `mark`, if anything is left then.
inline std::string_view without_number(std::string_view name, std::string_view mark) noexcept {
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  if (digits == name.size() || digits <= mark.size()) { return name; }
  const std::size_t end = digits - mark.size();
  return name.substr(end, mark.size()) == mark ? name.substr(0, end) : name;
}

/// The name without what differs from call to call, such as the 12 of "ProfilerStep#12".
inline std::string_view torch_name_of(std::string_view name) noexcept {
  if (starts_with(name, kTorchEvaluates)) { name.remove_prefix(kTorchEvaluates.size()); }
  return without_number(without_number(name, ", seq = "), "#");  // as libtorch's profiler writes a sequence number
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

  /// Never less than before.
  void allow(std::uint32_t most) noexcept {
    most = most < kMost ? most : kMost;
    std::uint32_t before = most_.load(std::memory_order_relaxed);  // orders nothing
    while (before < most && !most_.compare_exchange_weak(before, most, std::memory_order_relaxed)) {}
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
    const Key* const made = make_key(name, kind);
    if (made == nullptr) { return key_of(nullptr, name, kind); }
    entry->key.store(made, std::memory_order_release);  // another thread may store the same
    return *made;
  }

  template <class Use>
  void for_each(Use use) const {
    for (const TorchName& name : name_) {
      if (name.key.load(std::memory_order_acquire) != nullptr) { use(name); }  // pairs with key_of()
    }
  }

 private:
  /// nullptr: no memory is left.
  static const Key* make_key(std::string_view name, Kind kind) noexcept {
    try {
      return &takt::key(std::string(name).c_str(), kind);  // which cuts a long one so that it stays its own
    } catch (...) { return nullptr; }
  }

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
  std::atomic<std::uint32_t> most_{0};
};
inline TorchNames torch_names;

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
