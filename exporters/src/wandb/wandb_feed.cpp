// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_feed.hpp"

#include "base/fault.hpp"
#include "journal/journal_reader.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using std::chrono::steady_clock;

// A journal that is so far behind the snapshots is not written any more, or without rows: its disk is full, or its budget used up.
constexpr std::int64_t kStalledNs = 10'000'000'000;
// Between two looks at the journal at the end of the run, which another thread writes meanwhile.
constexpr std::chrono::milliseconds kPause(20);
// For reading while a snapshot is taken; what is left is read with the next one.
constexpr std::chrono::milliseconds kGlance(100);

template <class Numbered>
std::uint64_t first_of(const std::vector<Numbered>& shown, std::uint64_t otherwise) {
  return shown.empty() ? otherwise : shown.front().sequence;
}

}  // namespace

WandbFeed::WandbFeed(WandbRun& run, std::string directory)
    : run_(run), directory_(std::move(directory)), journal_(std::make_unique<JournalReader>(directory_)) {}

WandbFeed::~WandbFeed() = default;

/// Whether there is something before `snapshot` that the log has not. Before the first row, or metric, nothing is missing: whoever
/// comes late has seen none.
bool WandbFeed::lacks(const Snapshot& snapshot) const {
  const auto missing = [](std::uint64_t next, std::uint64_t first) { return next != 0 && first > next; };
  return missing(run_.next_row(), first_of(snapshot.rows, shown_rows_)) ||
         missing(run_.next_metric(), first_of(snapshot.metrics, shown_metrics_));
}

/// \param at_end the journal was read as far as it goes.
bool WandbFeed::may_go_on(bool at_end, const Snapshot& snapshot) const {
  return !lacks(snapshot) || (at_end && snapshot.wall_ns - read_.wall_ns > kStalledNs);
}

bool WandbFeed::take(const Snapshot& snapshot) {
  if (!behind_ && lacks(snapshot) && !directory_.empty() && journal_->exists()) {
    behind_ = true;
    report_fault("wandb.behind",
                 "writing for W&B was held up for longer than memory lasts; what is missing is read from the journal");
  }
  if (behind_ && may_go_on(read_journal(steady_clock::now() + kGlance, snapshot), snapshot)) { behind_ = false; }
  if (behind_ && snapshot.finished) {
    last_ = std::make_unique<const Snapshot>(snapshot);
    return true;  // what was shown before it is what the journal has to have
  }
  const bool taken = behind_ || run_.take(snapshot);
  if (!snapshot.rows.empty()) { shown_rows_ = snapshot.rows.back().sequence + 1; }
  if (!snapshot.metrics.empty()) { shown_metrics_ = snapshot.metrics.back().sequence + 1; }
  return taken;
}

/// Until `until`, as the beginning of a long journal, which the log has, takes its time. Returns whether there is nothing more in
/// it, for now.
bool WandbFeed::read_journal(Time until, const Snapshot& newest) {
  while (steady_clock::now() < until) {
    if (!journal_->read_part(read_)) { return true; }
    read_.finished = false;  // the last snapshot of the run knows more
    read_.params = newest.params;
    read_.tags = newest.tags;
    read_.run.directory = directory_;
    const bool taken = run_.take(read_);
    read_.rows.clear();
    read_.metrics.clear();
    if (!taken) { return true; }
  }
  return false;
}

bool WandbFeed::finish(Time until) {
  while (last_ != nullptr) {
    const bool at_end = read_journal(until, *last_);
    if (may_go_on(at_end, *last_)) {
      run_.take(*std::exchange(last_, nullptr));
      break;
    }
    if (steady_clock::now() >= until) { break; }
    std::this_thread::sleep_until(std::min(until, steady_clock::now() + kPause));
  }
  return run_.finish(until);
}

}  // namespace detail
TAKT_END_NAMESPACE
