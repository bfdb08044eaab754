// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "mlflow/mlflow_feed.hpp"

#include "base/fault.hpp"
#include "journal/journal_reader.hpp"

#include <algorithm>
#include <thread>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using std::chrono::steady_clock;

// A journal that is so far behind the snapshots is not written any more, or without rows: its disk is full, or its budget used up.
constexpr std::int64_t kStalledNs = 10'000'000'000;
// Between two looks at the journal at the end of the run, which another thread writes meanwhile.
constexpr std::chrono::milliseconds kPause(20);
// For reading while a snapshot is taken; what is left is read between requests.
constexpr std::chrono::milliseconds kGlance(100);

}  // namespace

MlflowFeed::MlflowFeed(MlflowClient& client, const std::string& directory, std::size_t most_points)
    : client_(client),
      most_points_(most_points),
      directory_(directory),
      journal_(std::make_unique<JournalReader>(directory)) {}

MlflowFeed::~MlflowFeed() = default;

void MlflowFeed::take(const Snapshot& snapshot) {
  if (!behind_ && client_.queue().points() >= most_points_) { fall_behind(); }
  if (behind_ && read_journal(steady_clock::now() + kGlance) && has_caught_up(snapshot)) { behind_ = false; }
  if (!behind_) {
    has_journal_ = has_journal_ || journal_->exists();
    if (has_journal_) { client_.keep_all_points(); }
    client_.take(snapshot);
  } else if (snapshot.finished) {
    last_ = std::make_unique<const Snapshot>(snapshot);
    return;  // what was shown before it is what the journal has to have
  }
  if (!snapshot.rows.empty()) { shown_rows_ = snapshot.rows.back().sequence + 1; }
  if (!snapshot.metrics.empty()) { shown_metrics_ = snapshot.metrics.back().sequence + 1; }
}

void MlflowFeed::fall_behind() {
  if (!has_journal_) { return; }
  behind_ = true;
  report_fault("mlflow.behind",
               "MLflow takes too little too late: what comes from now on waits in the journal, not in memory; takt "
               "sync " +
                   directory_ + " sends what the run cannot");
}

/// Until `until`, as the beginning of a long journal, which the client has seen, takes its time. Returns whether there is nothing
/// more in it, for now.
bool MlflowFeed::read_journal(Time until) {
  while (!client_.stopped() && client_.queue().points() < most_points_ && steady_clock::now() < until) {
    if (!journal_->read_part(read_)) { return true; }
    read_.finished = false;  // the last snapshot of the run knows more
    client_.take(read_);
    read_.rows.clear();
    read_.metrics.clear();
  }
  return client_.stopped();
}

/// Whether the client has all that was shown before `snapshot`, or the journal never will.
bool MlflowFeed::has_caught_up(const Snapshot& snapshot) const {
  const std::uint64_t row = snapshot.rows.empty() ? shown_rows_ : snapshot.rows.front().sequence;
  const std::uint64_t metric = snapshot.metrics.empty() ? shown_metrics_ : snapshot.metrics.front().sequence;
  if (client_.next_row() >= row && client_.next_metric() >= metric) { return true; }
  return snapshot.wall_ns - read_.wall_ns > kStalledNs;
}

bool MlflowFeed::deliver(Time until) {
  for (;;) {
    const bool idle = client_.deliver(until);
    if (!behind_ || !idle) { return idle; }
    const bool at_end = read_journal(until);
    if (at_end && last_ != nullptr && has_caught_up(*last_)) {
      behind_ = false;
      client_.take(*last_);
      last_.reset();
    } else if (steady_clock::now() >= until || (at_end && last_ == nullptr)) {
      return false;
    } else if (at_end) {
      std::this_thread::sleep_until(std::min(until, steady_clock::now() + kPause));
    }
  }
}

}  // namespace detail
TAKT_END_NAMESPACE
