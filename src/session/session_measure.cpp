// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/session_measure.hpp"

#include "base/format.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"
#include "base/threads.hpp"
#include "measure/measured_times.hpp"
#include "measure/mig_slices.hpp"
#include "process/diversion.hpp"
#include "report/results_text.hpp"
#include "sample/energy_stats.hpp"
#include "sample/system_source.hpp"
#include "session/session_impl.hpp"
#include "session/stream_wait.hpp"

#include <takt/backend.hpp>
#include <takt/error.hpp>
#include <takt/measure.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include <sys/resource.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLongestForSamples(5000);

/// Returns the number of involuntary context switches of this thread.
long forced_switches() noexcept {
  rusage used{};
  return ::getrusage(RUSAGE_THREAD, &used) == 0 ? used.ru_nivcsw : 0;
}

std::optional<std::int64_t> host_peak_bytes() noexcept {
  std::uint64_t kib = 0;
  const bool known = KernelFile("/proc/self/status").number_of("VmHWM:", kib);
  return known ? std::optional(static_cast<std::int64_t>(kib * 1024)) : std::nullopt;
}

/// An event on a stream; empty if there is no stream or it takes no events.
class StreamMark {
 public:
  explicit StreamMark(StreamRef stream) noexcept : stream_(stream) {
    made_ = stream.ops != nullptr && stream.ops->mark(stream.handle, mark_);
  }
  ~StreamMark() {
    if (made_) { stream_.ops->release(stream_.handle, mark_); }
  }
  StreamMark(const StreamMark&) = delete;
  StreamMark& operator=(const StreamMark&) = delete;

  bool made() const noexcept { return made_; }
  bool wait() const noexcept { return made_ && wait_for_mark(stream_, mark_); }
  /// REQUIRES: made(), and the event has completed.
  std::optional<std::int64_t> since(const StreamMark& begin) const noexcept {
    if (!begin.made_) { return std::nullopt; }
    const Elapsed elapsed = stream_.ops->elapsed(stream_.handle, begin.mark_, mark_);
    return elapsed.state == Elapsed::State::ready ? std::optional(elapsed.ns) : std::nullopt;
  }

 private:
  const StreamRef stream_;
  Mark mark_ = 0;
  bool made_ = false;
};

template <class Time>
std::vector<std::int64_t> times_of(const std::vector<MeasuredRun>& runs, Time MeasuredRun::*time) {
  std::vector<std::int64_t> times;
  for (const MeasuredRun& each : runs) {
    if (const std::optional<std::int64_t> known = each.*time) { times.push_back(*known); }
  }
  return times;
}

}  // namespace

MeasuredRun MeasureLoop::call(const std::function<void()>& function) {
  MeasuredRun run;
  const long switches = forced_switches();
  run.begin_ns = surroundings_.now();
  {
    const StreamMark begin(stream_);
    function();
    const StreamMark end(stream_);
    const bool waited = stream_.ops == nullptr || end.wait();
    found_.failed_waits += wait_for_noted_streams(stream_) && waited ? 0 : 1;
    run.host_ns = surroundings_.now() - run.begin_ns;
    if (waited && end.made()) { run.stream_ns = end.since(begin); }
  }
  run.forced_switches = static_cast<std::uint32_t>(std::max(0L, forced_switches() - switches));
  return run;
}

bool MeasureLoop::is_time_up() const {
  const std::chrono::nanoseconds took(surroundings_.now() - started_ns_);
  return options_.time_limit > milliseconds(0) && took >= options_.time_limit;
}

/// Returns the reason to stop, if any. The interval is checked whenever the number of runs has grown by a twentieth.
std::optional<MeasureEnd> MeasureLoop::ending() {
  constexpr std::size_t kPart = 20;
  const std::size_t runs = found_.runs.size();
  if (runs == 0) { return std::nullopt; }
  const bool enough = runs >= static_cast<std::size_t>(options_.runs);
  if (enough && options_.interval <= 0) { return MeasureEnd::runs; }
  if (enough && runs >= next_check_) {
    next_check_ = runs + std::max<std::size_t>(runs / kPart, 1);
    const MeasuredTimes times = measured_times(times_of(found_.runs, &MeasuredRun::host_ns));
    if (is_narrow(times, options_.interval)) { return MeasureEnd::interval; }
  }
  if (runs >= kMaxMeasuredRuns) { return MeasureEnd::max_runs; }
  return is_time_up() ? std::optional(MeasureEnd::seconds) : std::nullopt;
}

void MeasureLoop::run_all(const std::function<void()>& function) {
  started_ns_ = surroundings_.now();
  for (int each = 0; each < options_.warmup && (each == 0 || !is_time_up()); ++each) {
    const MeasuredRun run = call(function);
    if (each == 0) { found_.first_ns = run.host_ns; }
    ++found_.warmup;
  }
  found_.runs.reserve(static_cast<std::size_t>(options_.runs));
  std::optional<MeasureEnd> end;
  while (!(end = ending())) { found_.runs.push_back(call(function)); }
  found_.end = *end;
  if (found_.warmup == 0) { found_.first_ns = found_.runs.front().host_ns; }
  found_.took_ns = surroundings_.now() - started_ns_;
}

void MeasureLoop::add_memory() {
  found_.host_peak_bytes = host_peak_bytes();
  if (!options_.peak_bytes) { return; }
  found_.memory_bytes = static_cast<std::int64_t>(std::min<std::uint64_t>(options_.peak_bytes(), INT64_MAX));
  found_.memory_of = "allocator";
}

std::string MeasureLoop::why_no_energy(const SensorWindow& window) const {
  const std::uint64_t values = window.has_energy ? window.energy.values : window.figures.samples;
  if (values >= EnergyStats::kMinSamples) { return window.has_energy ? "" : "samples do not span all runs"; }
  const double between_ns = static_cast<double>(window.figures.interval_ns);
  const double enough = std::ceil((EnergyStats::kMinSamples + 1) * between_ns / std::max(found_.host.mean_ns, 1.0));
  const double runs = std::max(enough, static_cast<double>(found_.host.n + 1));
  return detail::format(
      "only {} of its samples fall into the runs; {} are needed: with samples every {} that is about {} runs", values,
      EnergyStats::kMinSamples, human_time(between_ns), human_count(static_cast<std::uint64_t>(runs)));
}

/// Waits for a sample after the end, which completes the energy.
RunSamples::Taken MeasureLoop::taken() const {
  const milliseconds period = surroundings_.samples->period();
  const std::int64_t begin_ns = found_.runs.front().begin_ns;
  const std::int64_t end_ns = found_.runs.back().begin_ns + found_.runs.back().host_ns;
  const auto timeout = std::min(2 * period + milliseconds(250), kLongestForSamples);
  const std::int64_t give_up_ns = surroundings_.now() + std::chrono::nanoseconds(timeout).count();
  const auto needs_more = [&](const RunSamples::Taken& taken) {
    const auto windows = sensor_windows(taken.sensors, taken.samples, begin_ns, end_ns);
    return std::any_of(windows.begin(), windows.end(), [](const SensorWindow& window) {
      const bool reports = window.figures.energy.source != SensorEnergy::Source::none;
      return reports && !window.has_energy && window.figures.samples >= EnergyStats::kMinSamples;
    });
  };
  for (;;) {
    RunSamples::Taken taken = surroundings_.samples->taken_between(begin_ns, end_ns);
    if (surroundings_.now() >= give_up_ns || !needs_more(taken)) { return taken; }
    surroundings_.pause(std::min(period, milliseconds(10)));
  }
}

void MeasureLoop::add_samples() {
  if (surroundings_.samples->period().count() == 0) {
    found_.no_energy = "nothing was sampled; set TAKT_SAMPLE_MS=100 to sample energy and memory";
    return;
  }
  const RunSamples::Taken sampled = taken();
  note_surroundings(sampled.sensors, sampled.samples, found_.runs);
  const std::int64_t end_ns = found_.runs.back().begin_ns + found_.runs.back().host_ns;
  found_.no_energy = "no sensor measures it";
  for (const SensorWindow& window :
       sensor_windows(sampled.sensors, sampled.samples, found_.runs.front().begin_ns, end_ns)) {
    const Sensor& figures = window.figures;
    MeasuredSensor sensor;
    sensor.name = figures.name;
    sensor.kind = figures.kind;
    sensor.samples = figures.samples;
    const QuantityFigures* const memory = figures.figures_of(Quantity::memory);
    if (sensor.kind == Sensor::Kind::device && memory != nullptr) { sensor.memory_bytes = memory->max; }
    const bool reports = figures.place_of(Quantity::energy) < figures.quantities.size() ||
                         figures.place_of(Quantity::power) < figures.quantities.size();
    if (reports) { sensor.no_energy = why_no_energy(window); }
    if (reports && sensor.no_energy.empty()) {
      sensor.joules = window.energy.joules;
      sensor.error_joules = window.energy.error_joules;
    }
    found_.sensors.push_back(std::move(sensor));
  }
  conclude_costs(found_);
  found_.mig_device = mig_device_of(sampled.sensors, found_.memory_of);
}

Measurement MeasureLoop::measure(std::string name, const std::function<void()>& function) {
  found_.name = std::move(name);
  found_.items = options_.items;
  found_.features = options_.features;
  if (options_.reset_peak) { options_.reset_peak(); }
  run_all(function);
  found_.host = measured_times(times_of(found_.runs, &MeasuredRun::host_ns));
  found_.stream = measured_times(times_of(found_.runs, &MeasuredRun::stream_ns));
  add_memory();
  add_samples();
  found_.notes = notes_on(found_.runs);
  return std::move(found_);
}

// Measurements of functions: checks of options, and storage of results.
namespace {

constexpr int kMaxWarmup = 100'000;
constexpr milliseconds kMaxMeasureTime = std::chrono::hours(24);
constexpr std::size_t kMaxMeasurements = 1'000;  // in one run
constexpr std::size_t kMaxKeptRuns = 100'000;    // sum over all measurements

void refuse_option(const char* option, double value, const std::string& cure) {
  throw Error(detail::format("takt: MeasureOptions::{} is {}; {}", option, value, cure));
}

void check_features(const MeasuredFeatures& features) {
  if (features.size() > kMaxFeatures) {
    refuse_option("features.size()", static_cast<double>(features.size()), "use at most 32");
  }
  for (auto each = features.begin(); each != features.end(); ++each) {
    const bool twice =
        std::any_of(features.begin(), each, [&](const auto& before) { return before.first == each->first; });
    const char* const why = !is_feature_name(each->first)  ? "use 1 to 60 letters, digits, _, . and - as its name"
                            : twice                        ? "use a name once"
                            : !std::isfinite(each->second) ? "its value must be finite"
                                                           : nullptr;
    if (why == nullptr) { continue; }
    throw Error("takt: MeasureOptions::features: \"" + fit(printable(each->first), kMaxFeatureBytes) + "\": " + why);
  }
}

void check_measure(std::string_view name, const MeasureOptions& options) {
  if (name.empty()) { throw Error("takt: measure() needs a name, such as model and batch size"); }
  if (options.warmup < 0 || options.warmup > kMaxWarmup) {
    refuse_option("warmup", options.warmup, detail::format("use 0 to {} calls", kMaxWarmup));
  }
  if (options.runs < 1 || static_cast<std::size_t>(options.runs) > kMaxMeasuredRuns) {
    refuse_option("runs", options.runs, detail::format("use 1 to {}", kMaxMeasuredRuns));
  }
  if (!(options.interval >= 0 && options.interval < 1)) {
    refuse_option("interval", options.interval,
                  "use a share of the median above 0 and below 1, or 0 for exactly `runs`");
  }
  if (options.time_limit < milliseconds(0) || options.time_limit > kMaxMeasureTime) {
    refuse_option("time_limit in seconds", std::chrono::duration<double>(options.time_limit).count(),
                  "use 0 (no limit) to 86400");
  }
  if (options.items < 1) { refuse_option("items", static_cast<double>(options.items), "use 1 or more"); }
  check_features(options.features);
}

/// Excludes recorded data from the run's statistics during its lifetime.
class Excluded {
 public:
  Excluded() {
    if (diversion().begin()) { return; }
    throw Error("takt: measure() cannot run during trials or another measurement: a process has one at a time");
  }
  ~Excluded() { diversion().end(); }
  Excluded(const Excluded&) = delete;
  Excluded& operator=(const Excluded&) = delete;
};

}  // namespace

/// Adds a measurement or replaces the one of the same name. Returns false if the list is full.
bool SessionImpl::keep_measurement(Measurement measurement) {
  const std::lock_guard<std::mutex> lock(data_);
  const auto before = std::find_if(measurements_.begin(), measurements_.end(),
                                   [&](const auto& each) { return each->name == measurement.name; });
  const bool again = before != measurements_.end();
  if (!again && measurements_.size() == kMaxMeasurements) { return false; }
  std::size_t kept = measurement.runs.size();
  for (const auto& each : measurements_) { kept += each->runs.size(); }
  if (again) { kept -= (*before)->runs.size(); }
  if (kept > kMaxKeptRuns) {
    measurement.runs_left_out = measurement.runs.size();
    measurement.runs.clear();
    report_error_once("measure.runs", Words("measurements have more than ", kMaxKeptRuns,
                                            " runs in total: further runs count but are not listed in results.json"));
  }
  auto shared = std::make_shared<const Measurement>(std::move(measurement));
  if (again) {
    report_error_once("measure.again",
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
  const Excluded excluded;
  Measurement measurement = MeasureLoop(options, stream, surroundings).measure(std::move(name), function);
  if (!keep_measurement(measurement)) {
    report_error_once("measure.names",
                      Words("the limit of ", kMaxMeasurements,
                            " measurements is reached: measurements with further names are in no file"));
    return measurement;
  }
  if (!writes_files()) { return measurement; }
  const QuietSignals quiet;  // this is a thread of the program
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
    throw Error("takt: measure() needs an open Session; this one is closed or belongs to a parent process");
  }
  if (running->is_silent()) {
    function();
    return {};
  }
  report_repaired("measure.name", "measurement", name);
  // Uses the name as shown in results.csv, so that no two lines there have the same name.
  return running->measure(printable(repaired_name(name)), stream, function, options);
}

}  // namespace detail
TAKT_END_NAMESPACE
