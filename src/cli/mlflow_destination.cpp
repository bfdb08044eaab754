// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/mlflow_destination.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/destinations.hpp"
#include "cli/rank.hpp"
#include "mlflow/mlflow_cursor.hpp"
#include "mlflow/mlflow_messages.hpp"

#include <takt/error.hpp>

#include <chrono>
#include <limits>
#include <memory>
#include <thread>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

MlflowOptions mlflow_options_for(const SyncOptions& sync) {
  MlflowOptions options = MlflowOptions::from_env();
  if (sync.to == "mlflow") { options.mantik = {}; }
  if (sync.to == "mantik" && !detail::mlflow_is_mantik(options)) {
    throw Error(
        "--to mantik needs a Mantik login; set MANTIK_USERNAME and MANTIK_PASSWORD, and set "
        "MLFLOW_TRACKING_URI, if used, to Mantik's tracking server");
  }
  if (!detail::mlflow_has_server(options)) {
    throw Error("MLFLOW_TRACKING_URI is not set; set it to the URL of a server, such as http://127.0.0.1:5000");
  }
  options.every_step = sync.every_step;
  options.all_ranks = options.all_ranks || sync.all_ranks;
  return options;
}

bool is_lacking(const MlflowDelivered& delivered) { return delivered.left_out != 0 || delivered.missing_files != 0; }

/// Returns "; MLflow refused ...", or an empty text.
std::string lacking_words(const MlflowDelivered& delivered) {
  std::string words;
  const auto add = [&words](const std::string& more) { words += (words.empty() ? "" : "; ") + more; };
  if (delivered.left_out != 0) {
    add(detail::format("MLflow refused {} values, which are left out", detail::human_count(delivered.left_out)));
  }
  if (delivered.missing_files != 0) { add(detail::format("{} files could not be attached", delivered.missing_files)); }
  return words;
}

std::string mlflow_words_of(const MlflowDelivered& delivered) {
  std::string now = detail::format("{} points delivered now", detail::human_count(delivered.points));
  if (delivered.was_there != 0) {
    now += detail::format(", {} had already been delivered", detail::human_count(delivered.was_there));
  }
  const std::string run = "run " + delivered.run_id + " at " + delivered.server;
  const std::string points = now + ", to " + run;
  switch (delivered.outcome) {
    case Outcome::all:
      if (is_lacking(delivered)) { return "delivered as far as MLflow accepts it; " + points; }
      return delivered.points + delivered.was_there == 0 ? "all is delivered, to " + run : "complete; " + points;
    case Outcome::so_far:
      return points + "; the run is still running";
    case Outcome::some:
      return detail::format("incomplete: {}; {}, at least {} waiting", delivered.why, now,
                            detail::human_count(delivered.waiting));
    default:
      return delivered.why;
  }
}

}  // namespace

SyncDirectory open_mlflow(const SyncOptions& sync) {
  const MlflowOptions options = mlflow_options_for(sync);
  const detail::MlflowClient probe(options);  // reports settings that cannot work for any directory once
  const auto timeout = std::make_shared<IdleTimeout>(std::chrono::seconds(sync.timeout_s));
  return [=](const std::string& directory, const Watcher& watch) {
    const MlflowDelivered delivered = MlflowDelivery(directory, options, timeout).run(watch);
    Synced synced = {status_of(delivered.outcome), mlflow_words_of(delivered), delivered.warning};
    const std::string lacking = lacking_words(delivered);
    if (!lacking.empty()) { synced.warning += (synced.warning.empty() ? "" : "; ") + lacking; }
    if (synced.status == 0 && !lacking.empty()) { synced.status = kLossy; }
    return synced;
  };
}

namespace {

using std::chrono::steady_clock;

// Points in memory before the next segment is read.
constexpr std::size_t kFewPoints = 10'000;
// Maximum size of a cursor, which has a line for each metric; a larger file is no cursor.
constexpr std::size_t kMlflowCursorBytes = std::size_t{256} << 20U;

/// Returns true if the cursor is saved; false if another process holds the lease. Throws on other errors: without a
/// cursor the next delivery would create another run.
bool is_noted(const detail::MlflowClient& client, DirectoryTurn& turn) {
  const std::string& problem = client.cursor_problem();
  if (problem.empty()) { return true; }
  if (!turn.lasts()) { return false; }
  throw Error("delivery stopped, as its progress cannot be saved: " + problem.substr(0, problem.find(';')) +
              ". Free disk space, or make the directory writable, and call takt sync again");
}

void send_part(detail::MlflowClient& client, const Snapshot& snapshot, DirectoryTurn::Part part, std::uint64_t bytes) {
  switch (part) {
    case DirectoryTurn::Part::death:
      client.take_killed(snapshot, bytes);
      return;
    case DirectoryTurn::Part::job:
      return client.take_job(snapshot);
    default:
      client.take(snapshot);
  }
}

detail::MlflowCursor read_mlflow_cursor(const DirectoryTurn& turn) {
  detail::MlflowCursor cursor;
  if (!turn.is_started()) { return cursor; }
  std::string text;
  const std::string anew = "Remove it to send everything to a new MLflow run";
  if (!turn.read_cursor(kMlflowCursorBytes, text) || !detail::parse_cursor(text, cursor)) {
    throw Error(turn.cursor_file() + " cannot be read, so it is unknown what was delivered. " + anew);
  }
  if (!cursor.of.empty() && cursor.of != detail::mlflow_cursor_owner(turn.run())) {
    throw Error(turn.cursor_file() + " belongs to another run (" + cursor.of +
                "), to which nothing is sent from here. " + anew);
  }
  return cursor;
}

}  // namespace

MlflowDelivery::MlflowDelivery(std::string directory, MlflowOptions options, std::shared_ptr<IdleTimeout> timeout,
                               detail::SenderTimes times)
    : directory_(std::move(directory)), options_(std::move(options)), timeout_(std::move(timeout)), times_(times) {}

MlflowDelivered MlflowDelivery::run(const Watcher& watch) {
  MlflowDelivered delivered;
  DirectoryTurn turn(directory_, detail::kMlflow);
  if (turn.begin(options_.all_ranks, delivered.outcome, delivered.why)) { deliver(turn, watch, delivered); }
  return delivered;
}

void MlflowDelivery::deliver(DirectoryTurn& turn, const Watcher& watch, MlflowDelivered& delivered) {
  detail::MlflowCursor cursor = read_mlflow_cursor(turn);
  // Measured before reading: the next delivery sees data that is written meanwhile.
  const std::uint64_t bytes = journal_bytes(*turn.files());
  // Without a number of bytes the end is not a guess: the program has recorded it.
  const bool guessed = cursor.status == "KILLED" && cursor.killed_bytes != 0;
  if (guessed && cursor.killed_bytes != bytes) { detail::forget_end(cursor); }
  MlflowOptions options = options_;
  // The id belongs to another run: each directory has its own, unless its run is still to join the given one.
  if (cursor.joined_run.empty() || !cursor.run_id.empty()) { options.run_id.clear(); }
  detail::MlflowClient client(options, times_, std::numeric_limits<std::size_t>::max());
  client.keep_cursor(turn.files(), &turn.lease());
  if (turn.is_started()) { client.resume(cursor); }
  turn.set_reported_ranks(cursor.reported_ranks());

  const DirectoryTurn::Reading reading = turn.read([&](const Snapshot& snapshot, DirectoryTurn::Part part) {
    send_part(client, snapshot, part, bytes);
    if (!is_noted(client, turn)) { return false; }
    return part != DirectoryTurn::Part::rows || send(client, turn, watch, kFewPoints);
  });
  const bool sent = reading.whole && send(client, turn, watch, 0);
  report(client, turn, sent, reading.ended, delivered);
}

/// Fills in the result. \param sent the server took all data that was sent. \param ended the run has ended.
void MlflowDelivery::report(const detail::MlflowClient& client, const DirectoryTurn& turn, bool sent, bool ended,
                            MlflowDelivered& delivered) const {
  delivered.points = client.queue().taken();
  delivered.was_there = client.queue().was_there();
  delivered.waiting = client.queue().points() + client.owed();
  delivered.left_out = client.queue().left_out();
  delivered.missing_files = client.missing_files();
  delivered.run_id = client.run_id();
  delivered.server = client.server();
  delivered.warning = turn.job_warning();
  if (sent && client.owed() != 0) {
    delivered.why =
        "MLflow at " + client.server() + " does not accept some of the data; takt sync " + directory_ + " tries again";
  } else if (sent) {
    delivered.outcome = ended ? Outcome::all : Outcome::so_far;
  } else if (turn.is_lost()) {
    delivered.why = turn.problem();
  } else {
    delivered.why = "MLflow at " + client.server() +
                    (client.stopped() ? " refuses the run" : " does not accept the data now") +
                    (client.trouble().empty() ? "" : ": " + client.trouble());
  }
}

/// Sends until at most `max_left` points wait; 0: until nothing waits. Returns false on a timeout.
bool MlflowDelivery::send(detail::MlflowClient& client, DirectoryTurn& turn, const Watcher& watch,
                          std::size_t max_left) {
  const auto done = [&] { return client.queue().taken() + client.queue().was_there(); };
  const auto answers = [&] { return done() + client.queue().left_out() + client.answers(); };
  timeout_->begin(answers());
  while (turn.lasts() && !client.stopped()) {
    if (max_left != 0 && client.queue().points() <= max_left) { return true; }
    const auto until = steady_clock::now() + kDeliverySlice;
    const bool idle = client.deliver(until);
    if (!is_noted(client, turn)) { return false; }
    if (watch) { watch(done(), done() + client.queue().points()); }
    if (idle) { return true; }
    if (client.stopped() || !timeout_->lasts(answers(), client.asking())) { return false; }
    std::this_thread::sleep_until(until);  // returns at once if the next attempt is due later
  }
  return false;
}

}  // namespace cli
TAKT_END_NAMESPACE
