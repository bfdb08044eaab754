// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/key_table.hpp"

#include "base/fault.hpp"
#include "base/made_once.hpp"
#include "base/registration_lock.hpp"
#include "base/repaired_name.hpp"
#include "base/words.hpp"

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
  // By pointer: static initialisation of this library need not have run before the first region.
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

KeyIndex KeyTable::add(const char* name, std::uint64_t hash, Kind kind) noexcept {
  bool full = false;
  {
    const RegistrationLock lock;
    if (const KeyIndex index = find(hash)) { return index; }
    full = count_ >= kMaxKeys;
    const KeyIndex index = full ? kNoKey : insert(name, hash, kind);
    if (index != kNoKey) { return index; }
  }
  // Without the lock: the handler that hears of it may use keys of its own.
  if (!full) {
    without_memory_.fetch_add(1, std::memory_order_relaxed);
    report_fault("keys.memory", Words("no memory is left for the key \"", RepairedName(name),
                                      "\"; what is timed with it counts as \"(overflow)\" until there is some."));
    return kNoKey;
  }
  refused_.fetch_add(1, std::memory_order_relaxed);
  report_fault("keys", Words("there are more than 4 000 keys; \"", RepairedName(name),
                             "\" and later ones count as \"(overflow)\". Use one key for many similar regions."));
  return kOverflowKey;
}

/// kNoKey without memory. Under the lock.
KeyIndex KeyTable::insert(const char* name, std::uint64_t hash, Kind kind) noexcept {
  const auto index = static_cast<KeyIndex>(count_);
  // The entry keeps the hash of the name as given, so that the same odd name is found again.
  char* copy = ::strdup(RepairedName(name).c_str());
  // By malloc, as an operator new of the program may use a key, too.
  void* const place = copy == nullptr ? nullptr : std::malloc(sizeof(Key));
  if (place == nullptr) {
    std::free(copy);
    return kNoKey;
  }
  const Key* const key = ::new (place) Key(PredefinedKey::make(copy, kind, index, hash));
  ++count_;  // first, as another thread may fork here: the child takes the next number
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
  report_fault("key_kind",
               Words("the key \"", entry(index).name(), "\" was given as ", to_string(kind), " after it was given as ",
                     to_string(entry(index).kind()), "; the first holds. Declare the key once, in a header."));
}

KeyIndex KeyTable::resolve(const Key& key) noexcept {
  if (key.index() != kNoKey) { return key.index(); }
  if (key.predefined_index() != kNoKey) { return key.predefined_index(); }
  const char* name = key.name() == nullptr ? "" : key.name();
  KeyIndex index = find(key.hash());
  if (index == kNoKey) {
    tell_repaired("key_name", "key", name);
    index = add(name, key.hash(), key.kind());
    if (index == kNoKey) { return kOverflowKey; }  // for now: the next use asks for memory again
  }
  check_kind(index, key.kind());
  key.cache_index(index);
  return index;
}

const Key& KeyTable::intern(const char* name, Kind kind) noexcept {
  const Key key(name == nullptr ? "" : name, kind);
  return entry(resolve(key));
}

}  // namespace detail

const Key& key(const char* name, Kind kind) noexcept { return detail::key_table().intern(name, kind); }

TAKT_END_NAMESPACE
