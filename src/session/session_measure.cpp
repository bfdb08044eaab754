// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Measurements of functions: where they come from, and where they go.
#include <takt/error.hpp>
#include <takt/measure.hpp>

#include "base/fault.hpp"
#include "base/format.hpp"
#include "base/quiet_signals.hpp"
#include "base/repaired_name.hpp"
#include "base/text.hpp"
#include "base/words.hpp"
#include "process/diversion.hpp"
#include "report/results_text.hpp"
#include "session/measure_loop.hpp"
#include "session/session_impl.hpp"

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr int kMostWarmup = 100'000;
constexpr double kMostMeasureSeconds = 86'400;
constexpr std::size_t kMostMeasurements = 1'000;  // in one run
constexpr std::size_t kMostKeptRuns = 100'000;    // of all of them

void refuse_option(const char* option, double value, const std::string& cure) {
  throw Error(detail::format("takt: MeasureOptions::{} is {}; {}", option, value, cure));
}

void check_measure(std::string_view name, const MeasureOptions& options) {
  if (name.empty()) { throw Error("takt: measure() takes a name, such as model and batch size"); }
  if (options.warmup < 0 || options.warmup > kMostWarmup) {
    refuse_option("warmup", options.warmup, detail::format("0 to {} calls can be", kMostWarmup));
  }
  if (options.runs < 1 || static_cast<std::size_t>(options.runs) > kMostMeasuredRuns) {
    refuse_option("runs", options.runs, detail::format("1 to {} can be measured", kMostMeasuredRuns));
  }
  if (!(options.interval >= 0 && options.interval < 1)) {
    refuse_option("interval", options.interval, "a share of the median lies above 0 and below 1; 0 is exactly `runs`");
  }
  if (!(options.seconds >= 0 && options.seconds <= kMostMeasureSeconds)) {
    refuse_option("seconds", options.seconds, detail::format("0 (however long) to {} can be", kMostMeasureSeconds));
  }
  if (options.items < 1) { refuse_option("items", static_cast<double>(options.items), "a run has 1 item or more"); }
}

/// While it lives, what is recorded is kept from the books of the run.
class Diverted {
 public:
  Diverted() {
    if (diversion().begin()) { return; }
    throw Error(
        "takt: measure() cannot run inside of trials, or beside another measurement: a process has one at a time");
  }
  ~Diverted() { diversion().end(); }
  Diverted(const Diverted&) = delete;
  Diverted& operator=(const Diverted&) = delete;
};

}  // namespace

/// In the place of the one of the same name. False: there is no room.
bool SessionImpl::keep_measurement(Measurement measurement) {
  const std::lock_guard<std::mutex> lock(data_);
  const auto before = std::find_if(measurements_.begin(), measurements_.end(),
                                   [&](const auto& each) { return each->name == measurement.name; });
  const bool again = before != measurements_.end();
  if (!again && measurements_.size() == kMostMeasurements) { return false; }
  std::size_t kept = measurement.runs.size();
  for (const auto& each : measurements_) { kept += each->runs.size(); }
  if (again) { kept -= (*before)->runs.size(); }
  if (kept > kMostKeptRuns) {
    measurement.runs_left_out = measurement.runs.size();
    measurement.runs.clear();
    report_fault_once("measure.runs",
                      Words("measurements have more than ", kMostKeptRuns,
                            " runs together: those of further ones count, and are not in results.json"));
  }
  auto shared = std::make_shared<const Measurement>(std::move(measurement));
  if (again) {
    report_fault_once("measure.again",
                      Words("\"", shared->name, "\" was measured again: the later measurement counts"));
    *before = std::move(shared);
  } else {
    measurements_.push_back(std::move(shared));
  }
  return true;
}

MeasurementList SessionImpl::measurements() {
  const std::lock_guard<std::mutex> lock(data_);
  return measurements_;
}

Measurement SessionImpl::measure(std::string name, StreamRef stream, const std::function<void()>& function,
                                 const MeasureOptions& options) {
  const MeasureLoop::Surroundings surroundings = {
      &samples_, [this] { return static_cast<std::int64_t>(process_clock().now_ns() - start_ns_); },
      [](std::chrono::milliseconds time) { std::this_thread::sleep_for(time); }};
  const Diverted diverted;
  Measurement measurement = MeasureLoop(options, stream, surroundings).measure(std::move(name), function);
  if (!keep_measurement(measurement)) {
    report_fault_once("measure.names", Words("there are ", kMostMeasurements,
                                             " measurements, and no room for further names: these are in no file"));
    return measurement;
  }
  if (!writes_files()) { return measurement; }
  const QuietSignals quiet;  // this is a thread of the program's
  const std::lock_guard<std::mutex> lock(writing_results_);
  results_text_.update(measurements());
  write_file("results.csv", results_text_.csv());
  write_file("results.json", results_text_.json(run_));
  return measurement;
}

Measurement measure_function(const Session& session, std::string_view name, StreamRef stream,
                             const std::function<void()>& function, const MeasureOptions& options) {
  check_measure(name, options);
  SessionImpl* const running = running_session();
  if (running == nullptr || &running->run() != &session.run()) {
    throw Error(
        "takt: measure() takes the Session that runs; this one has been closed, or is that of a parent process");
  }
  if (running->is_silent()) {
    function();
    return {};
  }
  tell_repaired("measure.name", "measurement", name);
  // As results.csv shows it, so that no two lines there have one name.
  return running->measure(printable(repaired_name(name)), stream, function, options);
}

}  // namespace detail
TAKT_END_NAMESPACE
