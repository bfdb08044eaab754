// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/measurement.hpp>
#include <takt/session.hpp>
#include <takt/stream.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>
#include <type_traits>

TAKT_BEGIN_NAMESPACE

/// Options of measure() (takt/measure.hpp). The defaults are the protocol of DIPPM. Functions are called on the
/// measuring thread and may throw.
struct MeasureOptions {
  int warmup = 5;  ///< calls before the measured ones, 0 to 100,000
  int runs = 30;   ///< measured calls, 1 to 100,000; with `interval`, the minimum
  /// Target width of the 95 % interval of the median, as a share of the median, above 0 and below 1. Measures until the
  /// interval is that narrow, or up to 100,000 runs. 0: exactly `runs`.
  double interval = 0;
  /// Time limit from the first call, up to 24 h: no call starts later. The first call and one measured run are always
  /// made. 0: no limit.
  std::chrono::milliseconds time_limit{0};
  std::int64_t items = 1;  ///< samples per run (>= 1)
  /// Numbers that describe this measurement, for `takt predict`; at most 32, finite. Names are unique and have 1 to 60
  /// letters, digits, `_`, `.` or `-`.
  MeasuredFeatures features;

  /// Returns the peak device memory in bytes that your allocator has handed out since `reset_peak`. Called once, after
  /// the last run.
  std::function<std::uint64_t()> peak_bytes;
  std::function<void()> reset_peak;  ///< called once, before the first call
};

TAKT_END_NAMESPACE

#if TAKT_ENABLED

TAKT_BEGIN_NAMESPACE
namespace detail {

TAKT_EXPORT Measurement measure_function(const Session& session, std::string_view name, StreamRef stream,
                                         const std::function<void()>& function, const MeasureOptions& options);

}  // namespace detail

/// Measures the cost of a function. Calls it 5 times to warm up and 30 times measured, unless the options say
/// otherwise:
///
///     takt::measure(session, "net b16", [&] { net.infer(x); });
///
/// Each run ends when its work is done: it waits once for the streams of the function's regions, if any. If the
/// function leaves other work on a device, pass its stream or let the function wait. Because of this wait, do not
/// measure training steps. The result is also in Snapshot::measurements, results.csv, results.json and the table;
/// docs/models.md has the rules. Regions recorded inside the function are excluded from the run's statistics. An
/// exception from the function is passed on, and the measurement is discarded. With TAKT_DISABLE=1 the function is
/// called once, and the result is empty. One at a time in a process, and not inside trials.
/// \param name what is measured and how, such as model and batch size. A later measurement of the same name replaces
///         the earlier one.
/// \throws takt::Error for invalid options, if another measurement is running, and if `session` is not the running one.
template <class Function, std::enable_if_t<std::is_invocable_v<Function&>, int> = 0>
Measurement measure(const Session& session, detail::TextArgument name, Function&& function,
                    const MeasureOptions& options = {}) {
  return detail::measure_function(
      session, name.view(), {}, [&function] { static_cast<void>(function()); }, options);
}

/// Measures a function that puts its work on `stream` (any stream that Scope takes). Each run also has its stream span,
/// and also waits for this stream.
template <class Function, std::enable_if_t<std::is_invocable_v<Function&>, int> = 0>
Measurement measure(const Session& session, detail::TextArgument name, detail::StreamArgument stream,
                    Function&& function, const MeasureOptions& options = {}) {
  return detail::measure_function(
      session, name.view(), stream.ref, [&function] { static_cast<void>(function()); }, options);
}

TAKT_END_NAMESPACE

#else

TAKT_BEGIN_OFF_NAMESPACE

/// Compiled out: calls the function once and returns an empty result.
template <class Function, std::enable_if_t<std::is_invocable_v<Function&>, int> = 0>
Measurement measure(const Session&, detail::TextArgument, Function&& function, const MeasureOptions& = {}) {
  static_cast<void>(function());
  return {};
}
template <class Stream, class Function, std::enable_if_t<std::is_invocable_v<Function&>, int> = 0>
Measurement measure(const Session&, detail::TextArgument, const Stream&, Function&& function,
                    const MeasureOptions& = {}) {
  static_cast<void>(function());
  return {};
}

TAKT_END_OFF_NAMESPACE

#endif
