// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "collect/device_time_lines.hpp"

#include "support/catch.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

using takt::Exposed;
using takt::Kind;
using takt::Overlap;
using takt::detail::DeviceSpanRecord;
using takt::detail::DeviceTimeLines;
using takt::detail::kBatchKey;

namespace {

using Piece = std::pair<std::int64_t, std::int64_t>;
using Pieces = std::vector<Piece>;

constexpr std::int64_t kMicro = 1000;
constexpr std::int64_t kDevice0 = 777'000'000'000;  // what the device's clock shows at the host's 0
constexpr std::uint64_t kRegion = 3;                // a key that is no Batch

std::int64_t covered(Pieces pieces) {
  std::sort(pieces.begin(), pieces.end());
  std::int64_t length = 0;
  std::int64_t until = std::numeric_limits<std::int64_t>::min();
  for (const Piece& each : pieces) {
    length += std::max<std::int64_t>(each.second - std::max(each.first, until), 0);
    until = std::max(until, each.second);
  }
  return length;
}

std::int64_t covered_beside(const Pieces& what, const Pieces& cover) {
  Pieces all = what;
  all.insert(all.end(), cover.begin(), cover.end());
  return covered(all) - covered(cover);
}

/// What truly ran.
struct Work {
  int step;
  Kind kind;
  Piece piece;
};

struct HostHabits {
  std::uint64_t call_ns;      ///< that a call of the host takes at most
  std::uint64_t late_in_100;  ///< calls before which the host does something else,
  std::uint64_t late_ns;      ///< for so long at most
  int sync_every;             ///< steps after which the host waits for the device; 0: never
  std::uint64_t lost_in_100;  ///< regions of which no span tells
};
constexpr HostHabits kAhead = {2 * kMicro, 0, 1, 25, 0};
constexpr HostHabits kLate = {5 * kMicro, 20, 800 * kMicro, 7, 0};
constexpr HostHabits kBoth = {3 * kMicro, 3, 3000 * kMicro, 10, 0};
constexpr HostHabits kLateAndAlone = {5 * kMicro, 30, 1500 * kMicro, 1, 0};

/// A host that submits training steps, and a device whose streams work them off: one computes, one communicates, one
/// copies, and a second one computes now and then. What truly ran is known, and what Takt is told of it.
class Training {
 public:
  enum Stream : unsigned { kMain, kSide, kCopies, kSecondMain, kStreams };

  Training(const HostHabits& habits, std::uint64_t seed) : habits_(habits), random_(seed) {}

  void step() {
    ++step_;
    lacks.resize(static_cast<std::size_t>(step_) + 1);
    region(kMain, Kind::other, kBatchKey, [this] {
      if (random_.below(3) != 0) { work_in(kCopies, Kind::io, 3); }
      work_in(kMain, Kind::compute, 4);
      region(kMain, Kind::compute, kRegion, [this] { backward(); });
      if (random_.below(3) == 0) { wait_for(kSecondMain, kMain), work_in(kSecondMain, Kind::compute, 2); }
      work_in(kMain, Kind::other, 2);
      if (random_.below(3) == 0) { waited(Exposed::For::io, kCopies); }
    });
    row_end_.push_back(host_);
    if (habits_.sync_every != 0 && step_ % habits_.sync_every == 0) {
      host_ = std::max(host_, *std::max_element(free_, free_ + kStreams));
    }
    polls_.push_back(host_);
  }
  /// The host waits for what is left.
  void finish() { polls_.push_back(std::max(host_, *std::max_element(free_, free_ + kStreams)) + kMicro); }

  struct Timed {
    int step;
    Kind kind;
    DeviceSpanRecord record;
    std::int64_t end_ns;
  };
  std::vector<Timed> timed;
  std::vector<bool> lacks;  // by step: some of its regions have no span
  std::vector<Work> works;
  std::vector<std::int64_t> waited_ns[2];  // by step: for communication, for IO

  const std::vector<std::int64_t>& polls() const { return polls_; }
  std::int64_t row_end(int step) const { return row_end_[static_cast<std::size_t>(step) - 1]; }
  bool lacks_spans(int step) const { return lacks[static_cast<std::size_t>(step)]; }
  int steps() const { return step_; }

 private:
  void backward() {
    launch(kMain, Kind::compute);
    wait_for(kSide, kMain);
    work_in(kSide, Kind::comm, 2);
    if (random_.below(2) == 0) { launch(kMain, Kind::compute); }
    if (random_.below(2) == 0) { work_in(kSide, Kind::comm, 2); }
    if (random_.below(4) != 0) { waited(Exposed::For::comm, kSide); }
  }

  void call() {
    host_ += 1 + static_cast<std::int64_t>(random_.below(habits_.call_ns));
    if (random_.below(100) < habits_.late_in_100) {
      host_ += static_cast<std::int64_t>(random_.below(habits_.late_ns));
    }
  }
  /// When the stream comes to what is submitted now.
  std::int64_t come_to(Stream on) { return free_[on] = std::max(free_[on], host_ + 2 * kMicro); }
  void launch(Stream on, Kind kind) {
    call();
    const std::int64_t begin = come_to(on);
    free_[on] = begin + (10 + static_cast<std::int64_t>(random_.below(200))) * kMicro;
    works.push_back({step_, kind, {begin, free_[on]}});
  }
  std::int64_t wait_for(Stream on, Stream what) {
    call();
    const std::int64_t begin = come_to(on);
    free_[on] = std::max(begin, free_[what]);
    return free_[on] - begin;
  }
  /// When the mark was reached; an event takes a little itself.
  std::int64_t mark(Stream on) {
    call();
    free_[on] = come_to(on) + static_cast<std::int64_t>(random_.below(2 * kMicro));
    const std::int64_t reached = free_[on];
    call();
    return reached;
  }
  template <class Body>
  void region(Stream on, Kind kind, std::uint64_t key, Body body, Exposed::For waits = Exposed::For::nothing) {
    Timed span{step_, kind, {}, 0};
    DeviceSpanRecord& record = span.record;
    const auto now = [this] { return static_cast<std::uint64_t>(host_); };
    record.begin_submitted = {now(), now(), 0};
    const std::int64_t begin_ns = mark(on);
    const bool outermost = depth_++ < 2;
    body();
    --depth_;
    record.end_submitted = {now(), now(), 0};
    span.end_ns = mark(on);
    record.end_recorded_ns = now();
    record.outermost = outermost ? 1 : 0;
    record.begin_ns = static_cast<double>(begin_ns + kDevice0);
    record.end_ns = static_cast<double>(span.end_ns + kDevice0);
    record.stream = &free_[on];
    record.key = key;
    record.series = 0;
    record.row = static_cast<std::uint64_t>(step_);
    record.waits_for = static_cast<std::uint64_t>(waits);
    record.device = "simulated";
    record.line = this;
    if (random_.below(100) < habits_.lost_in_100) {
      lacks.back() = true;
    } else {
      timed.push_back(span);
    }
    polls_.push_back(host_);
  }
  void work_in(Stream on, Kind kind, std::uint64_t most) {
    region(on, kind, kRegion, [&] {
      for (std::uint64_t number = random_.below(most + 1); number != 0; --number) { launch(on, kind); }
    });
  }
  void waited(Exposed::For what, Stream stream) {
    std::vector<std::int64_t>& sum = waited_ns[what == Exposed::For::io ? 1 : 0];
    sum.resize(static_cast<std::size_t>(step_) + 1);
    region(
        kMain, Kind::wait, kRegion, [&] { sum.back() += wait_for(kMain, stream); }, what);
  }

  const HostHabits habits_;
  takt_test::Random random_;
  int step_ = 0;
  int depth_ = 0;
  std::int64_t host_ = 1'000'000;
  std::int64_t free_[kStreams] = {};
  std::vector<std::int64_t> polls_;
  std::vector<std::int64_t> row_end_;
};

/// How long the device did nothing while there were steps.
std::int64_t idle_ns_of(const Training& training) {
  Piece whole{std::numeric_limits<std::int64_t>::max(), 0};
  for (const Training::Timed& each : training.timed) {
    whole.first = std::min(whole.first, static_cast<std::int64_t>(each.record.begin_ns) - kDevice0);
    whole.second = std::max(whole.second, each.end_ns);
  }
  Pieces all;
  for (const Work& each : training.works) { all.push_back(each.piece); }
  return covered_beside({whole}, all);
}

/// What is true of a step, and of all together.
struct Truth {
  std::int64_t comm_exposed_ns = 0;
  std::int64_t io_exposed_ns = 0;
  std::int64_t comm_ns = 0;
  std::int64_t io_ns = 0;
  std::int64_t compute_ns = 0;
  std::int64_t idle_ns = 0;

  Truth(const Training& training, int step) {
    Piece whole{std::numeric_limits<std::int64_t>::max(), 0};
    for (const Training::Timed& each : training.timed) {
      if (each.step != step) { continue; }
      whole.first = std::min(whole.first, static_cast<std::int64_t>(each.record.begin_ns) - kDevice0);
      whole.second = std::max(whole.second, each.end_ns);
    }
    Pieces comm, io, compute, own_compute, all;
    for (const Work& each : training.works) {
      if (each.kind == Kind::comm && each.step == step) { comm.push_back(each.piece); }
      if (each.kind == Kind::io && each.step == step) { io.push_back(each.piece); }
      if (each.kind == Kind::compute && each.step == step) { own_compute.push_back(each.piece); }
      if (each.kind != Kind::comm && each.kind != Kind::io) { compute.push_back(each.piece); }
      all.push_back(each.piece);
    }
    comm_exposed_ns = covered_beside(comm, compute);
    io_exposed_ns = covered_beside(io, compute);
    comm_ns = covered(comm);
    io_ns = covered(io);
    compute_ns = covered(own_compute);
    idle_ns = covered_beside({whole}, all);
  }
};

struct Sums {
  std::int64_t comm_least_ns = 0, comm_ns = 0, io_least_ns = 0, io_ns = 0, idle_least_ns = 0, idle_ns = 0;
  std::uint64_t maybe_idle = 0;
};

std::int64_t at(const std::vector<std::int64_t>& sums, int step) {
  return static_cast<std::size_t>(step) < sums.size() ? sums[static_cast<std::size_t>(step)] : 0;
}

void check_step(const Training& training, int step, const Overlap& told, Sums& sums) {
  const Truth truth(training, step);
  INFO("step " << step);
  REQUIRE(told.comm_exposed_least_ns <= truth.comm_exposed_ns);
  REQUIRE(told.io_exposed_least_ns <= truth.io_exposed_ns);
  REQUIRE(told.idle_least_ns <= truth.idle_ns);
  REQUIRE(told.comm_ns >= truth.comm_ns);
  REQUIRE(told.io_ns >= truth.io_ns);
  REQUIRE(told.compute_ns >= truth.compute_ns);
  // At most so long streams waited: no region has told of less than what was waited for.
  REQUIRE(std::max<std::int64_t>(told.comm_exposed_ns, 0) >= at(training.waited_ns[0], step));
  REQUIRE(std::max<std::int64_t>(told.io_exposed_ns, 0) >= at(training.waited_ns[1], step));
  sums.comm_least_ns += told.comm_exposed_least_ns;
  sums.comm_ns += truth.comm_exposed_ns;
  sums.io_least_ns += told.io_exposed_least_ns;
  sums.io_ns += truth.io_exposed_ns;
  sums.idle_least_ns += told.idle_least_ns;
  sums.idle_ns += truth.idle_ns;
  sums.maybe_idle += told.maybe_idle;
}

/// Takt sees results when the host looks, and tells a step as soon as it has its row and all of its spans.
class Telling {
 public:
  Telling(const Training& training, Sums& sums)
      : training_(training), sums_(sums), spans_(static_cast<std::size_t>(training.steps()) + 1) {
    timed_ = training.timed;
    std::sort(timed_.begin(), timed_.end(), [](const auto& a, const auto& b) { return a.end_ns < b.end_ns; });
    for (const Training::Timed& each : timed_) { ++spans_[static_cast<std::size_t>(each.step)]; }
    left_ = spans_;
  }
  void run() {
    for (const std::int64_t poll : training_.polls()) {
      for (; next_ != timed_.size() && timed_[next_].end_ns <= poll; ++next_) { see(timed_[next_], poll); }
      for (; came_ < training_.steps() && training_.row_end(came_ + 1) <= poll; ++came_) { come(came_ + 1); }
      for (int step = 1; step <= came_; ++step) { tell(step); }
    }
    REQUIRE(told_.size() == spans_.size() - 1);
    REQUIRE(idle_ns_ <= idle_ns_of(training_));
  }

 private:
  void see(Training::Timed& span, std::int64_t poll) {
    span.record.seen = {static_cast<std::uint64_t>(poll), static_cast<std::uint64_t>(poll), 0};
    lines_.add(span.record, span.kind);
    --left_[static_cast<std::size_t>(span.step)];
  }
  void come(int step) {
    lines_.came(0, static_cast<std::uint64_t>(step));
    if (training_.lacks_spans(step)) { lines_.lacks(0, static_cast<std::uint64_t>(step)); }
  }
  void tell(int step) {
    const auto number = static_cast<std::size_t>(step);
    if (left_[number] != 0 || !told_.insert(step).second) { return; }
    if (training_.lacks_spans(step)) { return lines_.leave_out(0, number); }
    const std::vector<Overlap> overlaps = lines_.step(0, number, spans_[number]);
    REQUIRE(overlaps.size() == 1);
    check_step(training_, step, overlaps[0], sums_);
    idle_ns_ += overlaps[0].idle_least_ns;
    if (step % 5 == 0) {
      lines_.place([](const auto&, auto, auto, auto) {});
    }
  }

  const Training& training_;
  Sums& sums_;
  DeviceTimeLines lines_;
  std::vector<Training::Timed> timed_;
  std::vector<std::uint32_t> spans_;  // by step
  std::vector<std::uint32_t> left_;
  std::size_t next_ = 0;
  int came_ = 0;
  std::set<int> told_;
  std::int64_t idle_ns_ = 0;
};

Sums check_runs(const HostHabits& habits) {
  Sums sums;
  const int runs = takt_test::scaled(400) / 10;
  for (int run = 0; run < std::max(runs, 8); ++run) {
    const std::uint64_t seed = takt_test::test_seed() + static_cast<std::uint64_t>(run);
    INFO("seed " << seed);
    Training training(habits, seed);
    while (training.steps() < 60) { training.step(); }
    training.finish();
    Telling(training, sums).run();
  }
  return sums;
}

}  // namespace

TEST_CASE("bounds of steps: of a host that runs ahead they hold, and tell most of what is exposed") {
  const Sums sums = check_runs(kAhead);
  INFO("comm " << sums.comm_least_ns << " of " << sums.comm_ns << ", io " << sums.io_least_ns << " of " << sums.io_ns
               << ", idle " << sums.idle_least_ns << " of " << sums.idle_ns << ", gaps " << sums.maybe_idle);
  CHECK(sums.comm_least_ns > sums.comm_ns / 2);
  CHECK(sums.idle_least_ns > 0);
}

TEST_CASE("bounds of steps: of a host that is late they hold, and say what they cannot tell") {
  for (const HostHabits& habits : {kLate, kBoth, kLateAndAlone}) {
    const Sums sums = check_runs(habits);
    INFO("comm " << sums.comm_least_ns << " of " << sums.comm_ns << ", io " << sums.io_least_ns << " of " << sums.io_ns
                 << ", idle " << sums.idle_least_ns << " of " << sums.idle_ns << ", gaps " << sums.maybe_idle);
    CHECK(sums.maybe_idle > 0);
    CHECK(sums.idle_least_ns > sums.idle_ns / 4);
  }
}

TEST_CASE("bounds of steps: they hold where no span tells of some of the work") {
  for (HostHabits habits : {kAhead, kLate, kBoth, kLateAndAlone}) {
    for (const std::uint64_t lost : {1U, 5U}) {
      habits.lost_in_100 = lost;
      const Sums sums = check_runs(habits);
      INFO("idle " << sums.idle_least_ns << " of " << sums.idle_ns);
      CHECK(sums.idle_least_ns > 0);
    }
  }
}

namespace {

/// Steps of a thread, told to Takt by hand: their spans in µs of the device, in the order in which they resolve.
class Told {
 public:
  void span(std::uint64_t row, int stream, Kind kind, std::int64_t begin_us, std::int64_t end_us) {
    DeviceSpanRecord record;
    record.begin_ns = static_cast<double>(begin_us * kMicro);
    record.end_ns = static_cast<double>(end_us * kMicro);
    record.end_submitted.steady_ns = 1;  // of a host that is far ahead
    record.seen.steady_ns = 1'000'000'000;
    record.stream = &streams_[stream];
    record.key = kRegion;
    record.series = 0;
    record.row = row;
    record.outermost = 1;
    record.device = "told";
    record.line = this;
    lines_.add(record, kind);
    ++spans_[row];
  }
  void came(std::uint64_t row, bool lacks = false) {
    lines_.came(0, row);
    if (lacks) { lines_.lacks(0, row); }
  }
  /// In µs.
  std::int64_t idle(std::uint64_t row) {
    const std::vector<Overlap> overlaps = lines_.step(0, row, spans_[row]);
    REQUIRE(overlaps.size() == 1);
    return overlaps[0].idle_least_ns / kMicro;
  }

  static constexpr int kMain = 0;
  static constexpr int kCopies = 1;

 private:
  DeviceTimeLines lines_;
  int streams_[2] = {};
  std::map<std::uint64_t, std::uint32_t> spans_;
};

}  // namespace

TEST_CASE("bounds of steps: of steps that overlap one tells when the device was idle") {
  Told told;
  told.span(0, Told::kMain, Kind::compute, 0, 100);
  told.span(0, Told::kCopies, Kind::io, 0, 20);
  told.span(1, Told::kCopies, Kind::io, 50, 60);
  told.span(0, Told::kMain, Kind::compute, 200, 300);
  told.came(0);
  told.came(1);
  told.span(1, Told::kMain, Kind::compute, 300, 400);
  told.span(1, Told::kCopies, Kind::io, 410, 500);
  CHECK(told.idle(0) == 100);
  CHECK(told.idle(1) == 0);
}

TEST_CASE("bounds of steps: where work of an earlier one may run that no span tells of, the device is not idle") {
  Told told;
  told.span(0, Told::kMain, Kind::compute, 0, 40);
  told.came(0);
  told.span(2, Told::kCopies, Kind::io, 50, 60);
  const bool lacks = GENERATE(true, false);
  told.came(1, lacks);  // from 100 to 200
  told.came(2);
  told.span(2, Told::kMain, Kind::compute, 200, 300);
  told.span(2, Told::kCopies, Kind::io, 310, 320);
  CHECK(told.idle(2) == (lacks ? 0 : 140));
}

TEST_CASE("bounds of steps: a gap that is no longer remembered still is one") {
  takt::detail::RowGaps gaps;
  CHECK(gaps.before(7) == gaps.kNone);
  gaps.add(5);
  for (std::uint64_t row = 0; row < gaps.kMost; ++row) { gaps.add(10 + row); }
  CHECK_FALSE(gaps.knows(5));
  CHECK(gaps.knows(7));
  CHECK(gaps.before(7) == 5);
  CHECK(gaps.before(12) == 11);
  gaps.add(3);
  CHECK_FALSE(gaps.knows(5));
  CHECK(gaps.before(7) == 5);
}

TEST_CASE("bounds of steps: where work of a later one may run that no span tells of, the device is not idle") {
  Told told;
  told.span(0, Told::kMain, Kind::compute, 0, 100);
  told.came(0);
  const int second = GENERATE(0, 1, 2);
  if (second != 0) { told.came(1, second == 1); }
  told.span(1, Told::kMain, Kind::compute, 200, 240);  // 0: row 1 has not come, and may lack what ran before
  told.span(0, Told::kCopies, Kind::io, 250, 260);
  CHECK(told.idle(0) == (second == 2 ? 100 : 0));
}
