// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/mlflow_delivery.hpp"

#include <takt/error.hpp>

#include "cli/rank.hpp"
#include "mlflow/mlflow_cursor.hpp"

#include <chrono>
#include <limits>
#include <thread>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

using std::chrono::steady_clock;

// Points in memory before the next segment is read.
constexpr std::size_t kFewPoints = 10'000;
// Of a cursor, which is longer by a line for each metric; more is no cursor.
constexpr std::size_t kMlflowCursorBytes = std::size_t{256} << 20U;

/// Returns whether the cursor is saved; false if another process has the lease by now. Throws on other errors: without
/// a cursor the next delivery would make another run.
bool is_noted(const detail::MlflowClient& client, FolderTurn& turn) {
  const std::string& problem = client.cursor_problem();
  if (problem.empty()) { return true; }
  if (!turn.lasts()) { return false; }
  throw Error("how far the delivery got cannot be noted, so that it stops: " + problem.substr(0, problem.find(';')) +
              ". Make room, or the folder writable, and call takt sync again");
}

void send_part(detail::MlflowClient& client, const Snapshot& snapshot, FolderTurn::Part part, std::uint64_t bytes) {
  switch (part) {
    case FolderTurn::Part::death:
      client.take_killed(snapshot, bytes);
      return;
    case FolderTurn::Part::job:
      return client.take_job(snapshot);
    default:
      client.take(snapshot);
  }
}

detail::MlflowCursor read_mlflow_cursor(const FolderTurn& turn) {
  detail::MlflowCursor cursor;
  if (!turn.is_begun()) { return cursor; }
  std::string text;
  const std::string anew = "Remove it to send everything to a new MLflow run";
  if (!turn.read_cursor(kMlflowCursorBytes, text) || !detail::parse_cursor(text, cursor)) {
    throw Error(turn.cursor_file() + " cannot be read, so that nobody knows what was delivered. " + anew);
  }
  if (!cursor.of.empty() && cursor.of != detail::mlflow_cursor_owner(turn.run())) {
    throw Error(turn.cursor_file() + " is that of another run (" + cursor.of +
                "), to which nothing is sent from here. " + anew);
  }
  return cursor;
}

}  // namespace

MlflowDelivery::MlflowDelivery(std::string folder, MlflowOptions options, std::shared_ptr<Patience> patience,
                               detail::SenderTimes times)
    : folder_(std::move(folder)), options_(std::move(options)), patience_(std::move(patience)), times_(times) {}

MlflowDelivered MlflowDelivery::run(const Watcher& watch) {
  MlflowDelivered delivered;
  FolderTurn turn(folder_, detail::kMlflow);
  if (turn.begin(options_.all_ranks, delivered.outcome, delivered.why)) { deliver(turn, watch, delivered); }
  return delivered;
}

void MlflowDelivery::deliver(FolderTurn& turn, const Watcher& watch, MlflowDelivered& delivered) {
  detail::MlflowCursor cursor = read_mlflow_cursor(turn);
  // Before it is read: what is written meanwhile is for the next delivery to see.
  const std::uint64_t bytes = journal_bytes(*turn.files());
  // Without a number of bytes it was no guess: the program has said so.
  const bool guessed = cursor.status == "KILLED" && cursor.killed_bytes != 0;
  if (guessed && cursor.killed_bytes != bytes) { detail::forget_end(cursor); }
  MlflowOptions options = options_;
  // It would be that of another run: each has its own in its folder, but for one that was to join a run and has not.
  if (cursor.joined_run.empty() || !cursor.run_id.empty()) { options.run_id.clear(); }
  detail::MlflowClient client(options, times_, std::numeric_limits<std::size_t>::max());
  client.keep_cursor(turn.files(), &turn.lease());
  if (turn.is_begun()) { client.resume(cursor); }
  turn.set_told_ranks(cursor.told_ranks());

  const FolderTurn::Reading reading = turn.read([&](const Snapshot& snapshot, FolderTurn::Part part) {
    send_part(client, snapshot, part, bytes);
    if (!is_noted(client, turn)) { return false; }
    return part != FolderTurn::Part::rows || send(client, turn, watch, kFewPoints);
  });
  const bool sent = reading.whole && send(client, turn, watch, 0);
  tell(client, turn, sent, reading.ended, delivered);
}

/// What came of it. \param sent the server took all that it was sent. \param ended the run will not go on.
void MlflowDelivery::tell(const detail::MlflowClient& client, const FolderTurn& turn, bool sent, bool ended,
                          MlflowDelivered& delivered) const {
  delivered.points = client.queue().taken();
  delivered.was_there = client.queue().was_there();
  delivered.waiting = client.queue().points() + client.owed();
  delivered.left_out = client.queue().left_out();
  delivered.missing_files = client.missing_files();
  delivered.run_id = client.run_id();
  delivered.server = client.server();
  delivered.remark = turn.job_remark();
  if (sent && client.owed() != 0) {
    delivered.why =
        "MLflow at " + client.server() + " does not take a part of it; takt sync " + folder_ + " tries that again";
  } else if (sent) {
    delivered.outcome = ended ? Outcome::all : Outcome::so_far;
  } else if (turn.is_lost()) {
    delivered.why = turn.problem();
  } else {
    delivered.why = "MLflow at " + client.server() + (client.stopped() ? " refuses the run" : " does not take it now") +
                    (client.trouble().empty() ? "" : ": " + client.trouble());
  }
}

/// Until `most_left` points wait, or, for 0, nothing at all. False when the server takes nothing for too long.
bool MlflowDelivery::send(detail::MlflowClient& client, FolderTurn& turn, const Watcher& watch, std::size_t most_left) {
  const auto done = [&] { return client.queue().taken() + client.queue().was_there(); };
  const auto answers = [&] { return done() + client.queue().left_out() + client.answers(); };
  patience_->begin(answers());
  while (turn.lasts() && !client.stopped()) {
    if (most_left != 0 && client.queue().points() <= most_left) { return true; }
    const auto until = steady_clock::now() + kDeliverySlice;
    const bool idle = client.deliver(until);
    if (!is_noted(client, turn)) { return false; }
    if (watch) { watch(done(), done() + client.queue().points()); }
    if (idle) { return true; }
    if (client.stopped() || !patience_->lasts(answers(), client.asking())) { return false; }
    std::this_thread::sleep_until(until);  // where the next try is due later it came back at once
  }
  return false;
}

}  // namespace cli
TAKT_END_NAMESPACE
