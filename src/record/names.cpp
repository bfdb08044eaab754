// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/names.hpp"

#include "base/report_error.hpp"
#include "base/text.hpp"
#include "base/threads.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr const char* kOverflowName = "(overflow)";

inline constexpr Key kOverflow = PredefinedKey::make(kOverflowName, Kind::other, kOverflowKey);

KeyTable make_table() noexcept { return KeyTable(); }

}  // namespace

KeyTable& key_table() noexcept { return made_once<make_table>(); }

KeyTable::KeyTable() noexcept {
  // Pointers, because this library's static initialisation may run after the first region.
  static constexpr const Key* kPredefined[] = {&Epoch, &Batch, &Forward, &Backward, &Comm, &IO, &Other, &kOverflow};
  for (auto& entry : entry_) { entry.store(&kOverflow, std::memory_order_relaxed); }
  for (const Key* key : kPredefined) {
    const KeyIndex index = key->predefined_index();
    entry_[index].store(key, std::memory_order_relaxed);
    std::uint32_t at = static_cast<std::uint32_t>(key->hash()) % kSlots;
    while (slot_[at].load(std::memory_order_relaxed) != kNoKey) { at = (at + 1) % kSlots; }
    slot_[at].store(index, std::memory_order_relaxed);
  }
  count_ = kFirstUserKey;
}

KeyIndex KeyTable::find(std::uint64_t hash) const noexcept {
  for (std::uint32_t at = static_cast<std::uint32_t>(hash) % kSlots;; at = (at + 1) % kSlots) {
    const KeyIndex index = slot_[at].load(std::memory_order_acquire);  // pairs with insert()
    if (index == kNoKey || entry(index).hash() == hash) { return index; }
  }
}

KeyIndex KeyTable::add(std::string_view name, std::uint64_t hash, Kind kind) noexcept {
  bool full = false;
  {
    const RegistrationLock lock;
    if (const KeyIndex index = find(hash)) { return index; }
    full = count_ >= kMaxKeys;
    const KeyIndex index = full ? kNoKey : insert(name, hash, kind);
    if (index != kNoKey) { return index; }
  }
  // Reports after unlocking: the error handler may use keys itself.
  if (!full) {
    without_memory_.fetch_add(1, std::memory_order_relaxed);
    report_error("keys.memory", Words("out of memory for the key \"", RepairedName(name),
                                      "\"; its regions count as \"(overflow)\" until memory is available."));
    return kNoKey;
  }
  refused_.fetch_add(1, std::memory_order_relaxed);
  report_error("keys", Words("there are more than 4 000 keys; \"", RepairedName(name),
                             "\" and later ones count as \"(overflow)\". Use one key for many similar regions."));
  return kOverflowKey;
}

/// Adds a key; returns kNoKey without memory. Requires the lock.
KeyIndex KeyTable::insert(std::string_view name, std::uint64_t hash, Kind kind) noexcept {
  const auto index = static_cast<KeyIndex>(count_);
  // The entry keeps the hash of the original name, so that the same invalid name is found again.
  char* copy = ::strdup(RepairedName(name).c_str());
  // Uses malloc because the program's operator new may itself use keys.
  void* const place = copy == nullptr ? nullptr : std::malloc(sizeof(Key));
  if (place == nullptr) {
    std::free(copy);
    return kNoKey;
  }
  const Key* const key = ::new (place) Key(PredefinedKey::make(copy, kind, index, hash));
  ++count_;  // set first: if another thread forks here, the child takes the next number
  entry_[index].store(key, std::memory_order_release);  // pairs with entry()
  std::uint32_t at = static_cast<std::uint32_t>(hash) % kSlots;
  while (slot_[at].load(std::memory_order_relaxed) != kNoKey) { at = (at + 1) % kSlots; }
  slot_[at].store(index, std::memory_order_release);  // pairs with find()
  return index;
}

void KeyTable::check_kind(KeyIndex index, Kind kind) noexcept {
  if (index == kOverflowKey || entry(index).kind() == kind) { return; }
  if (in_conflict_[index].exchange(true, std::memory_order_relaxed)) { return; }
  conflicts_.fetch_add(1, std::memory_order_relaxed);
  report_error("key_kind", Words("the key \"", entry(index).name(), "\" was declared as ", to_string(kind),
                                 " after it was declared as ", to_string(entry(index).kind()),
                                 "; the first kind is used. Declare the key once, in a header."));
}

KeyIndex KeyTable::resolve(const Key& key) noexcept {
  if (key.index() != kNoKey) { return key.index(); }
  if (key.predefined_index() != kNoKey) { return key.predefined_index(); }
  const KeyIndex index = named(key.name() == nullptr ? "" : key.name(), key.hash(), key.kind());
  if (index == kNoKey) { return kOverflowKey; }  // temporary: the next use retries the allocation
  key.cache_index(index);
  return index;
}

/// Finds the name, or registers it. Returns kNoKey without memory.
KeyIndex KeyTable::named(std::string_view name, std::uint64_t hash, Kind kind) noexcept {
  KeyIndex index = find(hash);
  if (index == kNoKey) {
    report_repaired("key_name", "key", name);
    index = add(name, hash, kind);
  }
  if (index != kNoKey) { check_kind(index, kind); }
  return index;
}

const Key& KeyTable::intern(std::string_view name, Kind kind) noexcept {
  return entry(named(name, hash_name(name.data(), name.size()), kind));
}

}  // namespace detail

const Key& key(const char* name, Kind kind) noexcept {
  return detail::key_table().intern(name == nullptr ? std::string_view() : std::string_view(name), kind);
}

namespace detail {
const Key& key_of(const char* name, std::size_t size, Kind kind) noexcept {
  return key_table().intern({name, size}, kind);
}

namespace {

MetricNames make_names() noexcept { return MetricNames(); }

}  // namespace

MetricNames& metric_names() noexcept { return made_once<make_names>(); }

std::uint64_t MetricNames::find(std::string_view name, std::uint64_t hash, std::size_t& at) const noexcept {
  for (at = hash % (2 * kMaxNames);; at = (at + 1) % (2 * kMaxNames)) {
    const Entry* entry = slot_[at].load(std::memory_order_acquire);  // pairs with add()
    if (entry == nullptr) { return 0; }
    if (entry->hash == hash && entry->given == name) { return at + 1; }
  }
}

std::uint64_t MetricNames::number(std::string_view name) noexcept {
  const std::uint64_t hash = hash_name(name.data(), name.size());
  std::size_t at = 0;
  if (const std::uint64_t number = find(name, hash, at)) { return number; }
  return add(name, hash);
}

TAKT_COLD std::uint64_t MetricNames::add(std::string_view name, std::uint64_t hash) noexcept {
  bool full = false;
  std::uint64_t added = 0;
  {
    const RegistrationLock lock;
    std::size_t at = 0;
    if (const std::uint64_t number = find(name, hash, at)) { return number; }
    full = count_ == kMaxNames;
    if (const Entry* entry = full ? nullptr : make(name, hash)) {
      ++count_;
      slot_[at].store(entry, std::memory_order_release);  // pairs with find()
      added = at + 1;
    }
  }
  // Reports after unlocking: the error handler may record metrics itself.
  if (added != 0) {
    report_repaired("metric_name", "metric", name);
    return added;
  }
  if (!full) {
    without_memory_.fetch_add(1, std::memory_order_relaxed);
    report_error("metrics.memory", Words("out of memory for the name of the metric \"", RepairedName(name),
                                         "\"; its values are dropped until memory is available."));
    return 0;
  }
  refused_.fetch_add(1, std::memory_order_relaxed);
  report_error("metrics", Words("there are more than 1 024 metric names; \"", RepairedName(name),
                                "\" and later ones are dropped. Use few names, with the step as their axis."));
  return 0;
}

/// Returns nullptr without memory. Uses one malloc() because the program's operator new may itself record metrics.
const MetricNames::Entry* MetricNames::make(std::string_view name, std::uint64_t hash) noexcept {
  const RepairedName repaired(name);
  const std::string_view its = repaired;
  void* const place = std::malloc(sizeof(Entry) + name.size() + its.size());
  if (place == nullptr) { return nullptr; }
  char* const text = static_cast<char*>(place) + sizeof(Entry);
  if (!name.empty()) { std::memcpy(text, name.data(), name.size()); }
  std::memcpy(text + name.size(), its.data(), its.size());
  return ::new (place) Entry{hash, {text, name.size()}, {text + name.size(), its.size()}};
}

std::string_view MetricNames::name(std::uint64_t number) const noexcept {
  // Acquire: pairs with add().
  const Entry* entry =
      number == 0 || number > 2 * kMaxNames ? nullptr : slot_[number - 1].load(std::memory_order_acquire);
  return entry == nullptr ? "(no name)" : entry->name;  // a dropped metric has no name
}

}  // namespace detail
TAKT_END_NAMESPACE
