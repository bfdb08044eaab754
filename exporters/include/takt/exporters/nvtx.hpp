// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

TAKT_BEGIN_NAMESPACE

/// While it lives, every region that begins is an NVTX range too, on its thread's row in Nsight Systems: domain "takt",
/// the key's name, a category for each kind, and as payload the number of the thread's Batch, from 0. Link takt::nvtx.
///
/// NVTX ranges of a thread nest. One whose region ends before a region inside it is shown in parts; one whose region
/// ends on another thread is shown until the next begin or end on the thread that began it; where several threads have
/// ranges of that key open, another one's may be cut instead. One beyond 64 deep has no length.
///
/// Without a profiler it does nothing, and regions stay as quick as they were. One at a time; any thread.
class TAKT_EXPORT NvtxRanges {
 public:
  NvtxRanges() noexcept;
  ~NvtxRanges();
  NvtxRanges(const NvtxRanges&) = delete;
  NvtxRanges& operator=(const NvtxRanges&) = delete;

  /// Whether there is a profiler that listens.
  bool active() const noexcept { return active_; }

 private:
  bool active_;
};

TAKT_END_NAMESPACE
