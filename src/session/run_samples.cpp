// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/run_samples.hpp"

#include "base/report_error.hpp"
#include "base/text.hpp"
#include "sample/nvml_source.hpp"
#include "sample/rsmi_source.hpp"
#include "sample/system_source.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kBytesOfSample = 128;  // approximate
constexpr std::size_t kMinSamples = 256;

// Limits, in periods and time, after which a source that does not return is reported.
constexpr int kLatePeriods = 10;
constexpr milliseconds kLate(5000);

}  // namespace

std::vector<std::unique_ptr<SampleSource>> RunSamples::sources(const std::string& host) {
  std::vector<std::unique_ptr<SampleSource>> all;
  all.push_back(std::make_unique<SystemSource>(host));
  all.push_back(NvmlSource::of_process());
  all.push_back(RsmiSource::of_process());
  return all;
}

void RunSamples::plan(Plan plan, std::vector<std::unique_ptr<SampleSource>> sources) {
  plan_ = std::move(plan);
  plan_.period = std::clamp(plan_.period, milliseconds(kMinMs), milliseconds(kMaxMs));
  const std::size_t max = std::max(plan_.memory / kBytesOfSample, kMinSamples);
  queue_ = std::make_unique<SampleQueue>(max);
  for (auto& each : sources) {
    samplers_.push_back(std::make_unique<Sampler>(std::move(each), *queue_, plan_.now, plan_.period));
  }
  stats_ = std::make_unique<SampleStats>(std::chrono::nanoseconds(plan_.period).count(), max);
}

void RunSamples::start(Plan plan, std::vector<std::unique_ptr<SampleSource>> sources) noexcept {
  try {
    this->plan(std::move(plan), std::move(sources));
  } catch (const std::bad_alloc&) {
    stats_.reset();
    return report_error("sample.memory", "out of memory: nothing is sampled");
  }
  for (const auto& each : samplers_) {
    if (each->start("takt-sample")) { continue; }
    report_error("thread",
                 Words("cannot start a thread to sample ", each->what(), ". Raise the limit on threads (ulimit -u)."));
  }
}

void RunSamples::start_by_hand(Plan plan, std::vector<std::unique_ptr<SampleSource>> sources) {
  this->plan(std::move(plan), std::move(sources));
}

void RunSamples::tick() noexcept {
  for (const auto& each : samplers_) { each->tick(); }
}

/// Moves the threads' data into the stats and keeps it for the next collection. REQUIRES: the lock is held.
void RunSamples::take() {
  SampleQueue::News news = queue_->take();
  for (const std::uint32_t sensor : stats_->take(news)) {
    const Sensor& lost = stats_->sensors()[sensor];
    report_error("sample.lost " + lost.name,
                 lost.name + " is no longer sampled: " + lost.lost + ". Other sensors are still sampled");
  }
  taken_.insert(taken_.end(), std::make_move_iterator(news.samples.begin()),
                std::make_move_iterator(news.samples.end()));
}

void RunSamples::keep(Drained& drained, bool last) noexcept {
  if (queue_ == nullptr) { return; }
  report_waiting();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (stats_ == nullptr) { return; }
  try {
    take();
    drained.samples = std::exchange(taken_, {});
    stats_->add(drained.rows, drained.spans, plan_.traced);
    stats_->settle(last);
  } catch (const std::bad_alloc&) {
    stats_.reset();
    report_error("sample.memory", "out of memory: no samples and no energy are recorded from now on");
  }
}

void RunSamples::report_waiting() noexcept {
  for (const auto& each : samplers_) {
    const auto waiting = each->waiting();
    if (waiting < std::max(kLatePeriods * plan_.period, kLate)) { continue; }
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(waiting).count();
    report_error(Words("sample.waits ", each->what()),
                 Words(each->what(), ": the driver has not answered for ", seconds,
                       " s, and there are no samples until it does; the run continues"));
  }
}

void RunSamples::report(Snapshot& snapshot) {
  if (queue_ == nullptr) { return; }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const std::uint64_t dropped = queue_->dropped()) { snapshot.losses.push_back({"samples_dropped", "", dropped}); }
  if (stats_ == nullptr) { return; }
  stats_->report(snapshot);
  stats_->report_losses(snapshot.losses);
}

void RunSamples::stop(std::chrono::steady_clock::time_point deadline) noexcept {
  if (queue_ == nullptr) { return; }
  for (const auto& each : samplers_) { each->ask_to_end(); }
  for (const auto& each : samplers_) {
    if (each->stop(deadline)) { continue; }
    report_error(Words("sample.left ", each->what()),
                 Words(each->what(),
                       ": the driver did not answer at the end of the run, and the thread that waits "
                       "for it was left behind"));
    if (each->is_open()) { continue; }
    try {
      queue_->add({}, {{each->what(), "their driver did not answer"}});
    } catch (const std::bad_alloc&) {}  // reported above
  }
}

RunSamples::Taken RunSamples::taken_between(std::int64_t begin_ns, std::int64_t end_ns) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (stats_ == nullptr) { return {}; }
  take();
  return {stats_->sensors(), stats_->between(begin_ns, end_ns)};
}

std::vector<SensorWindow> RunSamples::between(std::int64_t begin_ns, std::int64_t end_ns) {
  const Taken taken = taken_between(begin_ns, end_ns);
  return sensor_windows(taken.sensors, taken.samples, begin_ns, end_ns);
}

}  // namespace detail
TAKT_END_NAMESPACE
