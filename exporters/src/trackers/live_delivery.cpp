// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/live_delivery.hpp"

#include "base/file.hpp"
#include "base/report_error.hpp"
#include "journal/journal_reader.hpp"

#include <takt/snapshot.hpp>

#include <algorithm>
#include <thread>
#include <utility>

#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using std::chrono::steady_clock;

// If the journal is this far behind the snapshots, its writing has stopped, or stopped recording rows: the disk is
// full, or the budget is used up.
constexpr std::int64_t kStalledNs = 10'000'000'000;
// Poll interval for the journal at the end of the run, while another thread still writes it.
constexpr std::chrono::milliseconds kPause(20);
// Maximum time for reading the journal during take(); the rest is read later.
constexpr std::chrono::milliseconds kReadTime(100);

template <class Numbered>
std::uint64_t first_of(const std::vector<Numbered>& shown, std::uint64_t otherwise) {
  return shown.empty() ? otherwise : shown.front().sequence;
}

}  // namespace

void JournalFeed::Shown::begin(std::uint64_t number) noexcept {
  first = std::exchange(started, true) ? std::min(first, number) : number;
}

JournalFeed::JournalFeed(RunConsumer& consumer, const Tracker& tracker, std::string directory)
    : consumer_(consumer),
      tracker_(tracker),
      directory_(std::move(directory)),
      journal_(std::make_unique<JournalReader>(directory_)) {}

JournalFeed::~JournalFeed() = default;

void JournalFeed::begin(const Snapshot& snapshot) {
  std::uint64_t steps = 0;
  for (const Series& each : snapshot.series) { steps += each.steps; }
  rows_.begin(steps);
  if (steps == 0) { metrics_.begin(0); }
  const bool sampled = std::any_of(snapshot.sensors.begin(), snapshot.sensors.end(),
                                   [](const Sensor& each) { return each.samples != 0; });
  if (!sampled) { samples_.begin(0); }
}

/// Passes on the snapshot. A consumer that refused once gets no more.
bool JournalFeed::give(const Snapshot& snapshot) {
  refused_ = refused_ || !consumer_.take(snapshot);
  return !refused_;
}

bool JournalFeed::take(const Snapshot& snapshot) {
  if (refused_) { return false; }
  if (!has_journal_ && !directory_.empty() && journal_->exists()) {
    has_journal_ = true;
    consumer_.found_journal();
  }
  if (!snapshot.rows.empty()) { rows_.begin(snapshot.rows.front().sequence); }
  if (!snapshot.metrics.empty()) { metrics_.begin(snapshot.metrics.front().sequence); }
  if (!snapshot.samples.empty()) { samples_.begin(snapshot.samples.front().sequence); }
  if (!behind_) { fall_behind(snapshot); }
  if (behind_) {
    params_ = snapshot.params;
    tags_ = snapshot.tags;
    behind_ = !has_caught_up(read_journal(steady_clock::now() + kReadTime), snapshot);
    if (refused_) { return false; }
  }
  if (behind_ && snapshot.finished) {
    last_ = std::make_unique<const Snapshot>(snapshot);
    return true;  // the journal must contain the data before it
  }
  const bool taken = behind_ || give(snapshot);
  note(snapshot);
  return taken;
}

void JournalFeed::note(const Snapshot& snapshot) {
  if (!snapshot.rows.empty()) { rows_.next = snapshot.rows.back().sequence + 1; }
  if (!snapshot.metrics.empty()) { metrics_.next = snapshot.metrics.back().sequence + 1; }
  if (!snapshot.samples.empty()) { samples_.next = snapshot.samples.back().sequence + 1; }
}

/// Returns whether the consumer misses data before `snapshot`. Nothing is missing before the first row, metric or
/// sample that was shown: a late exporter has seen none.
bool JournalFeed::lacks(const Snapshot& snapshot) const {
  return first_of(snapshot.rows, rows_.next) > std::max(consumer_.next_row(), rows_.first) ||
         first_of(snapshot.metrics, metrics_.next) > std::max(consumer_.next_metric(), metrics_.first) ||
         first_of(snapshot.samples, samples_.next) > std::max(consumer_.next_sample(), samples_.first);
}

void JournalFeed::fall_behind(const Snapshot& snapshot) {
  const bool is_full = !consumer_.has_space();
  if (!has_journal_ || (!is_full && !lacks(snapshot))) { return; }
  behind_ = true;
  const std::string title = tracker_.title;
  report_error(tracker_.cause("behind"),
               is_full ? title + " is too slow: new data is kept in the journal instead of memory; " + tracker_.sync +
                             " " + directory_ + " sends the remaining data"
                       : "delivery to " + title +
                             " was delayed beyond the in-memory buffers; missing data is read from the journal");
}

/// Reads until `until`: skipping the start of a long journal takes time. Returns whether the journal has nothing more
/// for now.
bool JournalFeed::read_journal(Time until) {
  while (consumer_.has_space() && steady_clock::now() < until) {
    if (!journal_->read_part(read_)) { return true; }
    read_.finished = false;  // the run's last snapshot has more data
    read_.params = params_;
    read_.tags = tags_;
    read_.run.directory = directory_;
    const bool taken = give(read_);
    read_.rows.clear();
    read_.metrics.clear();
    read_.samples.clear();
    if (!taken) { return true; }
  }
  return false;
}

/// Returns whether the consumer has all data before `snapshot`, or the journal will never have it.
/// \param at_end the journal was read to its end.
bool JournalFeed::has_caught_up(bool at_end, const Snapshot& snapshot) const {
  if (consumer_.has_space() && !lacks(snapshot)) { return true; }
  return at_end && snapshot.wall_ns - read_.wall_ns > kStalledNs;
}

bool JournalFeed::deliver(Time until) {
  for (;;) {
    const bool idle = consumer_.deliver(until);
    if (!behind_ || !idle) { return idle; }
    const bool at_end = !refused_ && read_journal(until);
    if (refused_) { return false; }
    if (last_ != nullptr && has_caught_up(at_end, *last_)) {
      behind_ = false;
      give(*std::exchange(last_, nullptr));
    } else if (steady_clock::now() >= until || (at_end && last_ == nullptr)) {
      return false;
    } else if (at_end) {
      std::this_thread::sleep_until(std::min(until, steady_clock::now() + kPause));
    }
  }
}

LiveDelivery::LiveDelivery(const Tracker& tracker, bool all_ranks, std::unique_ptr<LiveRun> run)
    : tracker_(tracker), all_ranks_(all_ranks), run_(std::move(run)), pid_(::getpid()) {}

LiveDelivery::~LiveDelivery() {
  if (is_forked()) {
    (void)run_.release();
  } else {
    lease_.release();
  }
}

bool LiveDelivery::is_forked() const { return ::getpid() != pid_; }

Claim LiveDelivery::claim(std::string& why) {
  if (directory_.empty()) { return Claim::ours; }
  if (tracker_.cursor != nullptr && may_exist(tracker_.cursor_file(directory_))) {
    why = tracker_.cursor_file(directory_);
    return Claim::started;
  }
  if (lease_.take(tracker_.lease_file(directory_))) { return Claim::ours; }
  why = lease_.problem();
  return Claim::taken;
}

void LiveDelivery::begin(const Snapshot& snapshot) {
  if (is_forked()) { return; }
  if (snapshot.run.rank != 0 && !all_ranks_) { run_.reset(); }
  if (run_ == nullptr || std::exchange(started_, true)) { return; }
  directory_ = snapshot.run.directory;
  try {
    std::string why;
    const Claim claimed = claim(why);
    if (!run_->begin(snapshot, claimed, why, lease_.held() ? &lease_ : nullptr)) { return leave(); }
  } catch (...) {  // out of memory: a partly started run gets no snapshots
    leave();
    throw;
  }
  if (run_->stopped()) { lease_.release(); }
}

/// Leaves delivery to others.
void LiveDelivery::leave() noexcept {
  left_ = true;
  run_.reset();
  lease_.release();
}

/// Returns whether there is something to deliver and the lease, if any, is still this process's.
bool LiveDelivery::may_deliver() {
  if (run_ == nullptr) { return false; }
  if (!lease_.held() || lease_.refresh()) { return true; }
  report_error_once(tracker_.cause("taken"), lease_.problem() + ". Nothing more is delivered to " + tracker_.title +
                                                 " from here; " + tracker_.sync + " " + directory_ +
                                                 " delivers the missing data");
  leave();
  return false;
}

ExportResult LiveDelivery::export_snapshot(const Snapshot& snapshot) {
  if (is_forked()) { return ExportResult::drop; }  // the run is the parent's
  begin(snapshot);
  directory_ = snapshot.run.directory;  // the directory may have moved
  if (!may_deliver()) { return ExportResult::ok; }
  const ExportResult result = run_->take(snapshot);
  if (run_->stopped()) { lease_.release(); }
  return result;
}

bool LiveDelivery::flush(std::chrono::milliseconds deadline) {
  if (is_forked()) { return false; }
  if (!may_deliver()) { return !left_; }
  return !started_ || run_->flush(deadline);
}

bool LiveDelivery::shutdown(std::chrono::milliseconds deadline) {
  if (is_forked()) { return false; }
  if (!may_deliver()) { return !left_; }
  const bool delivered = !started_ || run_->finish(deadline);
  // The Session stays in memory for its threads; files and connections are released.
  run_.reset();
  lease_.release();
  left_ = !delivered;
  return delivered;
}

}  // namespace detail
TAKT_END_NAMESPACE
