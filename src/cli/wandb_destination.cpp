// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/wandb_destination.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/destinations.hpp"
#include "cli/rank.hpp"
#include "wandb/wandb_config.hpp"
#include "wandb/wandb_directory.hpp"

#include <takt/error.hpp>

#include <chrono>
#include <memory>
#include <thread>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

WandbOptions wandb_options_for(const SyncOptions& sync) {
  WandbOptions options = WandbOptions::from_env();
  if (options.mode == WandbMode::disabled) {
    throw Error("W&B is disabled by WANDB_MODE or WANDB_DISABLED; set WANDB_MODE to online or offline");
  }
  // The id belongs to another run: each directory has its own.
  options.run_id.clear();
  options.resume = WandbResume::unset;
  options.silent = true;  // prints no upload hint; takt sync prints it
  options.every_step = sync.every_step;
  options.all_ranks = options.all_ranks || sync.all_ranks;
  return options;
}

std::string wandb_words_of(const WandbDelivered& delivered, const std::string& directory) {
  const std::string rows = detail::format("{} rows", detail::human_count(delivered.rows));
  const std::string upload =
      "this uploads it: " +
      detail::wandb_upload_command(delivered.directory, directory, delivered.resume, !delivered.run.empty());
  switch (delivered.outcome) {
    case Outcome::all:
      if (!delivered.asked) {
        return detail::format("{} were delivered before{}; W&B was not asked now", rows,
                              delivered.run.empty() ? ", by wandb sync" : ", to " + delivered.run);
      }
      return detail::format("all is delivered, {}, to {}", rows, delivered.run);
    case Outcome::written:
      return detail::format("{} written{}; {}", rows, delivered.why.empty() ? "" : ", but not sent: " + delivered.why,
                            upload);
    case Outcome::so_far:
      return detail::format("{} so far, {} of them sent; the run is still running", rows,
                            detail::human_count(delivered.sent));
    case Outcome::some:
      return detail::format("incomplete: {}; {}, {} of them sent{}", delivered.why, rows,
                            detail::human_count(delivered.sent), delivered.directory.empty() ? "" : "; " + upload);
    default:
      return delivered.why;
  }
}

int status_of(const WandbDelivered& delivered) {
  if (delivered.outcome != Outcome::written) { return status_of(delivered.outcome); }
  // W&B has nothing yet: 0 would suggest that the run may be deleted, unless only a log was requested.
  return delivered.why.empty() ? 0 : kRemains;
}

}  // namespace

SyncDirectory open_wandb(const SyncOptions& sync) {
  const WandbOptions options = wandb_options_for(sync);
  // Reports settings that cannot work for any directory once.
  detail::check_wandb_options(options);
  if (!options.api_key.empty()) { detail::WandbUpload::check(options); }
  const auto timeout = std::make_shared<IdleTimeout>(std::chrono::seconds(sync.timeout_s));
  return [=](const std::string& directory, const Watcher& watch) {
    const WandbDelivered delivered = WandbDelivery(directory, options, timeout).run(watch);
    return Synced{status_of(delivered), wandb_words_of(delivered, directory), delivered.warning};
  };
}

namespace {

using std::chrono::steady_clock;

constexpr std::size_t kWandbCursorBytes = std::size_t{1} << 20U;

detail::WandbCursor read_wandb_cursor(const DirectoryTurn& turn) {
  detail::WandbCursor cursor;
  std::string text;
  if (turn.is_started() && (!turn.read_cursor(kWandbCursorBytes, text) || !detail::parse_wandb_cursor(text, cursor))) {
    throw Error(turn.cursor_file() +
                " cannot be read, so it is unknown what was written. Remove it to write and send everything as a "
                "new W&B run");
  }
  return cursor;
}

}  // namespace

WandbDelivery::WandbDelivery(std::string directory, WandbOptions options, std::shared_ptr<IdleTimeout> timeout,
                             detail::WandbTimes times)
    : directory_(std::move(directory)), options_(std::move(options)), timeout_(std::move(timeout)), times_(times) {}

WandbDelivered WandbDelivery::run(const Watcher& watch) {
  WandbDelivered delivered;
  DirectoryTurn turn(directory_, detail::kWandb);
  if (!turn.begin(options_.all_ranks, delivered.outcome, delivered.why)) { return delivered; }
  deliver(turn, watch, delivered);
  const bool is_all = delivered.outcome == Outcome::all || delivered.outcome == Outcome::written;
  if (is_all && turn.waits_for_ranks()) { delivered.outcome = Outcome::so_far; }
  return delivered;
}

void WandbDelivery::deliver(DirectoryTurn& turn, const Watcher& watch, WandbDelivered& delivered) {
  detail::WandbCursor cursor = read_wandb_cursor(turn);
  // Measured before reading: the next delivery sees data that is written meanwhile.
  const std::uint64_t bytes = journal_bytes(*turn.files());
  const bool lives = cursor.ended && cursor.killed_bytes != 0 && cursor.killed_bytes != bytes;
  if (lives) { detail::forget_end(cursor); }
  turn.set_reported_ranks(cursor.job_ranks);
  has_log_ = turn.is_started() && (!cursor.log.empty() || cursor.id.empty());
  if (!has_log_ && !cursor.id.empty()) {
    options_.run_id = cursor.id;
    options_.resume = cursor.resume;
  }
  detail::WandbRun run(options_);
  run.keep_cursor(turn.files(), &turn.lease());
  const bool more = lives || (cursor.ended && has_more(cursor, turn, delivered));
  if (has_log_) { run.resume(cursor, turn.run(), more); }
  const bool whole = (cursor.ended && !more) || write(run, turn, bytes, delivered);
  if (delivered.warning.empty()) { delivered.warning = turn.job_warning(); }
  delivered.directory = run.directory();
  delivered.run = run.cursor().run;
  delivered.resume = run.cursor().resume;
  delivered.rows = static_cast<std::uint64_t>(run.cursor().rows);
  delivered.sent = run.cursor().lines;
  if (!whole) { return; }
  const bool ended = run.cursor().ended;
  const bool by_client = ended && !run.cursor().complete && detail::may_exist(run.log_file() + ".synced");
  const bool sends =
      options_.mode == WandbMode::online && detail::WandbUpload::available() && !options_.api_key.empty();
  if (by_client || (run.cursor().complete && !sends)) {
    delivered.outcome = Outcome::all;
    return;
  }
  delivered.outcome = ended ? Outcome::written : Outcome::so_far;
  if (options_.mode != WandbMode::online) { return; }
  if (!detail::WandbUpload::available()) {
    delivered.why = "this takt was built without libcurl";
  } else if (options_.api_key.empty()) {
    delivered.why = "no API key (set WANDB_API_KEY)";
  } else {
    send(run, turn, watch, delivered);
  }
}

/// Returns true if a finished log needs figures over ranks before its end.
bool WandbDelivery::has_more(const detail::WandbCursor& cursor, DirectoryTurn& turn, WandbDelivered& delivered) const {
  if (turn.job().job == nullptr) { return false; }
  const bool by_client = !cursor.complete && detail::may_exist(cursor.log + ".synced");
  const bool sends = options_.mode == WandbMode::online && !options_.api_key.empty();
  if (by_client) {
    delivered.warning = "wandb sync has uploaded the log, so figures over ranks cannot be added to it";
  } else if (cursor.complete && !sends) {
    delivered.warning =
        "figures over ranks are available; only takt sync --to wandb with a key can add them to the W&B run";
  }
  return delivered.warning.empty();
}

bool WandbDelivery::write(detail::WandbRun& run, DirectoryTurn& turn, std::uint64_t bytes,
                          WandbDelivered& delivered) const {
  const DirectoryTurn::Reading reading = turn.read([&](Snapshot& snapshot, DirectoryTurn::Part part) {
    switch (part) {
      case DirectoryTurn::Part::death:
        snapshot.failed = true;
        return run.take_killed(snapshot, bytes) && turn.lasts();
      case DirectoryTurn::Part::job:
        return run.take_job(snapshot) && turn.lasts();
      default:
        return run.take(snapshot) && turn.lasts();
    }
  });
  // The trace, if any, is complete by now.
  const bool written =
      reading.whole && (reading.ended ? run.finish(steady_clock::now()) || run.cursor().ended : run.flush());
  if (!written) { delivered.why = turn.is_lost() ? turn.problem() : "the log for W&B cannot be written"; }
  return written;
}

void WandbDelivery::send(detail::WandbRun& run, DirectoryTurn& turn, const Watcher& watch, WandbDelivered& delivered) {
  const detail::WandbCursor cursor = run.cursor();
  const std::string url = detail::WandbUpload(options_, run.log_file()).url();
  detail::WandbSent sent;
  sent.run_directory = directory_;
  sent.started = cursor.server == url && !cursor.run.empty();
  sent.by_others = !sent.started && has_log_;
  if (sent.started) {
    sent.lines = cursor.lines;
    sent.events = cursor.sent_events;
    sent.behind = cursor.behind;
    sent.run = cursor.run;
    sent.complete = cursor.complete;
  }
  options_.resume = sent.started ? WandbResume::unset : cursor.resume;  // exists because of this delivery
  const auto started = [&](const std::string& name, const detail::WandbBehind& behind) {
    return run.sending(url, name, behind);
  };
  detail::WandbUpload upload(options_, run.log_file(), sent, started, times_);
  timeout_->begin(upload.answers());
  bool idle = false;
  while (turn.lasts()) {
    const auto until = steady_clock::now() + kDeliverySlice;
    idle = upload.deliver(until, true);
    run.sent(url, upload.run(), upload.lines(), upload.events(), upload.complete());
    if (watch) { watch(upload.lines(), delivered.rows); }
    if (idle || upload.stopped() || !timeout_->lasts(upload.answers(), upload.asking())) { break; }
    std::this_thread::sleep_until(until);  // returns at once if the next attempt is due later
  }
  delivered.run = upload.run();
  delivered.sent = upload.lines();
  if (upload.complete()) {
    delivered.outcome = Outcome::all;
    delivered.asked = true;
  } else if (!idle || cursor.ended) {
    delivered.outcome = Outcome::some;
    delivered.why = turn.is_lost()     ? turn.problem()
                    : sent.complete    ? "W&B does not confirm that it has the data"
                    : upload.stopped() ? "W&B refuses the run"
                    : upload.ended()   ? "W&B did not accept all files"
                                       : "W&B does not accept the data now";
  }
}

}  // namespace cli
TAKT_END_NAMESPACE
