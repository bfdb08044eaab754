// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <atomic>
#include <cstdint>

TAKT_BEGIN_NAMESPACE

/// What a region spends its time on. Reports group by it; `wait` marks time spent waiting for something else to finish.
enum class Kind : std::uint8_t { compute, comm, io, wait, other };

/// The lower-case name of a kind, static storage. Any thread.
constexpr const char* to_string(Kind kind) noexcept {
  return kind == Kind::compute ? "compute"
         : kind == Kind::comm  ? "comm"
         : kind == Kind::io    ? "io"
         : kind == Kind::wait  ? "wait"
                               : "other";
}

namespace detail {

/// 64-bit FNV-1a (Fowler, Noll, Vo; RFC 9923). Two names with one hash are one key: at 4 000 names the odds are 1 in
/// 2e12.
constexpr std::uint64_t hash_name(const char* name) noexcept {
  std::uint64_t hash = 14695981039346656037U;
  for (; *name != '\0'; ++name) { hash = (hash ^ static_cast<unsigned char>(*name)) * 1099511628211U; }
  return hash;
}
constexpr std::uint64_t hash_name(const char* name, std::size_t size) noexcept {
  std::uint64_t hash = 14695981039346656037U;
  for (; size != 0; ++name, --size) { hash = (hash ^ static_cast<unsigned char>(*name)) * 1099511628211U; }
  return hash;
}

/// Small numbers by which recorded events name a key. The seven predefined keys have theirs at compile time.
using KeyIndex = std::uint16_t;
inline constexpr KeyIndex kNoKey = 0;        ///< not yet registered
inline constexpr KeyIndex kEpochKey = 1;     ///< a boundary that throughput leaves out; its end makes metrics
inline constexpr KeyIndex kBatchKey = 2;     ///< its end makes a row
inline constexpr KeyIndex kOtherKey = 7;     ///< the last of the seven predefined keys
inline constexpr KeyIndex kOverflowKey = 8;  ///< takes keys and paths beyond the bounds
inline constexpr KeyIndex kFirstUserKey = 9;
inline constexpr KeyIndex kMaxKeys = 4000;  ///< keys a process can tell apart; more fold into kOverflowKey

struct PredefinedKey;

}  // namespace detail

/// The identity of a region: a name and a kind. Make one per name, with static storage:
///
///     inline constexpr takt::Key Optimizer{"Optimizer", takt::Kind::compute};
///
/// Two keys of one name are the same key, in any library of the process; the kind given first wins and a conflict is
/// reported. The name must outlive the key (use takt::key() for a name made at run time). Any thread.
class Key {
 public:
  /// \param name UTF-8 without control characters, at most 200 bytes; others are repaired when first used, and
  /// reported.
  /// \param kind what the region spends its time on.
  constexpr explicit Key(const char* name, Kind kind = Kind::other) noexcept
      : name_(name), hash_(detail::hash_name(name)), kind_(kind) {}

  /// A copy is the same key; it looks its number up again.
  constexpr Key(const Key& other) noexcept
      : name_(other.name_),
        hash_(other.hash_),
        kind_(other.kind_),
        fixed_(other.fixed_),
        cached_(cacheable(other.fixed_)) {}
  Key& operator=(const Key&) = delete;

  constexpr const char* name() const noexcept { return name_; }
  constexpr Kind kind() const noexcept { return kind_; }
  constexpr std::uint64_t hash() const noexcept { return hash_; }

  friend constexpr bool operator==(const Key& a, const Key& b) noexcept { return a.hash_ == b.hash_; }
  friend constexpr bool operator!=(const Key& a, const Key& b) noexcept { return a.hash_ != b.hash_; }

  /// For Takt's own use: the number of this key in the process if regions of it take the fast way, else detail::kNoKey:
  /// before its first use, and for Batch, whose end has more to do.
  TAKT_ALWAYS_INLINE detail::KeyIndex index() const noexcept { return cached_.load(std::memory_order_relaxed); }
  /// For Takt's own use.
  constexpr detail::KeyIndex predefined_index() const noexcept { return fixed_; }
  /// For Takt's own use.
  void cache_index(detail::KeyIndex index) const noexcept {
    // Pairs with index(), which is relaxed: who reads the index finds the entry by it (address dependency).
    cached_.store(cacheable(index), std::memory_order_release);
  }

 private:
  friend struct detail::PredefinedKey;
  constexpr Key(const char* name, Kind kind, detail::KeyIndex fixed, std::uint64_t hash) noexcept
      : name_(name), hash_(hash), kind_(kind), fixed_(fixed), cached_(cacheable(fixed)) {}

  static constexpr detail::KeyIndex cacheable(detail::KeyIndex index) noexcept {
    return index == detail::kBatchKey || index == detail::kEpochKey ? detail::kNoKey : index;
  }

  const char* name_;
  std::uint64_t hash_;
  Kind kind_;
  detail::KeyIndex fixed_ = detail::kNoKey;
  // Mutable, so that a constexpr key can remember its number: every copy in every library ends with the same one.
  mutable std::atomic<detail::KeyIndex> cached_{detail::kNoKey};
};

namespace detail {
struct PredefinedKey {
  static constexpr Key make(const char* name, Kind kind, KeyIndex index) noexcept {
    return Key(name, kind, index, hash_name(name));
  }
  static constexpr Key make(const char* name, Kind kind, KeyIndex index, std::uint64_t hash) noexcept {
    return Key(name, kind, index, hash);
  }
};
}  // namespace detail

/// One pass over the data.
inline constexpr Key Epoch = detail::PredefinedKey::make("Epoch", Kind::other, detail::kEpochKey);
/// One step: the outermost one on a thread makes a row.
inline constexpr Key Batch = detail::PredefinedKey::make("Batch", Kind::other, detail::kBatchKey);
/// The forward pass.
inline constexpr Key Forward = detail::PredefinedKey::make("Forward", Kind::compute, 3);
/// The backward pass.
inline constexpr Key Backward = detail::PredefinedKey::make("Backward", Kind::compute, 4);
/// Communication with other ranks.
inline constexpr Key Comm = detail::PredefinedKey::make("Comm", Kind::comm, 5);
/// Reading and writing of data.
inline constexpr Key IO = detail::PredefinedKey::make("IO", Kind::io, 6);
/// What has no key of its own.
inline constexpr Key Other = detail::PredefinedKey::make("Other", Kind::other, detail::kOtherKey);

/// The update of the weights.
inline constexpr Key Optimizer{"Optimizer", Kind::compute};
/// A pass over data that the network does not learn from.
inline constexpr Key Validation{"Validation", Kind::compute};
/// Writing or reading the state of the training.
inline constexpr Key Checkpoint{"Checkpoint", Kind::io};

/// A stream waits for communication, around the call that makes it wait (docs/gpu.md).
inline constexpr Key CommWait{"CommWait", Kind::wait};
/// Likewise for IO.
inline constexpr Key IOWait{"IOWait", Kind::wait};

/// The key of a name made at run time. Registers the name at first use (a lock and an allocation), then costs a
/// look-up: keep the reference outside the loop. The reference stays valid for the life of the process. Control
/// characters are replaced by '?', a name beyond 200 bytes is cut and ends in a hash of all of it, and the first such
/// repair is reported; beyond detail::kMaxKeys names the overflow key is returned and counted. Never throws. Any
/// thread.
/// \param name up to its first NUL; nullptr is an empty name.
TAKT_EXPORT const Key& key(const char* name, Kind kind = Kind::other) noexcept;

namespace detail {
TAKT_EXPORT const Key& key_of(const char* name, std::size_t size, Kind kind) noexcept;
}  // namespace detail

/// The same of a std::string or std::string_view.
template <class Text>
auto key(const Text& name, Kind kind = Kind::other) noexcept
    -> decltype(detail::key_of(name.data(), name.size(), kind)) {
  return detail::key_of(name.data(), name.size(), kind);
}

TAKT_END_NAMESPACE
