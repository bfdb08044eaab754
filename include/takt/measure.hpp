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

/// How a function is measured (takt/measure.hpp). The defaults are the protocol of DIPPM. Functions are called on the
/// thread that measures, and may throw.
struct MeasureOptions {
  int warmup = 5;  ///< calls before the measured ones, 0 to 100 000
  int runs = 30;   ///< measured calls, 1 to 100 000; with `interval` at least so many
  /// Above 0, and below 1: measures until the 95 % interval of the median is at most such a share of the median wide,
  /// or there are 100 000 runs; 0: exactly `runs`.
  double interval = 0;
  /// No call begins so long after the first one, up to 24 h, but for the first call and one measured run, which are
  /// always there; 0: however long.
  std::chrono::milliseconds time_limit{0};
  std::int64_t items = 1;  ///< samples in a run, 1 or more

  /// The most bytes of device memory that your allocator has handed out since `reset_peak`. Called once, after the last
  /// run.
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

/// What does a function cost? Calls it 5 times to warm up and 30 times measured, unless the options say otherwise:
///
///     takt::measure(session, "net b16", [&] { net.infer(x); });
///
/// Each run ends when its work is done: there is one wait for the streams of the regions that the function has, if any.
/// Where it leaves work to a device in another way, give the stream, or let the function wait. So not for the steps of
/// a training. The result is also in Snapshot::measurements, results.csv, results.json and the table; docs/models.md
/// has the rules. What the function records meanwhile is in no figure of the run. An exception of the function goes
/// through, and then nothing is kept of the measurement. With TAKT_DISABLE=1 the function is called once, and the
/// result is empty. One at a time in a process, and not inside of trials.
/// \param name of what is measured and how, such as model and batch size. Of two measurements of one name the later one
///        counts.
/// \throws takt::Error for options that cannot be, where something else is being measured, and where `session` is not
///         the running one.
template <class Function, std::enable_if_t<std::is_invocable_v<Function&>, int> = 0>
Measurement measure(const Session& session, detail::TextArgument name, Function&& function,
                    const MeasureOptions& options = {}) {
  return detail::measure_function(
      session, name.view(), {}, [&function] { static_cast<void>(function()); }, options);
}

/// The same of a function that puts its work on `stream`: whatever Scope takes as one. Each run has
/// its stream span, too, and the wait is for this stream as well.
template <class Function, std::enable_if_t<std::is_invocable_v<Function&>, int> = 0>
Measurement measure(const Session& session, detail::TextArgument name, detail::StreamArgument stream,
                    Function&& function, const MeasureOptions& options = {}) {
  return detail::measure_function(
      session, name.view(), stream.ref, [&function] { static_cast<void>(function()); }, options);
}

TAKT_END_NAMESPACE

#else

TAKT_BEGIN_OFF_NAMESPACE

/// Compiled out: calls the function once, and tells nothing.
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
