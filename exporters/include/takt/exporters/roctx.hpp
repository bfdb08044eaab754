// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

TAKT_BEGIN_NAMESPACE

/// Emits a ROCTX range for every region that starts during its lifetime. rocprof shows it on the thread's row under the
/// key's name. Link takt::roctx. Loads librocprofiler-sdk-roctx, else libroctx64, at run time.
///
/// Ranges nest, with the consequences that NvtxRanges describes. Without the library it does nothing. With the library
/// each range costs one string copy, even without a profiler: use it for profiled runs only. At most one object at a
/// time; any thread.
class TAKT_EXPORT RoctxRanges {
 public:
  RoctxRanges() noexcept;
  ~RoctxRanges();
  RoctxRanges(const RoctxRanges&) = delete;
  RoctxRanges& operator=(const RoctxRanges&) = delete;

  /// Returns whether the library was found.
  bool active() const noexcept { return active_; }

 private:
  bool active_;
};

TAKT_END_NAMESPACE
