// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Random sequences of all operations on recorders, valid and invalid, compared with a model that shares no code with
// them. A failure prints its seed; TAKT_TEST_SEED repeats it.
#include "process/collector.hpp"
#include "process/registry.hpp"
#include "record/recorder.hpp"

#include <takt/backends/manual.hpp>

#include "support/catch.hpp"
#include "support/fake_clock.hpp"
#include "support/oracle.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace takt::detail;
using takt::Mark;
using takt_test::Oracle;
using takt_test::Random;
using takt_test::TestClock;

// Prints only failures, because there are millions of comparisons.
#define SAME(a, b)                              \
  do {                                          \
    if (!((a) == (b))) { REQUIRE((a) == (b)); } \
  } while (false)

namespace {

/// The composition of a run, in percent unless noted.
struct Mix {
  const char* name;
  std::uint64_t keys;  // in addition to Epoch and Batch
  unsigned max_depth;  // regions start up to this depth
  unsigned disorder;   // ends of regions that are not innermost
  unsigned mistakes;   // ends of closed regions, amounts below 1
  unsigned elsewhere;  // ends on another thread
  unsigned device;     // regions on a device
  unsigned steps;      // starts of a Batch or an Epoch
};

constexpr Mix kMixes[] = {
    {"nested", 4, 5, 0, 0, 0, 0, 20},         {"nested with devices", 3, 5, 0, 0, 0, 40, 25},
    {"many columns", 30, 4, 0, 0, 0, 10, 15}, {"overlapping", 3, 5, 40, 1, 0, 10, 20},
    {"handed over", 3, 5, 10, 1, 10, 20, 20}, {"everything", 5, 9, 20, 3, 5, 20, 10},
    {"deep", 1, 90, 5, 1, 1, 5, 2},           {"more paths than there is room for", 40, 8, 10, 1, 2, 5, 3},
};

const char* name_of(LossKind kind) {
  switch (kind) {
    case LossKind::end_without_start:
      return "end_without_start";
    case LossKind::never_ended:
      return "never_ended";
    case LossKind::ended_elsewhere:
      return "ended_elsewhere";
    case LossKind::clock_changed:
      return "clock_changed";
    case LossKind::no_place:
      return "no_place";
    case LossKind::overflow:
      return "overflow";
    case LossKind::bad_amount:
      return "bad_amount";
    case LossKind::device_skipped:
      return "device_skipped";
    case LossKind::device_failed:
      return "device_failed";
    case LossKind::device_unresolved:
      return "device_unresolved";
    case LossKind::graph_missed:
      return "graph_samples_missed";
    case LossKind::step_at_end:
      return "step_at_end";
    case LossKind::ended_late:
      return "ended_late";
    case LossKind::amount_elsewhere:
      return "amount_elsewhere";
  }
  return "?";
}

std::string path_text(const Oracle::Path& path) {
  std::string text;
  for (const Oracle::Key key : path) { text += "/" + std::to_string(key); }
  return text;
}

/// A thread's recorder and its model.
struct Thread {
  struct Live {
    Region region;
    bool device;
    bool marked;
    Mark mark;
    std::uint64_t device_begin;
  };

  explicit Thread(Recorder& its) : recorder(its) {}

  Recorder& recorder;
  Oracle oracle;
  std::vector<Live> live;     // in order of their start
  std::vector<Region> ended;  // some closed regions
  std::unique_ptr<Collector> collector;
  std::vector<takt::Row> rows;
};

/// A pending device span: its outcome is decided here and found by the recorder later.
struct Waiting {
  Thread* thread;
  Oracle::Span* span;
  Mark begin;
  Mark end;
  std::uint64_t asked;  // number of the operation
};

class Simulation {
 public:
  static constexpr std::size_t kThreads = 3;

  Simulation(const Mix& mix, std::uint64_t seed) : mix_(mix), random_(seed), registry_(time_.clock, key_table(), 0) {
    for (std::size_t index = 0; index < kThreads; ++index) {
      // Recorders are never destroyed; this list makes them reachable for leak checkers.
      static auto* const recorders = new std::vector<Recorder*>;
      static auto* const shared = new Shared(std::size_t{4} << 30U);
      recorders->push_back(Recorder::create(time_.clock, *shared, 0));
      threads_.emplace_back(*recorders->back());
      threads_.back().collector = std::make_unique<Collector>(time_.clock, key_table());
    }
    device_.hold(true);
  }

  void run(int operations) {
    for (number_ = 0; number_ < static_cast<std::uint64_t>(operations); ++number_) {
      time_.fake.advance(random_.chance(10)  ? 0
                         : random_.chance(2) ? random_.below(3'000'000'000)
                                             : random_.below(2000));
      device_.advance(std::chrono::nanoseconds(random_.below(1000)));
      Thread& thread = threads_[random_.below(random_.chance(80) ? 1 : kThreads)];
      step(thread);
      for (Thread& each : threads_) { let_go(each); }
      if (number_ % 64 == 0) { decide_old(); }
      for (Thread& each : threads_) { drain(each); }  // at once, because it may be small
      if (number_ % 6133 == 0) { compare_all(); }
    }
    compare_all();
    finish();
  }

 private:
  std::uint64_t now() const { return time_.now_ns(); }

  void step(Thread& thread) {
    const std::uint64_t choice = random_.below(100);
    if (choice < 3) {
      amount(thread);
    } else if (choice < 5) {
      const auto key = random_key(thread);
      thread.recorder.skip(static_cast<KeyIndex>(key));
      thread.oracle.skip(key);
    } else if (choice < 7) {
      const auto key = random_key(thread);
      const std::uint64_t length = random_.next() >> random_.below(64);
      thread.recorder.add(static_cast<KeyIndex>(key), length >> 20U);
      thread.oracle.add(key, length >> 20U);
    } else if (choice < 8) {
      thread.recorder.fold();
    } else if (choice < 9) {
      thread.recorder.fold();
      thread.recorder.poll(random_.chance(50));
    } else if (choice < 12) {
      decide();
    } else if (choice < 15 && !thread.live.empty()) {
      lap(thread);
    } else if (random_.chance(mix_.mistakes)) {
      end_without_start(thread);
    } else if (choice < 57 && thread.oracle.frames() < mix_.max_depth) {
      begin(thread);
    } else if (!thread.live.empty() && random_.chance(mix_.elsewhere)) {
      end_elsewhere(thread, threads_[random_.below(kThreads)]);
    } else if (!thread.live.empty()) {
      end(thread, random_.chance(mix_.disorder) ? random_.below(thread.live.size()) : thread.live.size() - 1);
    }
  }

  /// Regions dropped as forgotten have lost their start on the device.
  void let_go(Thread& thread) {
    for (const std::uint32_t id : thread.oracle.take_given_up()) {
      thread.recorder.fold();
      for (Thread::Live& live : thread.live) {
        if (region_id(live.region) != id || !live.device) { continue; }
        live.device = false;
        live.marked = false;
        thread.oracle.device_given_up(id);
      }
    }
  }

  Oracle::Key random_key(const Thread& thread) {
    // Deeper down only inside a step: every path of outermost Batches is a series, and a process holds 1,024 series.
    if (random_.chance(mix_.steps) && (thread.oracle.frames() < 2 || thread.oracle.step_open())) {
      return random_.chance(80) ? Oracle::kBatch : Oracle::kEpoch;
    }
    return 10 + random_.below(mix_.keys);
  }

  /// Returns the mark that an operation has taken, if any.
  template <class Work>
  bool new_mark(Work work, Mark& mark) {
    const std::vector<Mark> before = device_.held();
    work();
    for (const Mark each : device_.held()) {
      if (std::find(before.begin(), before.end(), each) == before.end()) {
        mark = each;
        return true;
      }
    }
    return false;
  }

  void begin(Thread& thread) {
    const Oracle::Key key = random_key(thread);
    const Region flags = key == Oracle::kBatch ? kRegionFolds : Region{0};
    Thread::Live live{0, random_.chance(mix_.device), false, 0, device_.now_ns()};
    if (live.device) {
      device_.refuse(random_.chance(5));
      const takt::StreamRef stream = takt::ManualBackend(device_).stream();
      live.marked = new_mark(
          [&] { live.region = thread.recorder.begin_device(static_cast<KeyIndex>(key), flags, stream); }, live.mark);
      device_.refuse(false);
    } else {
      live.region = thread.recorder.begin(static_cast<KeyIndex>(key), flags);
    }
    if (live.region == 0) {
      thread.oracle.refused(key);
      return;
    }
    thread.oracle.begin(region_id(live.region), key, now());
    thread.live.push_back(live);
  }

  void wait_for(Thread& thread, Oracle::Span* span, Mark begin, Mark end) {
    if (span != nullptr) { waiting_.push_back({&thread, span, begin, end, number_}); }
  }

  void end(Thread& thread, std::size_t which) {
    const Thread::Live live = thread.live[which];
    thread.live.erase(thread.live.begin() + static_cast<std::ptrdiff_t>(which));
    const std::uint32_t id = region_id(live.region);
    Mark mark = 0;
    const bool refused = random_.chance(5);
    device_.refuse(refused);
    const bool is_new = new_mark(
        [&] {
          (live.region & kRegionFlags) == 0 ? thread.recorder.end_plain(live.region) : thread.recorder.end(live.region);
        },
        mark);
    device_.refuse(false);
    // If no mark was refused but this one is not new, a region that this end dropped has just returned it.
    const bool marked = is_new || !refused;
    Oracle::Span* const span =
        live.device ? thread.oracle.device_end(id, live.marked && marked, device_.now_ns() - live.device_begin, now())
                    : nullptr;
    thread.oracle.end(id, now());
    if (!is_new) { mark = given_back(thread); }
    wait_for(thread, span, live.mark, mark);
    remember(thread, live.region);
  }

  /// Returns the last mark that dropped regions returned.
  static Mark given_back(const Thread& thread) {
    Mark mark = 0;
    for (const std::uint32_t id : thread.oracle.given_up()) {
      for (const Thread::Live& live : thread.live) {
        if (region_id(live.region) == id && live.device && live.marked) { mark = live.mark; }
      }
    }
    return mark;
  }

  void lap(Thread& thread) {
    const std::size_t which =
        random_.chance(mix_.disorder) ? random_.below(thread.live.size()) : thread.live.size() - 1;
    const Thread::Live live = thread.live[which];
    thread.live.erase(thread.live.begin() + static_cast<std::ptrdiff_t>(which));
    const std::uint32_t id = region_id(live.region);
    const Oracle::Key key = random_key(thread);
    Thread::Live next{0, live.device, false, 0, device_.now_ns()};
    const Region flags = key == Oracle::kBatch ? kRegionFolds : Region{0};
    next.marked =
        new_mark([&] { next.region = thread.recorder.lap(live.region, static_cast<KeyIndex>(key), flags); }, next.mark);
    if (live.device) {
      wait_for(thread,
               thread.oracle.device_end(id, live.marked && next.marked, device_.now_ns() - live.device_begin, now()),
               live.mark, next.mark);
    }
    thread.oracle.end(id, now());
    remember(thread, live.region);
    if (next.region == 0) {
      thread.oracle.refused(key);
      return;
    }
    thread.oracle.begin(region_id(next.region), key, now());
    thread.live.push_back(next);
  }

  void remember(Thread& thread, Region region) {
    if (thread.ended.size() < 100) { thread.ended.push_back(region); }
  }

  void end_without_start(Thread& thread) {
    if (thread.ended.empty()) { return; }
    const Region region = thread.ended[random_.below(thread.ended.size())];
    thread.ended.clear();
    // A place distinguishes a region only from other open ones: ending a reused place ends its current region.
    if (thread.oracle.is_open(region_id(region)) || thread.oracle.is_deep(region_id(region))) { return; }
    thread.recorder.end_plain(region);
    thread.oracle.end(region_id(region), now());
  }

  void end_elsewhere(Thread& opener, Thread& ender) {
    const std::size_t which = random_.below(opener.live.size());
    const Thread::Live live = opener.live[which];
    const std::uint32_t id = region_id(live.region);
    if (&opener == &ender) { return; }
    time_.fake.advance(1);  // so that the order is known
    opener.live.erase(opener.live.begin() + static_cast<std::ptrdiff_t>(which));
    const bool deep = !opener.oracle.is_open(id);
    const bool overflow = deep || opener.oracle.in_overflow(id);
    if (overflow || random_.chance(50)) {
      opener.recorder.fold();
    }  // the ender does not know the capacity of unfolded data
    const std::uint64_t ended_at = now();
    DeviceBegin begin;
    const bool device = opener.recorder.take_device(live.region, begin);
    REQUIRE(device == live.device);
    REQUIRE(begin.marked == live.marked);
    const DeviceBegin mark =
        begin.marked ? DeviceBegin::now(begin.stream, time_.clock, &begin) : DeviceBegin{begin.stream, 0, false};
    bool open = false;
    Node* node =
        registry_.open_regions().end_elsewhere(ender.recorder, opener.recorder, live.region, now(), kNoKey, open);
    REQUIRE(node != nullptr);
    REQUIRE(open);
    bool placed = false;
    Oracle::Path path;
    if (deep) {
      ender.oracle.end_deep_elsewhere();
    } else {
      path = opener.oracle.path_of(id);
      placed = ender.oracle.end_elsewhere(path, overflow, now() - opener.oracle.begin_of(id));
    }
    REQUIRE(placed == (node != ender.recorder.tree().overflow()));
    if (mark.marked && placed) {
      ender.recorder.add_device(node, begin, mark);
      wait_for(ender, ender.oracle.device_end_elsewhere(path, true, device_.now_ns() - live.device_begin), begin.mark,
               mark.mark);
    } else {
      begin.release();
      mark.release();
    }
    if (random_.chance(50)) { opener.recorder.fold(); }  // and takes the notice there
    time_.fake.advance(1);
    opener.oracle.leave(id, ended_at);
  }

  void amount(Thread& thread) {
    if (thread.live.empty()) { return; }
    const Region region = thread.live[random_.below(thread.live.size())].region;
    const Amount what = random_.chance(50) ? Amount::items : Amount::bytes;
    if (random_.chance(mix_.mistakes)) {
      thread.recorder.amount(region, what, -static_cast<std::int64_t>(random_.below(3)));
      thread.oracle.bad_amount(region_id(region));
      return;
    }
    const std::uint64_t count = 1 + (random_.next() >> (20 + random_.below(44)));
    thread.recorder.amount(region, what, static_cast<std::int64_t>(count));
    thread.oracle.items(region_id(region), count, what == Amount::bytes);
  }

  // Decides the outcome of device spans.

  void decide_at(std::size_t which, bool fail) {
    const Waiting chosen = waiting_[which];
    if (fail) {
      flush();  // spans that share the mark already have their outcome
      device_.fail(chosen.end);
      for (std::size_t at = waiting_.size(); at-- > 0;) {
        if (waiting_[at].end == chosen.end || waiting_[at].begin == chosen.end) { settle(at, Oracle::Outcome::failed); }
      }
      failed_.insert(chosen.end);
    } else {
      device_.resolve(chosen.end);
      settle(which, Oracle::Outcome::ready);
    }
    if (random_.chance(30)) { flush(); }
  }
  void settle(std::size_t which, Oracle::Outcome outcome) {
    waiting_[which].thread->oracle.device_done(waiting_[which].span, outcome);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(which));
  }
  bool begins_an_open_region(Mark mark) const {
    for (const Thread& thread : threads_) {
      for (const Thread::Live& live : thread.live) {
        if (live.marked && live.mark == mark) { return true; }
      }
    }
    return false;
  }
  void decide() {
    if (waiting_.empty()) { return; }
    const std::size_t which = random_.below(waiting_.size());
    // (A failed mark would also fail the region that it started, and its number may be reused after that.)
    decide_at(which, random_.chance(10) && !begins_an_open_region(waiting_[which].end));
  }
  void decide_old() {
    while (!waiting_.empty() && (waiting_.front().asked + 3000 < number_ || waiting_.size() > 60)) {
      decide_at(0, false);
    }
  }
  void flush() {
    for (Thread& thread : threads_) {
      thread.recorder.fold();
      thread.recorder.poll(true);
    }
  }

  void drain(Thread& thread) {
    Outbox* outbox = thread.recorder.outbox();
    if (outbox == nullptr || outbox->front(outbox->end()) == nullptr) { return; }
    REQUIRE(outbox->dropped(takt::detail::Record::Type::row) == 0);
    std::vector<std::uint32_t> paths;
    for (std::uint32_t index = 0; index < thread.recorder.tree().nodes(); ++index) { paths.push_back(index); }
    thread.collector->drain(*outbox, outbox->end(), &thread.recorder, 0, paths);
    for (takt::Row& row : thread.collector->drained(false).rows) { thread.rows.push_back(std::move(row)); }
  }

  // Comparing.

  void compare_all() {
    INFO("mix: " << mix_.name << ", operation " << number_);
    for (Thread& thread : threads_) { compare_copy(thread); }  // including unfolded data
    flush();
    for (Thread& thread : threads_) {
      compare_tree(thread, thread.recorder.tree(), true);
      SAME(thread.recorder.tree().covered_ns(), thread.oracle.covered());
    }
    SAME(device_.misuses(), 0);
  }

  void compare_copy(Thread& thread) {
    Unfolded unfolded;
    thread.recorder.copy(unfolded);
    Tree copy(kEpochKey, kBatchKey);
    copy.copy_for_replay(thread.recorder.tree(), unfolded.state);
    ClockConverter converter(time_.clock, unfolded.source, unfolded.last_ticks);
    Fold(copy, converter).add(unfolded);
    thread.oracle.pass(now());
    compare_tree(thread, copy, false);
    SAME(copy.covered_ns(), thread.oracle.covered());
  }

  static Oracle::Path path_of(const Node* node) {
    Oracle::Path path;
    for (; node->parent != nullptr; node = node->parent) { path.insert(path.begin(), node->key); }
    return path;
  }

  /// \param in_order whether the order is also known.
  static void compare(const takt::Summary& real, const Oracle::Durations& wanted, bool in_order = true) {
    SAME(real.n(), wanted.n);
    SAME(real.total_ns(), wanted.total);
    SAME(real.warmup_n(), wanted.warmup_n);
    SAME(real.warmup_total_ns(), wanted.warmup_total);
    SAME(real.first_n(), (wanted.n == 0 ? 0 : 1));
    if (in_order) { SAME(real.first_max_ns(), wanted.first); }
    SAME(real.max_ns(), wanted.max);
    SAME(real.min_ns(), (wanted.n == wanted.warmup_n ? 0 : wanted.min));
    SAME((real.sum_of_squares() == wanted.squares), true);
  }
  static void compare(const Node& real, const Oracle::Values& wanted, bool device) {
    compare(real.host, wanted.host);
    SAME(real.self_ns(), wanted.self);
    SAME(real.items.get(), wanted.items);
    SAME(real.bytes.get(), wanted.bytes);
    SAME(real.skipped.get(), wanted.skipped);
    if (!device) { return; }
    SAME(real.host.histogram().total(), wanted.host.n - wanted.host.warmup_n);
    SAME(real.device_pending.get(), wanted.device_pending);
    SAME(real.device_lost.get(), wanted.device_lost);
    const takt::Summary* summary = real.device.load();
    if (summary != nullptr || wanted.device.n != 0) {
      compare(summary == nullptr ? takt::Summary() : *summary, wanted.device, false);
    }
  }

  void compare_tree(Thread& thread, const Tree& tree, bool device) {
    const Oracle& oracle = thread.oracle;
    SAME(tree.nodes(), oracle.paths().size());
    for (std::uint32_t index = 0; index < tree.nodes(); ++index) {
      const Oracle::Path path = path_of(tree.node(index));
      INFO("path " << path_text(path) << " of thread " << &thread - threads_.data());
      SAME(path, oracle.paths()[index]);
      compare(*tree.node(index), oracle.values().at(path), device);
    }
    compare(*tree.overflow(), oracle.overflow(), device);
    const std::vector<std::uint32_t> open = oracle.open_ids();
    SAME(tree.depth(), open.size());
    for (unsigned level = 0; level < tree.depth(); ++level) {
      SAME(tree.frame(level).id(), (open[level] == 0 ? Tree::Frame::kTooDeep : open[level]));
    }
    Losses losses;
    for (unsigned slot = 0; slot < tree.losses().size(); ++slot) {
      const LossCounts::Count& each = tree.losses()[slot];
      losses[{name_of(each.kind.get()), each.key.get()}] += each.count.get();
    }
    auto wanted = oracle.losses();
    for (auto* each : {&losses, &wanted}) {  // outcomes of devices are unknown until polled
      for (auto at = each->begin(); at != each->end();) {
        at = at->second == 0                                 ? each->erase(at)
             : !device && at->first.first == "device_failed" ? each->erase(at)
                                                             : std::next(at);
      }
    }
    if (oracle.losses().size() <= 64 - kLossKinds) {  // maximum number of losses with their key (Tree::count)
      SAME(text_of(losses), text_of(wanted));
    } else {
      SAME(text_of(sums_of(losses)), text_of(sums_of(wanted)));
    }
  }

  using Losses = std::map<std::pair<std::string, Oracle::Key>, std::uint64_t>;
  static std::string text_of(const Losses& losses) {
    std::string text;
    for (const auto& [what, count] : losses) {
      text += what.first + " " + std::to_string(what.second) + ": " + std::to_string(count) + "\n";
    }
    return text;
  }
  static Losses sums_of(const Losses& losses) {
    Losses sums;
    for (const auto& [what, count] : losses) { sums[{what.first, 0}] += count; }
    return sums;
  }

  /// Ends the run: pending spans get no result, and every row is compared with the model.
  void finish() {
    INFO("mix: " << mix_.name << ", at the end");
    flush();
    for (Thread& thread : threads_) {
      while (!thread.live.empty()) { end(thread, random_.below(thread.live.size())); }
      drain(thread);
    }
    flush();
    for (Thread& thread : threads_) { thread.recorder.drop_devices(); }
    while (!waiting_.empty()) { settle(0, Oracle::Outcome::unresolved); }
    compare_all();
    for (Thread& thread : threads_) {
      drain(thread);
      for (takt::Row& row : thread.collector->drained(true).rows) { thread.rows.push_back(std::move(row)); }
      compare_rows(thread);
    }
    SAME(device_.outstanding(), 0);
    SAME(device_.misuses(), 0);
  }

  void compare_rows(Thread& thread) {
    std::size_t rows = 0;
    for (const auto& [path, wanted] : thread.oracle.series()) {
      INFO("rows of " << path_text(path));
      const Node* node = nullptr;
      for (std::uint32_t index = 0; index < thread.recorder.tree().nodes(); ++index) {
        if (thread.oracle.paths()[index] == path) { node = thread.recorder.tree().node(index); }
      }
      REQUIRE(node->series != nullptr);
      const auto& series = *static_cast<const StepSeries*>(node->series);
      SAME(series.steps(), wanted.rows.size());
      SAME(series.warmup_steps(), wanted.warmup_steps);
      const takt::Throughput throughput = series.throughput();
      SAME(throughput.steps, wanted.throughput.steps);
      SAME(throughput.items, wanted.throughput.items);
      SAME(throughput.period_ns, wanted.throughput.period);
      SAME(throughput.excluded_steps, wanted.throughput.excluded_steps);
      SAME(throughput.excluded_ns, wanted.throughput.excluded);
      std::map<std::int64_t, const takt::Row*> by_step;
      for (const takt::Row& row : thread.rows) {
        if (row.series == series.id()) { by_step[row.step] = &row; }
      }
      SAME(by_step.size(), wanted.rows.size());
      for (std::size_t step = 0; step < wanted.rows.size(); ++step) {
        INFO("step " << step);
        compare_row(thread, *by_step.at(static_cast<std::int64_t>(step)), wanted.rows[step]);
      }
      rows += wanted.rows.size();
    }
    SAME(thread.rows.size(), rows);
  }

  void compare_row(Thread& thread, const takt::Row& real, const Oracle::Row& wanted) {
    SAME(real.begin_ns, static_cast<std::int64_t>(wanted.begin));
    SAME(real.host_ns, static_cast<std::int64_t>(wanted.end - wanted.begin));
    SAME(real.period_ns.value_or(-1), wanted.period);
    SAME(real.items, static_cast<std::int64_t>(wanted.items));
    SAME(real.warmup, wanted.warmup);
    SAME(real.complete, wanted.complete);
    std::map<Oracle::Path, takt::Cell> cells;
    takt::Cell rest;
    for (const takt::Cell& cell : real.cells) {
      if (cell.path == takt::kNoIndex) {
        rest = cell;
      } else {
        REQUIRE(cells.emplace(thread.oracle.paths()[cell.path], cell).second);
      }
    }
    Oracle::Row expected = wanted;
    with_rest_and_own(thread, expected);
    for (const auto& [path, cell] : expected.cells) {
      INFO("cell " << path_text(path));
      SAME(cells.count(path), 1);
      compare(cells.at(path), cell);
    }
    SAME(cells.size(), expected.cells.size());
    compare(rest, expected.rest);
  }

  /// The model keeps device values by path. Adds up those without a column, and sets the Batch's own span.
  static void with_rest_and_own(Thread& thread, Oracle::Row& row) {
    const std::vector<Oracle::Path>& columns = thread.oracle.series().at(row.batch).columns;
    for (auto at = row.cells.begin(); at != row.cells.end();) {
      const auto column = std::find(columns.begin(), columns.end(), at->first) - columns.begin();
      if (at->first == row.batch) {
        at->second.calls = 1;
        at->second.host = row.end - row.begin;
      } else if (column >= static_cast<std::ptrdiff_t>(Oracle::kMaxColumns)) {
        row.rest.device_calls += at->second.device_calls;
        row.rest.device += at->second.device;
        at = row.cells.erase(at);
        continue;
      }
      ++at;
    }
  }

  static void compare(const takt::Cell& real, const Oracle::Cell& wanted) {
    SAME(real.calls, wanted.calls);
    SAME(real.host_ns, static_cast<std::int64_t>(wanted.host));
    SAME(real.device_ns, (wanted.device_calls == 0 ? takt::Cell::kAbsent : static_cast<std::int64_t>(wanted.device)));
  }

  const Mix& mix_;
  Random random_;
  TestClock time_;
  takt::ManualClock device_;
  Registry registry_;
  std::vector<Thread> threads_;
  std::vector<Waiting> waiting_;  // in order of request
  std::set<Mark> failed_;
  std::uint64_t number_ = 0;
};

}  // namespace

TEST_CASE("Recorder: equals the model after any sequence of valid and invalid operations") {
  const std::uint64_t seed = takt_test::test_seed();
  const int runs = takt_test::kSanitized ? 1 : 2;
  const int operations = takt_test::scaled(64'000);
  for (const Mix& mix : kMixes) {
    DYNAMIC_SECTION(mix.name) {
      for (int run = 0; run < runs; ++run) {
        CAPTURE(seed, run);
        Simulation simulation(mix, seed + static_cast<std::uint64_t>(run));
        simulation.run(operations);
      }
    }
  }
}

TEST_CASE("Recorder: a Batch without a place is not mistaken for the last step of the same number") {
  constexpr const Mix& kFull = kMixes[sizeof kMixes / sizeof kMixes[0] - 1];
  Simulation simulation(kFull, 12);  // whose operation 23 204 is such an end
  simulation.run(24'600);
}
