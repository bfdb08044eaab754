// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/run_samples.hpp"

#include "base/fault.hpp"
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

constexpr std::size_t kBytesOfSample = 128;  // about
constexpr std::size_t kLeastSamples = 256;

// A source that does not come back for so many periods, and so long, is worth a line.
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
  plan_.period = std::clamp(plan_.period, milliseconds(kLeastMs), milliseconds(kMostMs));
  const std::size_t most = std::max(plan_.memory / kBytesOfSample, kLeastSamples);
  queue_ = std::make_unique<SampleQueue>(most);
  for (auto& each : sources) {
    samplers_.push_back(std::make_unique<Sampler>(std::move(each), *queue_, plan_.now, plan_.period));
  }
  books_ = std::make_unique<SampleBooks>(std::chrono::nanoseconds(plan_.period).count(), most);
}

void RunSamples::start(Plan plan, std::vector<std::unique_ptr<SampleSource>> sources) noexcept {
  try {
    this->plan(std::move(plan), std::move(sources));
  } catch (const std::bad_alloc&) {
    books_.reset();
    return report_fault("sample.memory", "no memory is left to sample: there are no samples");
  }
  for (const auto& each : samplers_) {
    if (each->start("takt-sample")) { continue; }
    report_fault("thread", Words("no thread can be started to sample ", each->what(),
                                 ". Raise the limit on threads (ulimit -u)."));
  }
}

void RunSamples::start_by_hand(Plan plan, std::vector<std::unique_ptr<SampleSource>> sources) {
  this->plan(std::move(plan), std::move(sources));
}

void RunSamples::tick() noexcept {
  for (const auto& each : samplers_) { each->tick(); }
}

/// What the threads have left is in the books then, and waits for a harvest. Under the lock.
void RunSamples::take() {
  SampleQueue::News news = queue_->take();
  for (const std::uint32_t meter : books_->take(news)) {
    const Meter& lost = books_->meters()[meter];
    report_fault("sample.lost " + lost.name,
                 lost.name + " is not sampled any more: " + lost.lost + ". What else is sampled goes on");
  }
  taken_.insert(taken_.end(), std::make_move_iterator(news.samples.begin()),
                std::make_move_iterator(news.samples.end()));
}

void RunSamples::keep(Harvest& harvest, bool last) noexcept {
  if (queue_ == nullptr) { return; }
  tell_waiting();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (books_ == nullptr) { return; }
  try {
    take();
    harvest.samples = std::exchange(taken_, {});
    books_->add(harvest.rows, harvest.spans, plan_.traced);
    books_->settle(last);
  } catch (const std::bad_alloc&) {
    books_.reset();
    report_fault("sample.memory", "no memory is left for samples: there are none from now on, and no energy");
  }
}

void RunSamples::tell_waiting() noexcept {
  for (const auto& each : samplers_) {
    const auto waiting = each->waiting();
    if (waiting < std::max(kLatePeriods * plan_.period, kLate)) { continue; }
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(waiting).count();
    report_fault(Words("sample.waits ", each->what()),
                 Words(each->what(), ": their driver has not answered for ", seconds,
                       " s, and there are no samples of them meanwhile; the run goes on"));
  }
}

void RunSamples::tell(Snapshot& snapshot) {
  if (queue_ == nullptr) { return; }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const std::uint64_t dropped = queue_->dropped()) { snapshot.losses.push_back({"samples_dropped", "", dropped}); }
  if (books_ == nullptr) { return; }
  books_->tell(snapshot);
  books_->tell_losses(snapshot.losses);
}

void RunSamples::stop(std::chrono::steady_clock::time_point deadline) noexcept {
  if (queue_ == nullptr) { return; }
  for (const auto& each : samplers_) { each->ask_to_end(); }
  for (const auto& each : samplers_) {
    if (each->stop(deadline)) { continue; }
    report_fault(Words("sample.left ", each->what()),
                 Words(each->what(),
                       ": their driver did not answer at the end of the run, and the thread that waits "
                       "for it was left behind"));
    if (each->is_open()) { continue; }
    try {
      queue_->add({}, {{each->what(), "their driver did not answer"}});
    } catch (const std::bad_alloc&) {}  // the line above has said it
  }
}

RunSamples::Taken RunSamples::taken_between(std::int64_t begin_ns, std::int64_t end_ns) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (books_ == nullptr) { return {}; }
  take();
  return {books_->meters(), books_->between(begin_ns, end_ns)};
}

std::vector<MeterWindow> RunSamples::between(std::int64_t begin_ns, std::int64_t end_ns) {
  const Taken taken = taken_between(begin_ns, end_ns);
  return meter_windows(taken.meters, taken.samples, begin_ns, end_ns);
}

}  // namespace detail
TAKT_END_NAMESPACE
