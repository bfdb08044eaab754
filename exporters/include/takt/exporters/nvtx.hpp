// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

TAKT_BEGIN_NAMESPACE

/// Emits an NVTX range for every region that starts during its lifetime, on the thread's row in Nsight Systems. The
/// domain is "takt", the range has the key's name and a category per kind, and its payload is the thread's Batch
/// number, from 0. Link takt::nvtx.
///
/// NVTX ranges of a thread nest. A range whose region ends before an inner region is shown in parts. A range whose
/// region ends on another thread is shown until the next start or end on its own thread; if several threads have ranges
/// of that key open, another thread's range may be cut instead. Ranges deeper than 64 have no length.
///
/// Without a profiler it does nothing and adds no cost to regions. At most one object at a time; any thread.
class TAKT_EXPORT NvtxRanges {
 public:
  NvtxRanges() noexcept;
  ~NvtxRanges();
  NvtxRanges(const NvtxRanges&) = delete;
  NvtxRanges& operator=(const NvtxRanges&) = delete;

  /// Returns whether a profiler is attached.
  bool active() const noexcept { return active_; }

 private:
  bool active_;
};

TAKT_END_NAMESPACE
