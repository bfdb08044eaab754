// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/progress.hpp"

#include "support/catch.hpp"

#include <takt/takt.hpp>

#include <chrono>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace {

using std::chrono::seconds;
using takt::Metric;
using takt::Row;
using takt::Snapshot;
using takt::detail::Progress;
using Time = Progress::Time;

/// A pipe that never blocks.
struct Pipe {
  Pipe() { REQUIRE(::pipe2(ends, O_NONBLOCK) == 0); }
  ~Pipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  std::string text() const {
    std::string all(1U << 17U, '\0');
    const ssize_t count = ::read(ends[0], all.data(), all.size());
    all.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
    return all;
  }
  int ends[2] = {};
};

/// Returns steps of 10 ms and 32 items.
std::vector<Row> steps(std::int64_t from, std::int64_t to) {
  std::vector<Row> rows;
  for (std::int64_t step = from; step < to; ++step) {
    Row row;
    row.step = step;
    row.begin_ns = 10'000'000 * step;
    row.host_ns = 10'000'000;
    row.items = 32;
    rows.push_back(row);
  }
  return rows;
}

std::vector<Metric> loss(double value) {
  Metric metric;
  metric.name = "loss";
  metric.value = value;
  return {metric};
}

/// Returns a run in its second Epoch.
Snapshot in_epoch() {
  Snapshot snapshot;
  takt::PathStats path;
  path.name = "Epoch";
  snapshot.paths.push_back(path);
  takt::OpenRegion open;
  open.path = 0;
  snapshot.open.push_back(open);
  takt::EpochStats first;
  first.seconds = 12.3;
  first.metrics["loss"] = 2;
  snapshot.epochs.push_back(first);
  snapshot.wall_ns = 130'000'000'000;
  return snapshot;
}

const Time kStart{seconds(100)};

}  // namespace

TEST_CASE("Progress: without a terminal, a line each minute and one for each Epoch") {
  const Pipe pipe;
  Progress progress(pipe.ends[1], false, 80);
  progress.add(Snapshot(), {}, {}, kStart);
  progress.add(in_epoch(), steps(0, 100), loss(0.31), kStart + seconds(1));
  CHECK(pipe.text() == "epoch 0: 12.3 s, loss 2\nepoch 1, step 99, 3 200 samples/s, loss 0.31, 130 s\n");
  progress.add(in_epoch(), steps(100, 200), {}, kStart + seconds(60));
  CHECK(pipe.text().empty());
  Snapshot tokens = in_epoch();
  tokens.params["item_unit"] = "tokens";
  progress.add(tokens, {}, {}, kStart + seconds(61));
  CHECK(pipe.text() == "epoch 1, step 199, 3 200 tokens/s, loss 0.31, 130 s\n");
  progress.add(tokens, {}, {}, kStart + seconds(200));
  CHECK(pipe.text().empty());  // nothing has moved since
  progress.finish();
  CHECK(pipe.text().empty());
}

TEST_CASE("Progress: on a terminal, the line is written over itself, cut to the width, and removed at the end") {
  const Pipe pipe;
  Progress progress(pipe.ends[1], true, 20);
  progress.add(Snapshot(), steps(0, 1), {}, kStart);
  CHECK(pipe.text().empty());
  progress.add(Snapshot(), steps(1, 10), {}, kStart + seconds(1));
  const std::string line = pipe.text();
  CHECK(line.substr(0, 4) == "\r\x1b[K");
  CHECK(line.find('\n') == std::string::npos);
  CHECK(line.substr(4) == "step 9,");  // breaks between words
  progress.finish();
  CHECK(pipe.text() == "\r\x1b[K");
  progress.finish();
  CHECK(pipe.text().empty());
}

TEST_CASE("Progress: a reader that takes nothing does not block it") {
  const Pipe pipe;
  const std::string block(4096, 'x');
  while (::write(pipe.ends[1], block.data(), block.size()) > 0) {}
  REQUIRE(::fcntl(pipe.ends[1], F_SETFL, 0) == 0);  // from now on, a write would wait
  Progress progress(pipe.ends[1], false, 80);
  progress.add(in_epoch(), steps(0, 100), loss(1), kStart);
  progress.add(in_epoch(), steps(100, 200), loss(1), kStart + seconds(61));
  progress.finish();
  REQUIRE(::fcntl(pipe.ends[0], F_SETFL, O_NONBLOCK) == 0);
  CHECK(pipe.text().find("step") == std::string::npos);
}
