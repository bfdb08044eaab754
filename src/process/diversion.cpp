// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "process/diversion.hpp"

#include <takt/detail/process.hpp>

#include "process/process.hpp"
#include "record/listeners.hpp"
#include "record/step_series.hpp"

#include <algorithm>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

// An excluded region encodes its key and the listeners that saw its start, above the flags.
constexpr unsigned kReportedShift = 3;
constexpr unsigned kKeyShift = kReportedShift + 8;  // there are 8 listeners
static_assert(sizeof(KeyIndex) * 8 + kKeyShift <= sizeof(Region) * 8, "all of it fits");

KeyIndex excluded_key(Region region) noexcept { return static_cast<KeyIndex>(region >> kKeyShift); }
unsigned reported_of(Region region) noexcept { return static_cast<unsigned>(region >> kReportedShift) & 0xFFU; }

}  // namespace

bool window_step(std::int64_t& number) noexcept {
  if (!is_excluded()) { return true; }
  number = diversion().window_step();
  return number != Diversion::kNoStep;
}

Diversion& diversion() noexcept {
  static Diversion only;
  return only;
}

bool Diversion::begin() noexcept {
  start_process();
  Event** none = nullptr;
  if (!owner_.compare_exchange_strong(none, &cursor, std::memory_order_relaxed)) { return false; }
  streams_ = 0;
  more_streams_ = false;
  items_ = 0;
  set_window_step(kNoStep);
  started_ns_ = process_clock().now_ns();
  mode().fetch_or(kModeExcluded, std::memory_order_relaxed);
  return true;
}

void Diversion::end() noexcept {
  // Counted first: a thread that sees recording resumed counts its steps from there.
  switched_on.fetch_add(1, std::memory_order_relaxed);
  mode().fetch_and(~static_cast<std::uint32_t>(kModeExcluded), std::memory_order_relaxed);
  owner_.store(nullptr, std::memory_order_relaxed);
  Recorder* const here = existing_recorder();
  if (here == nullptr) { return; }
  const Recorder::ReentryGuard inside(*here);
  if (!inside.nested()) { here->leave_out(process_clock().now_ns() - started_ns_); }
}

void Diversion::note(StreamRef stream) noexcept {
  if (stream.ops == nullptr || !is_owner()) { return; }
  StreamRef* const end = stream_.data() + streams_;
  if (std::find(stream_.data(), end, stream) != end) { return; }
  if (streams_ == kStreams) {
    more_streams_ = true;
    return;
  }
  stream_[streams_++] = stream;
}

Region Diversion::begin_region(const Key& key, StreamRef stream) noexcept {
  note(stream);
  const KeyIndex index = key_table().resolve(key);
  const bool listening = (mode().load(std::memory_order_relaxed) & kModeListening) != 0;
  const unsigned reported = listening ? report_begin(key_table().entry(index)) : 0;
  return Region{index} << kKeyShift | Region{reported} << kReportedShift | kRegionExcluded;
}

void Diversion::end_region(Region region) noexcept {
  if (const unsigned reported = reported_of(region)) { report_end(reported, key_table().entry(excluded_key(region))); }
}

void Diversion::amount(Region region, Amount what, std::int64_t amount) noexcept {
  if (what != Amount::items || excluded_key(region) != kBatchKey || amount < 1 || !is_owner()) { return; }
  items_ += static_cast<std::uint64_t>(amount);
}

}  // namespace detail
TAKT_END_NAMESPACE
