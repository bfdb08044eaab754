// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Regions of the C API. A takt_region is a Region with its start event, which shows whether the region is still open: a
// place in an arena is used again.
#include <takt/detail/hot.hpp>
#include <takt/detail/process.hpp>
#include <takt/key.hpp>

#include "base/text.hpp"
#include "process/diversion.hpp"
#include "process/process.hpp"
#include "record/event_run.hpp"
#include "session/c_error.hpp"

#include <takt.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// A region that is not timed: in no arena, and without a key.
constexpr Region kNotTimed = kRegionExcluded;

TAKT_COLD const Key& key_instead(const char* function) noexcept {
  c_misuse("c.key", Words(function, "(): the key is NULL; the region counts as \"Other\". takt_get_key() makes keys."));
  return Other;
}

TAKT_ALWAYS_INLINE const Key& key_from(const takt_key* key, const char* function) noexcept {
  return TAKT_LIKELY(key != nullptr) ? *reinterpret_cast<const Key*>(key) : key_instead(function);
}

TAKT_ALWAYS_INLINE takt_region c_region(Region region) noexcept {
  if (TAKT_UNLIKELY(region == 0)) { return {kNotTimed, 0}; }
  return {region, is_excluded(region) ? 0 : event_at(region)};
}

/// Returns true for a region that is in an arena and, unless the caller has a copy of it, open.
TAKT_ALWAYS_INLINE bool is_usual(const takt_region& region) noexcept {
  return region.place != 0 && !is_excluded(region.place) && event_at(region.place) == region.start;
}

/// \param start start event of the region, 0 if it is unknown.
int not_open(const char* function, Event start, bool counted) noexcept {
  const KeyIndex key = start == 0 ? kNoKey : started_key(start);
  Recorder* const here = counted ? nullptr : this_recorder();
  if (here != nullptr) {
    const Recorder::ReentryGuard inside(*here);
    if (!inside.nested()) { here->count_loss(LossKind::end_without_start, key); }
  }
  return c_misuse("c.region", Words(function, "(): the region ", key == kNoKey ? "" : "of \"",
                                    key == kNoKey ? "" : key_table().name(key), key == kNoKey ? "" : "\" ",
                                    "is not open; it never began, or has ended. Call it once for each takt_begin()."));
}

TAKT_COLD int end_not_usual(takt_region* region) noexcept {
  if (region == nullptr) {
    return c_misuse("c.region", "takt_end(): the region is NULL; pass the address of what takt_begin() returned.");
  }
  const Region place = region->place;
  if (place == 0) { return not_open("takt_end", region->start, false); }
  region->place = 0;
  if (place == kNotTimed) { return TAKT_OK; }
  if (is_excluded(place)) {
    end_slow(place);
    return TAKT_OK;
  }
  return end_handle(place, region->start) ? TAKT_OK : not_open("takt_end", region->start, true);
}

int add_amount(const char* function, const takt_region* region, Amount what, std::int64_t n) noexcept {
  if (region == nullptr || region->place == 0) {
    return c_misuse("c.amount",
                    Words(function, "(): the region is not open; call it between takt_begin() and takt_end()."));
  }
  if (region->place != kNotTimed) {
    if (is_excluded(region->place)) {
      note_amount(region->place, what, n);
    } else if (!note_amount_of(region->place, region->start, what, n)) {
      return not_open(function, region->start, true);
    }
  }
  if (n >= 1) { return TAKT_OK; }
  return c_misuse("c.amount", Words(function, "(): ", n, " is not 1 or more; it is not added."));
}

}  // namespace
}  // namespace detail
TAKT_END_NAMESPACE

using namespace takt::detail;  // NOLINT(google-build-using-namespace): the functions below are in no namespace

extern "C" {

takt_region takt_begin(const takt_key* key) { return c_region(begin_region(key_from(key, "takt_begin"))); }

takt_region takt_begin_every(const takt_key* key, uint32_t n) {
  return c_region(begin_sampled(key_from(key, "takt_begin_every"), n, takt::StreamRef{}));
}

takt_region takt_begin_stream_(const takt_key* key, const void* operations, void* handle) {
  const takt::StreamRef stream{static_cast<const takt::DeviceOps*>(operations), handle};
  return c_region(begin_on(key_from(key, "takt_begin_cuda or takt_begin_hip"), stream));
}

int takt_end(takt_region* region) {
  if (TAKT_UNLIKELY(region == nullptr || !is_usual(*region))) { return end_not_usual(region); }
  const Region place = region->place;
  region->place = 0;
  end_region(place);
  return TAKT_OK;
}

int takt_lap(takt_region* region, const takt_key* key) {
  if (region == nullptr) {
    return c_misuse("c.region", "takt_lap(): the region is NULL; pass the address of what takt_begin() returned.");
  }
  const takt::Key& next = key_from(key, "takt_lap");
  if (is_usual(*region)) {
    *region = c_region(lap_region(region->place, next));
    return TAKT_OK;
  }
  const int result = region->place == 0 ? TAKT_OK : end_not_usual(region);
  *region = c_region(begin_region(next));
  return result;
}

int takt_items(const takt_region* region, int64_t n) { return add_amount("takt_items", region, Amount::items, n); }
int takt_bytes(const takt_region* region, int64_t n) { return add_amount("takt_bytes", region, Amount::bytes, n); }

int takt_record(const takt_key* key, int64_t ns) {
  record_ns(key_from(key, "takt_record"), static_cast<std::uint64_t>(ns));
  if (ns >= 0) { return TAKT_OK; }
  return c_misuse("c.record", Words("takt_record(): ", ns, " ns is not 0 or more; it is not recorded."));
}

}  // extern "C"
