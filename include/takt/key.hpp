// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <atomic>
#include <cstdint>

TAKT_BEGIN_NAMESPACE

/// Category of a region. Reports group by it; `wait` is time spent waiting for other work to finish.
enum class Kind : std::uint8_t { compute, comm, io, wait, other };

/// Returns the lower-case name of a kind, in static storage. Any thread.
constexpr const char* to_string(Kind kind) noexcept {
  return kind == Kind::compute ? "compute"
         : kind == Kind::comm  ? "comm"
         : kind == Kind::io    ? "io"
         : kind == Kind::wait  ? "wait"
                               : "other";
}

namespace detail {

/// Computes the 64-bit FNV-1a hash (Fowler, Noll, Vo; RFC 9923). Two names with one hash are one key: with 4,000 names
/// the odds are 1 in 2e12.
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

/// Small number of a key in recorded events. The seven predefined keys have theirs at compile time.
using KeyIndex = std::uint16_t;
inline constexpr KeyIndex kNoKey = 0;        ///< not yet registered
inline constexpr KeyIndex kEpochKey = 1;     ///< a boundary that throughput excludes; its end makes metrics
inline constexpr KeyIndex kBatchKey = 2;     ///< its end makes a row
inline constexpr KeyIndex kOtherKey = 7;     ///< the last of the seven predefined keys
inline constexpr KeyIndex kOverflowKey = 8;  ///< used for keys and paths beyond the limits
inline constexpr KeyIndex kFirstUserKey = 9;
inline constexpr KeyIndex kMaxKeys = 4000;  ///< maximum distinct keys; more fold into kOverflowKey

struct PredefinedKey;

}  // namespace detail

/// The identity of a region: a name and a kind. Make one per name, with static storage:
///
///     inline constexpr takt::Key Optimizer{"Optimizer", takt::Kind::compute};
///
/// Two keys of one name are the same key, in any library of the process. The first kind wins, and a conflict is
/// reported. The name must outlive the key (use takt::key() for a name made at run time). Any thread.
class Key {
 public:
  /// \param name UTF-8 without control characters, at most 200 bytes; other names are repaired and reported at first
  ///         use.
  /// \param kind category of the region.
  constexpr explicit Key(const char* name, Kind kind = Kind::other) noexcept
      : name_(name), hash_(detail::hash_name(name)), kind_(kind) {}

  /// A copy is the same key; it looks up its number again.
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

  /// Internal. Returns the number of this key in the process if its regions take the fast path, else detail::kNoKey:
  /// before its first use, and for Batch, whose end does more work.
  TAKT_ALWAYS_INLINE detail::KeyIndex index() const noexcept { return cached_.load(std::memory_order_relaxed); }
  /// Internal.
  constexpr detail::KeyIndex predefined_index() const noexcept { return fixed_; }
  /// Internal.
  void cache_index(detail::KeyIndex index) const noexcept {
    // Pairs with index(), which is relaxed: a reader of the index finds the entry by it (address dependency).
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
  // Mutable, so that a constexpr key can cache its number: every copy in every library gets the same one.
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
/// Everything without a key of its own.
inline constexpr Key Other = detail::PredefinedKey::make("Other", Kind::other, detail::kOtherKey);

/// The weight update.
inline constexpr Key Optimizer{"Optimizer", Kind::compute};
/// A pass over data that the network does not learn from.
inline constexpr Key Validation{"Validation", Kind::compute};
/// Writing or reading the training state.
inline constexpr Key Checkpoint{"Checkpoint", Kind::io};

/// A stream waits for communication; put it around the call that makes the stream wait (docs/gpu.md).
inline constexpr Key CommWait{"CommWait", Kind::wait};
/// A stream waits for IO; see CommWait.
inline constexpr Key IOWait{"IOWait", Kind::wait};

/// Returns the key of a name made at run time. The first use registers the name (a lock and an allocation); later ones
/// cost a look-up, so keep the reference outside the loop. The reference stays valid for the life of the process.
/// Control characters become '?'. A name beyond 200 bytes is cut and ends in a hash of the whole. The first such repair
/// is reported. Beyond detail::kMaxKeys names the overflow key is returned and counted. Never throws. Any thread.
/// \param name up to its first NUL; nullptr is an empty name.
TAKT_EXPORT const Key& key(const char* name, Kind kind = Kind::other) noexcept;

namespace detail {
TAKT_EXPORT const Key& key_of(const char* name, std::size_t size, Kind kind) noexcept;
}  // namespace detail

/// Same, for a std::string or std::string_view.
template <class Text>
auto key(const Text& name, Kind kind = Kind::other) noexcept
    -> decltype(detail::key_of(name.data(), name.size(), kind)) {
  return detail::key_of(name.data(), name.size(), kind);
}

TAKT_END_NAMESPACE
