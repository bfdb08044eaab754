// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/wandb_delivery.hpp"

#include <takt/error.hpp>

#include "base/file.hpp"
#include "cli/rank.hpp"
#include "journal/journal_reader.hpp"
#include "wandb/wandb_cursor.hpp"

#include <utility>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Outcome = WandbDelivered::Outcome;

constexpr milliseconds kUploadSlice(200);  // between two looks at the lease and the bar
constexpr std::size_t kWandbCursorBytes = std::size_t{1} << 20U;

}  // namespace

WandbDelivery::WandbDelivery(std::string folder, WandbOptions options, milliseconds patience, detail::WandbTimes times)
    : folder_(std::move(folder)),
      files_(std::make_shared<detail::FolderFiles>(folder_)),
      options_(std::move(options)),
      patience_(patience),
      times_(times) {}

WandbDelivered WandbDelivery::run(const Watcher& watch) {
  WandbDelivered delivered;
  Snapshot first;
  if (!detail::JournalReader(files_).read_part(first)) {
    delivered.outcome = Outcome::unreadable;
    delivered.why = why_unreadable(read_rank(folder_));
    return delivered;
  }
  if (!lease_.take(files_, detail::name_part(detail::wandb_lease_file("")))) {
    if (lease_.is_broken()) { throw Error(lease_.problem()); }
    delivered.outcome = Outcome::busy;
    delivered.why = lease_.problem();
    return delivered;
  }
  const detail::LeaseReturn back(lease_);
  return deliver(first.run, watch);
}

WandbDelivered WandbDelivery::deliver(const RunInfo& from, const Watcher& watch) {
  WandbDelivered delivered;
  const std::string cursor_file = detail::wandb_cursor_file(folder_);
  detail::WandbCursor cursor;
  const std::string cursor_name = detail::name_part(cursor_file);
  const bool begun = files_->may_exist(cursor_name);
  std::string text;
  if (begun &&
      (!files_->read_whole(cursor_name, kWandbCursorBytes, text) || !detail::parse_wandb_cursor(text, cursor))) {
    throw Error(cursor_file +
                " cannot be read, so that nobody knows what was written. Remove it to write and send everything as a "
                "new run of W&B's");
  }
  detail::WandbRun run(options_);
  run.keep_cursor(files_);
  if (begun) { run.resume(cursor, from); }
  const bool whole = cursor.ended || write(run, begun, delivered);
  delivered.folder = run.folder();
  delivered.run = run.cursor().run;
  delivered.resume = run.cursor().resume;
  delivered.rows = static_cast<std::uint64_t>(run.cursor().rows);
  delivered.sent = run.cursor().lines;
  if (!whole) { return delivered; }
  const bool ended = run.cursor().ended;
  if (run.cursor().complete || (ended && detail::may_exist(run.log_file() + ".synced"))) {
    delivered.outcome = Outcome::all;
    return delivered;
  }
  delivered.outcome = ended ? Outcome::written : Outcome::so_far;
  if (options_.mode != WandbMode::online) { return delivered; }
  if (!detail::WandbUpload::available()) {
    delivered.why = "this takt is built without libcurl";
  } else if (options_.api_key.empty()) {
    delivered.why = "there is no key (WANDB_API_KEY)";
  } else {
    send(run, watch, delivered);
  }
  return delivered;
}

bool WandbDelivery::write(detail::WandbRun& run, bool begun, WandbDelivered& delivered) {
  detail::JournalReader reader(files_);
  Snapshot snapshot;
  bool taken = true;
  const auto take = [&] {
    snapshot.run.directory = folder_;  // it may have been moved
    taken = run.take(snapshot) && lease_.refresh();
    snapshot.rows.clear();
    snapshot.metrics.clear();
  };
  while (taken && reader.read_part(snapshot)) {
    if (!begun && snapshot.run.rank != 0 && !options_.all_ranks) {
      delivered.outcome = Outcome::not_sent;
      delivered.why = "rank 0 speaks for the run (--all-ranks changes that)";
      return false;
    }
    take();
  }
  const Ending ending = ending_of(folder_, reader, snapshot);
  bool ended = has_ended(ending);
  const bool silent = ending == Ending::silent && is_given_up(folder_);
  if (taken && (ending == Ending::died || silent)) {
    reader.finish(snapshot);
    reader.release_early(snapshot);  // nobody will tell their device values any more
    // It may have said that it ended between the reading and the look at it.
    if (!reader.ended()) { snapshot.failed = true; }
    snapshot.finished = ended = true;
    take();
  }
  // The trace is whole by now, if there is one.
  const bool written = taken && (ended ? run.finish(steady_clock::now()) || run.cursor().ended : run.flush());
  if (!written) { delivered.why = lease_.held() ? "the log for W&B cannot be written" : lease_.problem(); }
  return written;
}

void WandbDelivery::send(detail::WandbRun& run, const Watcher& watch, WandbDelivered& delivered) {
  const detail::WandbCursor cursor = run.cursor();
  const std::string url = detail::WandbUpload(options_, run.log_file()).url();
  detail::WandbSent sent;
  sent.run_folder = folder_;
  sent.begun = cursor.server == url && !cursor.run.empty();
  if (sent.begun) {
    sent.lines = cursor.lines;
    sent.behind = cursor.behind;
  }
  options_.resume = sent.begun ? WandbResume::unset : cursor.resume;  // it is there by this one
  const auto begun = [&](const std::string& name, const detail::WandbBehind& behind) {
    return run.sending(url, name, behind);
  };
  detail::WandbUpload upload(options_, run.log_file(), sent, begun, times_);
  auto last_success = steady_clock::now();
  std::uint64_t before = 0;
  bool idle = false;
  while (!idle && !upload.stopped() && lease_.refresh()) {
    idle = upload.deliver(steady_clock::now() + kUploadSlice, true);
    run.sent(url, upload.run(), upload.lines(), upload.complete());
    if (watch) { watch(upload.lines(), delivered.rows); }
    const auto now = steady_clock::now();
    if (std::exchange(before, upload.answers()) != upload.answers()) { last_success = now; }
    if (now - last_success > patience_ && !upload.asking()) { break; }
  }
  delivered.run = upload.run();
  delivered.sent = upload.lines();
  if (upload.complete()) {
    delivered.outcome = Outcome::all;
  } else if (!idle || cursor.ended) {
    delivered.outcome = Outcome::some;
    delivered.why = !lease_.held()     ? lease_.problem()
                    : upload.stopped() ? "W&B refuses the run"
                    : upload.ended()   ? "W&B did not take all files"
                                       : "W&B does not take it now";
  }
}

}  // namespace cli
TAKT_END_NAMESPACE
