// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/takt.hpp>

#include "process/diversion.hpp"
#include "process/process.hpp"
#include "record/listeners.hpp"

TAKT_BEGIN_NAMESPACE
namespace detail {

KeyIndex admitted(const Key& key) noexcept {
  // Pairs with start_process().
  if ((mode().load(std::memory_order_acquire) & kModeNotStarted) != 0) { start_process(); }
  if ((mode().load(std::memory_order_relaxed) & (kModeDisabled | kModeForked | kModeExcluded)) != 0) { return kNoKey; }
  return key_table().resolve(key);
}

namespace {

Region flags_of(KeyIndex key) noexcept {
  const bool monotonic = (mode().load(std::memory_order_relaxed) & kModeMonotonic) != 0;
  return (key == kBatchKey ? kRegionFolds : Region{0}) | (monotonic || key == kEpochKey ? kRegionUnusual : Region{0});
}

Region begin_checked(Recorder& recorder, KeyIndex key, StreamRef stream) noexcept {
  unsigned reported = 0;
  if ((mode().load(std::memory_order_relaxed) & kModeListening) != 0) {
    reported = report_begin(key_table().entry(key));
  }
  const Region flags = flags_of(key) | (reported != 0 ? kRegionUnusual : Region{0});
  Region region = 0;
  {
    const Recorder::ReentryGuard inside(recorder);
    if (inside.nested()) {
      registry().shared().count_nested();
    } else {
      region = stream.ops == nullptr ? recorder.begin(key, flags) : recorder.begin_device(key, flags, stream);
    }
  }
  if (reported != 0 && (region == 0 || !recorder.reported(region, reported))) {
    report_end(reported, key_table().entry(key));
  }
  return region;
}

KeyIndex key_of(Region region) noexcept {
  return started_key(event_at(region));  // a start event stays in place while its region is open
}

/// Returns false if the region is known not to be open.
bool end_of_other_thread(Region region, Recorder& opener) noexcept {
  const std::uint64_t end_ns = process_clock().now_ns();
  if (const unsigned reported = opener.take_reported(region)) {
    report_end(reported, key_table().entry(key_of(region)));
  }
  DeviceBegin begin;
  const bool device = opener.take_device(region, begin);
  Recorder* here = this_recorder();
  if (here == nullptr) {  // the other thread counts it; the opener must not wait for it
    begin.release();
    opener.leave_notice(region_id(region), end_ns);
    return true;
  }
  const Recorder::ReentryGuard inside(*here);
  if (inside.nested()) {
    registry().shared().count_nested();
    begin.release();
    opener.leave_notice(region_id(region), end_ns);
    return true;
  }
  const DeviceBegin end =
      begin.marked ? DeviceBegin::now(begin.stream, process_clock(), &begin) : DeviceBegin{begin.stream};
  bool open = true;
  Node* node = registry().open_regions().end_elsewhere(*here, opener, region, end_ns, key_of(region), open);
  if (!device) { return open; }
  if (end.marked && node != nullptr && node != here->tree().overflow()) {
    here->add_device(node, begin, end);
    here->poll_if_due(begin.stream);
    return open;
  }
  begin.release();
  end.release();
  here->device_skipped(node == nullptr ? TreeKey{kNoKey} : node->key, nullptr);
  return open;
}

/// Ends a region while the recorder is busy, as if it had ended on another thread.
TAKT_COLD void end_nested(Recorder& here, Region region) noexcept {
  here.take_reported(region);
  here.leave_notice(region_id(region), process_clock().now_ns());
  registry().shared().count_nested();
}

/// Returns the stream of an open region, possibly of another thread.
StreamRef stream_of(Region region) noexcept {
  if (region == 0 || (region & kRegionUnusual) == 0 || is_excluded(region)) { return {}; }
  Recorder* opener = Recorder::of(region & ~kRegionFlags);
  return opener->generation() == generation() ? opener->stream_of(region) : StreamRef{};
}

/// The listeners of the end of `region` and its key, which is lost once the region ends.
struct Reported {
  Reported(Recorder& recorder, Region region) noexcept
      : listeners((region & kRegionUnusual) == 0 ? 0 : recorder.take_reported(region)), key(key_of(region)) {}
  void report() const noexcept {
    if (listeners != 0) { report_end(listeners, key_table().entry(key)); }
  }
  unsigned listeners;
  KeyIndex key;
};

/// Begins an ordinary step, like begin_region. Returns 0 if the slow path is needed.
TAKT_ALWAYS_INLINE Region begin_usual_step(const Key& key) noexcept {
  Event* const at = load_cursor();
  if (key.predefined_index() != kBatchKey || mode().load(std::memory_order_relaxed) != 0 || !has_space(at)) {
    return 0;
  }
  if (Recorder::of(reinterpret_cast<std::uintptr_t>(at))->is_inside()) { return 0; }
  put(at, begin_event(kBatchKey, ticks()));
  store_cursor(at + 1);
  return reinterpret_cast<Region>(at) | kRegionFolds;
}

/// Handles other work at the end of a step.
TAKT_ALWAYS_INLINE void step_is_over(Recorder& here) noexcept {
  Registry& all = registry();
  all.poll_orphans();
  if (TAKT_UNLIKELY(here.has_unreported())) {
    all.open_regions().report_forgotten_regions(here);
    here.forget_unreported();
  }
}

/// Ends a step of this thread without other flags.
/// \param at the cursor, with space.
TAKT_ALWAYS_INLINE void end_usual_step(Region region, Event* at) noexcept {
  Recorder& here = *Recorder::of(reinterpret_cast<std::uintptr_t>(at));
  Recorder::ReentryGuard inside(here);
  if (TAKT_UNLIKELY(inside.nested())) { return end_nested(here, region); }
  here.end_step(region, at);
  inside.leave();
  step_is_over(here);
}

TAKT_NOINLINE Region begin_unusual_region(const Key& key) noexcept {
  Recorder* recorder = mode().load(std::memory_order_relaxed) == 0 ? existing_recorder() : nullptr;
  const bool batch = key.index() == kNoKey && key.predefined_index() == kBatchKey;
  if (recorder != nullptr && (batch || key.index() != kNoKey)) {
    const Recorder::ReentryGuard inside(*recorder);
    if (inside.nested()) {
      registry().shared().count_nested();
      return 0;
    }
    return batch ? recorder->begin(kBatchKey, kRegionFolds) : recorder->begin(key.index(), 0);  // the block was full
  }
  return begin_on(key, StreamRef{});
}

}  // namespace

Region begin_slow(const Key& key) noexcept {
  const Region step = begin_usual_step(key);
  return TAKT_LIKELY(step != 0) ? step : begin_unusual_region(key);
}

Region begin_on(const Key& key, StreamRef stream) noexcept {
  const Region region = begin_recorded(key, stream);
  return TAKT_UNLIKELY(region == 0 && is_excluded()) ? diversion().begin_region(key, stream) : region;
}

Region begin_recorded(const Key& key, StreamRef stream) noexcept {
  const KeyIndex index = admitted(key);
  Recorder* recorder = index == kNoKey ? nullptr : this_recorder();
  return recorder == nullptr ? 0 : begin_checked(*recorder, index, stream);
}

Region begin_sampled(const Key& key, std::uint32_t every, StreamRef stream) noexcept {
  const KeyIndex index = admitted(key);
  Recorder* recorder = index == kNoKey ? nullptr : this_recorder();
  if (recorder == nullptr) { return is_excluded() ? diversion().begin_region(key, stream) : 0; }
  {
    const Recorder::ReentryGuard inside(*recorder);
    if (inside.nested()) {
      registry().shared().count_nested();
      return 0;
    }
    if (!recorder->sampled(index, every)) {
      recorder->skip(index);
      return 0;
    }
  }
  return begin_checked(*recorder, index, stream);
}

namespace {

TAKT_NOINLINE void end_unusual_region(Region region) noexcept {
  if (TAKT_UNLIKELY(is_excluded(region))) { return Diversion::end_region(region); }
  Recorder* opener = Recorder::of(region & ~kRegionFlags);
  if (opener->generation() != generation()) { return; }  // begun by the parent, before a fork
  Recorder* here = existing_recorder();
  if (opener != here) {
    end_of_other_thread(region, *opener);
    return;
  }
  Recorder::ReentryGuard inside(*here);
  if (TAKT_UNLIKELY(inside.nested())) { return end_nested(*here, region); }
  if ((region & kRegionFlags) == 0) {
    here->end_plain(region);
    return;
  }
  const Reported reported(*here, region);
  here->end(region);
  inside.leave();
  reported.report();
  if ((region & kRegionFolds) != 0) { step_is_over(*here); }
}

}  // namespace

void end_slow(Region region) noexcept {
  Event* const at = load_cursor();
  // One comparison: a step, of this thread, without other flags.
  const std::uintptr_t differs = (reinterpret_cast<std::uintptr_t>(at) ^ region) & ~kPlainBits;
  const bool usual = differs == kRegionFolds && has_space(at) && mode().load(std::memory_order_relaxed) == 0;
  if (TAKT_LIKELY(usual)) {
    end_usual_step(region, at);
  } else {
    end_unusual_region(region);
  }
}

namespace {

/// Returns true if the region of a handle may be open. Returns false, counted with its name, if this thread can tell
/// that it ended.
bool handle_holds(Recorder& opener, Region region, Event started) noexcept {
  Recorder* const here = this_recorder();
  if (here == nullptr) { return event_at(region) == started; }
  const Recorder::ReentryGuard inside(*here);
  if (inside.nested()) { return event_at(region) == started; }
  if (event_at(region) == started && (&opener != here || here->is_open(region))) { return true; }
  here->count_loss(LossKind::end_without_start, started_key(started));
  return false;
}

}  // namespace

bool end_handle(Region region, Event started) noexcept {
  Recorder& opener = *Recorder::of(region & ~kRegionFlags);
  if (opener.generation() != generation()) { return true; }  // begun by the parent, before a fork
  const bool own = &opener == existing_recorder();
  const bool open = own && event_at(region) == started && opener.has_just_started(region);
  if (TAKT_UNLIKELY(!open) && !handle_holds(opener, region, started)) { return false; }
  if (!own) { return end_of_other_thread(region, opener); }
  end_slow(region);
  return true;
}

bool note_amount_of(Region region, Event started, Amount what, std::int64_t amount) noexcept {
  Recorder& opener = *Recorder::of(region & ~kRegionFlags);
  if (opener.generation() == generation() && !handle_holds(opener, region, started)) { return false; }
  note_amount(region, what, amount);
  return true;
}

Region end_innermost(const Key& key) noexcept {
  if (is_excluded()) { return 0; }  // its start was not recorded
  // Not admitted(): open regions end even while recording is disabled. Acquire: pairs with start_process().
  const bool off = (mode().load(std::memory_order_acquire) & (kModeNotStarted | kModeForked)) != 0;
  Recorder* recorder = off ? nullptr : this_recorder();
  if (recorder == nullptr) { return 0; }
  const KeyIndex index = key_table().resolve(key);
  Region region = 0;
  {
    const Recorder::ReentryGuard inside(*recorder);
    if (inside.nested()) {
      registry().shared().count_nested();
      return 0;
    }
    region = recorder->innermost(index, (mode().load(std::memory_order_relaxed) & kModeDisabled) != 0);
  }
  if (region != 0) { end_slow(region | kRegionUnusual | (index == kBatchKey ? kRegionFolds : Region{0})); }
  return region;
}

Region lap_slow(Region region, const Key& key) noexcept {
  Recorder* here = existing_recorder();
  const KeyIndex index = admitted(key);
  const bool mine = region != 0 && !is_excluded(region) && here != nullptr &&
                    Recorder::of(region & ~kRegionFlags) == here && here->generation() == generation();
  if (!mine || index == kNoKey) {                // no clock read to share
    const StreamRef stream = stream_of(region);  // before the end removes it
    if (region != 0) { end_slow(region); }
    return stream.ops == nullptr ? begin_slow(key) : begin_on(key, stream);
  }
  Recorder::ReentryGuard inside(*here);
  if (inside.nested()) {
    end_nested(*here, region);
    return 0;
  }
  const Reported before(*here, region);
  Region next = here->lap(region, index, flags_of(index));
  inside.leave();
  before.report();
  if ((mode().load(std::memory_order_relaxed) & kModeListening) == 0) { return next; }
  const unsigned reported = report_begin(key_table().entry(index));
  if (reported == 0) { return next; }
  if (next != 0 && here->reported(next, reported)) { return next | kRegionUnusual; }
  report_end(reported, key_table().entry(index));
  return next;
}

void note_amount(Region region, Amount what, std::int64_t amount) noexcept {
  if (region == 0) { return; }
  if (is_excluded(region)) { return diversion().amount(region, what, amount); }
  Recorder* opener = Recorder::of(region & ~kRegionFlags);
  if (opener->generation() != generation()) { return; }
  // Only the opener's thread can add to its tree; on other threads the amount is dropped and counted.
  Recorder* const here = opener == existing_recorder() ? opener : this_recorder();
  if (here == nullptr) { return; }
  const Recorder::ReentryGuard inside(*here);
  if (inside.nested()) {
    registry().shared().count_nested();
  } else if (opener == here) {
    opener->amount(region, what, amount);
  } else {
    here->count_loss(LossKind::amount_elsewhere, key_of(region));
  }
}

/// \param ns 2^63 or more: negative, counted as invalid.
void record_ns(const Key& key, std::uint64_t ns) noexcept {
  const KeyIndex index = admitted(key);
  Recorder* recorder = index == kNoKey ? nullptr : this_recorder();
  if (recorder == nullptr) { return; }
  const Recorder::ReentryGuard inside(*recorder);
  if (inside.nested()) {
    registry().shared().count_nested();
  } else if (static_cast<std::int64_t>(ns) < 0) {
    recorder->count_loss(LossKind::bad_amount, index);
  } else {
    recorder->add(index, ns);
  }
}

}  // namespace detail

void record(const Key& key, std::chrono::nanoseconds duration) noexcept {
  detail::record_ns(key, static_cast<std::uint64_t>(duration.count()));
}

TAKT_END_NAMESPACE
