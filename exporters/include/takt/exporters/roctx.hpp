// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

TAKT_BEGIN_NAMESPACE

/// While it lives, every region that begins is a ROCTX range too, which rocprof shows on its thread's row under the
/// key's name. Link takt::roctx. The library is looked for when the program runs: librocprofiler-sdk-roctx, else
/// libroctx64.
///
/// Ranges nest, with the consequences that NvtxRanges tells. Where there is no such library it does nothing; where
/// there is one, each range costs a string's copy even without a profiler: make one for runs that are profiled. One at
/// a time; any thread.
class TAKT_EXPORT RoctxRanges {
 public:
  RoctxRanges() noexcept;
  ~RoctxRanges();
  RoctxRanges(const RoctxRanges&) = delete;
  RoctxRanges& operator=(const RoctxRanges&) = delete;

  /// Whether the library was found.
  bool active() const noexcept { return active_; }

 private:
  bool active_;
};

TAKT_END_NAMESPACE
