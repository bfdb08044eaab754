// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What a device is to Takt: for those who make a Backend. Training code needs none of it.

#include <takt/config.hpp>
#include <takt/elapsed.hpp>

#include <cstdint>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE

/// What a device tells a report about itself. Texts are not owned, and live as long as the process.
struct DeviceReport {
  /// Spans that were not timed for one cause.
  struct Skips {
    const char* what = nullptr;  ///< stable identifier such as "skipped_capturing"; nullptr ends the list
    std::uint64_t count = 0;
  };
  static constexpr unsigned kSkips = 16;

  const char* unavailable = nullptr;  ///< why no stream span can be timed; nullptr: they can
  const char* caveat = nullptr;       ///< what its figures have to be read with; nullptr: nothing special
  Skips skips[kSkips];                ///< spans that were not timed, by cause
};

/// What a device remembers between several questions that one thread asks it one after the other, so that it need not
/// do everything for each of them. Takt makes a new one for each such series, and hands it back at the end; the device
/// fills it as it likes.
struct Questions {
  bool begun = false;
  int mode = 0;
  const void* context = nullptr;
  const void* stream = nullptr;
  bool visiting = false;  ///< a thread without a context has been lent one
};

/// Where a mark lies on the time line of its device (docs/decisions/0014).
struct DevicePlace {
  const void* line = nullptr;  ///< which time line: those of two devices have no common origin
  double ns = 0;               ///< since the origin of the line
  double error_ns = 0;         ///< by which `ns` may be off for want of digits
};

/// A Backend (docs/backends.md) without its type, as a recorder needs it; device_ops (takt/backend.hpp) makes one. All
/// functions but report() are called on threads that record; they must not block, throw, or change what the application
/// sees of the device. Static storage.
struct DeviceOps {
  const char* name;
  /// Results of one stream come in the order of its marks, so that only the oldest one needs to be looked at.
  bool in_order;
  /// Puts a mark on the queue of `handle`; false where that cannot be done (the region is then not timed there).
  bool (*mark)(void* handle, Mark& mark) noexcept;
  /// One more release() will come for `mark`: it ends one region and begins the next.
  void (*retain)(void* handle, Mark mark) noexcept;
  Elapsed (*elapsed)(void* handle, Mark begin, Mark end) noexcept;
  void (*release)(void* handle, Mark mark) noexcept;
  /// For all streams of this kind; nullptr: nothing to say. Background thread, or any thread that takes a snapshot.
  DeviceReport (*report)() noexcept = nullptr;
  /// While a time line is recorded: says of each mark, on the thread that has just made it, that others may be measured
  /// from it.
  void (*offer)(void* handle, Mark mark) noexcept = nullptr;
  /// Where a mark that has been reached lies on the time line of its device; false where that cannot be told now.
  /// nullptr: the device has no time line. Never waits.
  bool (*locate)(void* handle, Mark mark, DevicePlace& place) noexcept = nullptr;
  /// elapsed() as one of several questions that this thread asks one after the other; then end_questions(). Both or
  /// neither.
  Elapsed (*ask)(void* handle, Mark begin, Mark end, Questions& questions) noexcept = nullptr;
  void (*end_questions)(void* handle, Questions& questions) noexcept = nullptr;
  /// Puts a mark into the graph that `handle` is being captured into: each replay sets it again, until its release().
  /// False where that cannot be done. For such a device elapsed() of a mark and itself tells truly whether the mark has
  /// been reached, and any of its handles serves for any mark. nullptr: never.
  bool (*graph_mark)(void* handle, Mark& mark) noexcept = nullptr;
  /// Waits until the device has come to `mark`: for trials and measurements alone, which do. False where it cannot be
  /// done.
  bool (*wait)(void* handle, Mark mark) noexcept = nullptr;
  /// mark(), for a device that bounds how many marks are in flight (most_in_flight()). `begins`: false also where the
  /// end of the region, and those of the regions around it, might find no room. nullptr: mark() does as well.
  bool (*mark_bounded)(void* handle, Mark& mark, bool begins) noexcept = nullptr;
};

/// How many marks may be in flight on one stream, from all threads: on its queue, and not known to have been reached
/// (SessionOptions::gpu_records). A device whose queue holds up the host when it is full makes no more than these. Any
/// thread.
TAKT_EXPORT std::uint32_t most_in_flight() noexcept;

TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
