// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// What a thread records for the time line.
#include "record/recorder.hpp"

#include <cstring>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// \param ticks of the event before. \param unmatched see Fold: what ended nothing is no span.
TAKT_COLD void Recorder::trace(const EventRun& run, std::uint64_t ticks, std::uint64_t unmatched) noexcept {
  Outbox* const box = outbox_.need();
  const std::size_t bytes = sizeof(EventsRecord) + run.count * sizeof(Event);
  auto* to = box == nullptr ? nullptr : static_cast<unsigned char*>(box->reserve(bytes, Record::Type::events));
  if (to == nullptr) { return; }
  EventsRecord record;
  record.bytes = static_cast<std::uint16_t>(bytes);
  record.type = Record::Type::events;
  record.last_ticks = ticks;
  record.source = static_cast<std::uint32_t>(source_.own());
  record.place = run.place;
  std::memcpy(to, &record, sizeof(record));
  auto* const copies = reinterpret_cast<Event*>(to + sizeof(record));
  for (std::uint32_t at = 0; at < run.count; ++at) {
    copies[at] = (unmatched >> at & 1U) != 0 ? skipped_event(kNoKey) : run.words[at];
  }
  box->push(bytes);
}

void Recorder::trace_elsewhere(const Recorder& opener, Region region, KeyIndex key, std::uint64_t begin_ns,
                               std::uint64_t end_ns) noexcept {
  if (!tracing.load(std::memory_order_relaxed)) { return; }
  SpanRecord record;
  record.opener = &opener;
  record.region = region_id(region);
  record.thread = opener.thread();
  record.key = key;
  record.begin_ns = begin_ns;
  record.end_ns = end_ns;
  if (Outbox* const box = outbox_.need()) { box->put(record, Record::Type::span); }
}

}  // namespace detail
TAKT_END_NAMESPACE
