// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/metric_names.hpp"

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
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : name) { hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U; }
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
  // Without the lock: the handler that hears of it may give metrics of its own.
  if (added != 0) {
    tell_repaired("metric_name", "metric", name);
    return added;
  }
  if (!full) {
    without_memory_.fetch_add(1, std::memory_order_relaxed);
    report_fault("metrics.memory", Words("no memory is left for the name of the metric \"", RepairedName(name),
                                         "\"; what is given for it is dropped until there is some."));
    return 0;
  }
  refused_.fetch_add(1, std::memory_order_relaxed);
  report_fault("metrics", Words("there are more than 1 024 metric names; \"", RepairedName(name),
                                "\" and later ones are dropped. Use few names, with the step as their axis."));
  return 0;
}

/// nullptr without memory. In one piece by malloc, as an operator new of the program may give a metric, too.
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
  return entry == nullptr ? "(no name)" : entry->name;  // a metric that was dropped has none
}

}  // namespace detail
TAKT_END_NAMESPACE
