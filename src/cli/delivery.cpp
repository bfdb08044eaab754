// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/delivery.hpp"

#include <takt/error.hpp>

#include "base/file.hpp"
#include "base/text.hpp"
#include "journal/journal_reader.hpp"
#include "mlflow/mlflow_cursor.hpp"

#include <limits>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Between two looks at the lease and the bar.
constexpr milliseconds kSlice(200);
// Points in memory before the next segment is read.
constexpr std::size_t kFewPoints = 10'000;
// Of a cursor, which is longer by a line for each metric; more is no cursor.
constexpr std::size_t kCursorBytes = std::size_t{256} << 20U;

/// Otherwise the next delivery would not know of this one, and make another run.
void must_be_noted(const detail::MlflowClient& client) {
  const std::string& problem = client.cursor_problem();
  if (problem.empty()) { return; }
  throw Error("how far the delivery got cannot be noted, so that it stops: " + problem.substr(0, problem.find(';')) +
              ". Make room, or the folder writable, and call takt sync again");
}

}  // namespace

Delivery::Delivery(std::string folder, MlflowOptions options, milliseconds patience, detail::SenderTimes times)
    : folder_(std::move(folder)),
      files_(std::make_shared<detail::FolderFiles>(folder_)),
      options_(std::move(options)),
      patience_(patience),
      times_(times) {}

Delivered Delivery::run(const Watcher& watch) {
  Delivered delivered;
  Snapshot first;
  if (!detail::JournalReader(files_).read_part(first)) {
    delivered.outcome = Delivered::Outcome::unreadable;
    delivered.why = why_unreadable(read_rank(folder_));
    return delivered;
  }
  if (!lease_.take(files_, detail::name_part(detail::mlflow_lease_file("")))) {
    if (lease_.is_broken()) { throw Error(lease_.problem()); }
    delivered.outcome = Delivered::Outcome::busy;
    delivered.why = lease_.problem();
    return delivered;
  }
  const detail::LeaseReturn back(lease_);
  return deliver(first.run, watch);
}

Delivered Delivery::deliver(const RunInfo& run, const Watcher& watch) {
  Delivered delivered;
  const std::string cursor_file = detail::mlflow_cursor_file(folder_);
  detail::MlflowCursor cursor;
  const std::string cursor_name = detail::name_part(cursor_file);
  const bool begun = files_->may_exist(cursor_name);
  std::string text;
  if (begun && (!files_->read_whole(cursor_name, kCursorBytes, text) || !detail::parse_cursor(text, cursor))) {
    throw Error(cursor_file +
                " cannot be read, so that nobody knows what was delivered. Remove it to send everything " +
                "to a new MLflow run");
  }
  if (begun && !cursor.of.empty() && cursor.of != detail::mlflow_cursor_owner(run)) {
    throw Error(cursor_file + " is that of another run (" + cursor.of +
                "), to which nothing is sent from here. Remove it to send everything to a new MLflow run");
  }
  // Before it is read: what is written meanwhile is for the next delivery to see.
  const std::uint64_t bytes = journal_bytes(folder_);
  // Without a number of bytes it was no guess: the program has said so.
  const bool guessed = cursor.status == "KILLED" && cursor.killed_bytes != 0;
  if (guessed && cursor.killed_bytes != bytes) { detail::forget_end(cursor); }
  MlflowOptions options = options_;
  // It would be that of another run: each has its own in its folder, but for one that was to join a run and has not.
  if (cursor.joined_run.empty() || !cursor.run_id.empty()) { options.run_id.clear(); }
  detail::MlflowClient client(options, times_, std::numeric_limits<std::size_t>::max());
  client.keep_cursor(files_);
  if (begun) { client.resume(cursor); }

  detail::JournalReader reader(files_);
  Snapshot snapshot;
  bool sent = true;
  bool taken = false;
  const auto take = [&](bool killed) {
    snapshot.run.directory = folder_;  // it may have been moved
    if (!begun && snapshot.run.rank != 0 && !options_.all_ranks) { return false; }
    taken = true;
    client.take(snapshot, killed, bytes);
    must_be_noted(client);
    snapshot.rows.clear();
    snapshot.metrics.clear();
    return true;
  };
  while (sent && reader.read_part(snapshot)) {
    if (!take(false)) {
      delivered.outcome = Delivered::Outcome::not_sent;
      delivered.why = "rank 0 speaks for the run (--all-ranks changes that)";
      return delivered;
    }
    sent = send(client, watch, kFewPoints);
  }
  const Ending ending = ending_of(folder_, reader, snapshot);
  bool ended = has_ended(ending);
  if (sent && ending == Ending::silent) { ended = is_given_up(folder_); }
  if (sent && (ending == Ending::died || (ending == Ending::silent && ended))) {
    if (reader.finish(snapshot)) { take(false); }
    // These it could have ended with, had it lived; if it does, they come again, and in another order.
    reader.release_early(snapshot);
    // It may have said that it ended between the reading and the look at it.
    const bool killed = !reader.ended();
    snapshot.finished = true;
    take(killed);
    ended = true;
  }
  sent = sent && taken && send(client, watch, 0);
  delivered.points = client.queue().taken();
  delivered.was_there = client.queue().was_there();
  delivered.waiting = client.queue().points() + client.owed();
  delivered.left_out = client.queue().left_out();
  delivered.run_id = client.run_id();
  delivered.server = client.server();
  if (sent && client.owed() != 0) {
    delivered.why =
        "MLflow at " + client.server() + " fails over a part of it; takt sync " + folder_ + " tries that again";
  } else if (sent) {
    delivered.outcome = ended ? Delivered::Outcome::all : Delivered::Outcome::so_far;
  } else {
    delivered.why = lease_.held() ? "MLflow at " + client.server() +
                                        (client.stopped() ? " refuses the run" : " does not take it now") +
                                        (client.trouble().empty() ? "" : ": " + client.trouble())
                                  : lease_.problem();
  }
  return delivered;
}

/// Until `most_left` points wait, or, for 0, nothing at all. False when the server takes nothing for too long.
bool Delivery::send(detail::MlflowClient& client, const Watcher& watch, std::size_t most_left) {
  auto last_success = steady_clock::now();
  const auto done = [&] { return client.queue().taken() + client.queue().was_there(); };
  const auto answered = [&] { return done() + client.queue().left_out() + client.answers(); };
  std::uint64_t before = answered();
  while (lease_.refresh() && !client.stopped()) {
    if (most_left != 0 && client.queue().points() <= most_left) { return true; }
    const bool idle = client.deliver(steady_clock::now() + kSlice);
    must_be_noted(client);
    if (watch) { watch(done(), client.queue().points()); }
    if (idle) { return true; }
    const auto now = steady_clock::now();
    if (answered() != before) {
      before = answered();
      last_success = now;
    }
    if (now - last_success > patience_ && !client.asking()) { return false; }
  }
  return false;
}

}  // namespace cli
TAKT_END_NAMESPACE
