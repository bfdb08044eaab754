// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/trials.hpp>

#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/mentions.hpp"
#include "support/scoped_env.hpp"
#include "support/scratch.hpp"
#include "support/session_helpers.hpp"
#include "support/virtual_time.hpp"

#include <takt/backends/manual.hpp>
#include <takt/listener.hpp>
#include <takt/takt.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <unistd.h>

namespace {

using takt::Session;
using takt::Snapshot;
using takt::TrialKind;
using takt::TrialOptions;
using takt::TrialRate;
using takt::TrialResults;
using takt_test::by_hand;
using takt_test::contains;
using takt_test::line_mentions;
using takt_test::mentions;
using takt_test::VirtualTime;

constexpr std::uint64_t kTrialMs = 1'000'000;

/// Returns options for trials of `steps` steps without a time limit.
TrialOptions all_trials(int steps = 20) {
  TrialOptions options;
  options.io = options.synthetic = options.full = true;
  options.steps = steps;
  options.time_limit = std::chrono::milliseconds(0);
  return options;
}

TrialResults results_of(Session& session) {
  const auto results = session.snapshot().trials;
  REQUIRE(results != nullptr);
  return *results;
}

/// Returns what `act` prints on stderr.
template <class Act>
std::string printed_on_stderr(Act act) {
  const takt_test::Scratch scratch;
  const int before = ::dup(STDERR_FILENO);
  std::FILE* const file = std::fopen(scratch.path("err").c_str(), "w");
  ::dup2(::fileno(file), STDERR_FILENO);
  act();
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  std::fclose(file);
  return takt_test::read_text(scratch.path("err"));
}

/// Counts constructions and destructions of batches.
struct Counted {
  static int copies, moves;
  int number = 0;

  explicit Counted(int given = 0) : number(given) {}
  Counted(const Counted& other) : number(other.number) { ++copies; }
  Counted(Counted&& other) noexcept : number(other.number) { ++moves; }
  Counted& operator=(const Counted&) = delete;
  Counted& operator=(Counted&&) = delete;
};
int Counted::copies = 0;
int Counted::moves = 0;

/// Yields each batch once, by value, in one pass; loading takes a millisecond of virtual time.
template <class Batch>
class OnePass {
 public:
  explicit OnePass(int batches) : left_(batches) {}

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = Batch;
    explicit Iterator(OnePass* loader) : loader_(loader) {}
    Batch operator*() const { return Batch(loader_->number_); }
    Iterator& operator++() {
      loader_->load();
      return *this;
    }
    friend bool operator!=(const Iterator& at, std::nullptr_t) { return !at.loader_->is_over(); }

   private:
    OnePass* loader_;
  };
  Iterator begin() { return Iterator(this); }
  std::nullptr_t end() { return nullptr; }
  bool is_over() const { return left_ <= 0; }
  void rewind(int batches) { left_ = batches; }
  int loads() const { return loads_; }

 private:
  void load() {
    VirtualTime::pass(kTrialMs);
    --left_;
    ++number_;
    ++loads_;
  }
  int left_;
  int number_ = 0;
  int loads_ = 0;
};

/// Has batches only in its first pass, although its iterators are those of a vector.
class FirstPassOnly {
 public:
  explicit FirstPassOnly(std::size_t batches) : batches_(batches) {}
  std::vector<int>::iterator begin() { return std::exchange(started_, true) ? batches_.end() : batches_.begin(); }
  std::vector<int>::iterator end() { return batches_.end(); }

 private:
  std::vector<int> batches_;
  bool started_ = false;
};

/// Its iterators cannot be assigned, like those of some views.
class Unassignable {
 public:
  explicit Unassignable(int batches) : left_(batches) {}
  struct Iterator {
    int& left;
    int operator*() const { return left; }
    Iterator& operator++() {
      --left;
      return *this;
    }
    friend bool operator!=(const Iterator& at, std::nullptr_t) { return at.left > 0; }
  };
  Iterator begin() { return {left_}; }
  std::nullptr_t end() { return nullptr; }

 private:
  int left_;
};

struct MoveOnly {
  std::unique_ptr<int> value;
  explicit MoveOnly(int number = 0) : value(std::make_unique<int>(number)) {}
};

/// Move-only, but can be made again.
struct Makable {
  std::unique_ptr<int> value;
  explicit Makable(int number = 0) : value(std::make_unique<int>(number)) {}
};

/// Runs a step of the model: a Batch with a phase, of two milliseconds.
void step(std::int64_t samples = 0) {
  takt::Scope batch(takt::Batch);
  takt::Scope phase(takt::Forward);
  VirtualTime::pass(2 * kTrialMs);
  if (samples != 0) { batch.items(samples); }
}

}  // namespace

template <>
struct takt::BatchTraits<Makable> {
  static Makable again(const Makable& batch) { return Makable(*batch.value); }
  static std::int64_t items(const Makable&) { return 8; }
  static const char* place(const Makable&) { return "device"; }
};

// Without trials

TEST_CASE("Trials: without TAKT_TRIALS the loop keeps its references, values and their categories") {
  const support::ScopedEnvironment environment;
  Session session("trials", by_hand());
  std::vector<Counted> batches;
  for (int number = 0; number < 3; ++number) { batches.emplace_back(number); }
  Counted::copies = Counted::moves = 0;
  int at = 0;
  for (auto&& batch : takt::trials(session, batches)) {
    static_assert(std::is_same_v<decltype(batch), Counted&>);
    REQUIRE(&batch == &batches[static_cast<std::size_t>(at++)]);
  }
  const std::vector<Counted>& fixed = batches;
  for (auto&& batch : takt::trials(session, fixed)) {
    static_assert(std::is_same_v<decltype(batch), const Counted&>);
    at += batch.number;
  }
  OnePass<Counted> loader(3);
  for (auto&& batch : takt::trials(session, loader)) {
    static_assert(std::is_same_v<decltype(batch), Counted&&>);
    at += batch.number;
  }
  REQUIRE(at == 9);
  REQUIRE(Counted::copies == 0);
  REQUIRE(Counted::moves == 0);
  REQUIRE(session.snapshot().trials == nullptr);
}

TEST_CASE("Trials: accepts all kinds of ranges: arrays, proxies, temporaries, move-only batches") {
  const support::ScopedEnvironment environment;
  Session session("trials", by_hand());
  int sum = 0;
  int array[] = {1, 2, 3};
  for (auto&& each : takt::trials(session, array)) { sum += std::exchange(each, 0); }
  REQUIRE(sum == 6);
  REQUIRE(array[1] == 0);
  std::vector<bool> flags(3);
  for (auto&& each : takt::trials(session, flags)) { each = true; }
  REQUIRE(flags == std::vector<bool>(3, true));
  for (auto&& each : takt::trials(session, std::vector<int>{4, 5})) { sum += each; }
  REQUIRE(sum == 15);
  OnePass<MoveOnly> loader(3);
  for (auto&& each : takt::trials(session, loader, takt::no_synthetic)) { sum += *MoveOnly(std::move(each)).value; }
  REQUIRE(sum == 18);
  std::map<int, int> empty;
  for (auto&& each : takt::trials(session, empty)) { sum += each.first; }
  REQUIRE(sum == 18);
}

TEST_CASE("Trials: without TAKT_TRIALS next() passes on the pulled batch") {
  const support::ScopedEnvironment environment;
  Session session("trials", by_hand());
  int left = 3;
  int sum = 0;
  auto trials = takt::trials(session);
  while (auto batch = trials.next([&] { return left > 0 ? std::optional<int>(left--) : std::nullopt; })) {
    sum += *batch;
  }
  REQUIRE(sum == 6);
  auto others = takt::trials(session, takt::no_synthetic);
  const auto once = others.next([] { return std::make_unique<int>(7); });
  REQUIRE(*once == 7);
}

// The wait for batches

namespace {

constexpr takt::Key Loading{"loading", takt::Kind::io};

/// Loads a bit in each function of its iterators.
struct LoadsEverywhere {
  int left = 0;
  struct Iterator {
    int& left;
    int operator*() const {
      const takt::Scope load(Loading);
      return left;
    }
    Iterator& operator++() {
      const takt::Scope load(Loading);
      --left;
      return *this;
    }
    bool operator!=(std::nullptr_t) const {
      const takt::Scope load(Loading);
      return left > 0;
    }
  };
  Iterator begin() {
    const takt::Scope load(Loading);
    return {left};
  }
  std::nullptr_t end() { return nullptr; }
};

std::uint64_t total_of(const Snapshot& snapshot, const std::string& path) {
  return snapshot.paths.at(takt_test::find_path(snapshot, path)).host.total_ns();
}

}  // namespace

TEST_CASE("Trials: without TAKT_TRIALS, too, the wait for each batch is one region of kind IO") {
  const support::ScopedEnvironment environment;
  Session session("trials", by_hand());
  SECTION("in a range-based for: everything that its iterators do") {
    const takt::Scope top(takt::key("range"));
    LoadsEverywhere loader{3};
    for (const int batch : takt::trials(session, loader)) {
      takt::Scope scope(takt::Batch);
      scope.items(batch);
    }
    const Snapshot snapshot = session.snapshot();
    REQUIRE(takt_test::calls_of(snapshot, "range/IO") == 4);           // with the end of the data
    REQUIRE(takt_test::calls_of(snapshot, "range/IO/loading") == 11);  // begin(); 3 times *, ++; 4 times !=
    REQUIRE(takt_test::calls_of(snapshot, "range/loading") == 0);
    REQUIRE(takt_test::calls_of(snapshot, "range/Batch") == 3);  // after the wait, not in it
  }
  SECTION("of a loop that is left by break") {
    const takt::Scope top(takt::key("break"));
    LoadsEverywhere loader{3};
    for (const int batch : takt::trials(session, loader)) {
      (void)batch;
      break;
    }
    REQUIRE(takt_test::calls_of(session.snapshot(), "break/IO") == 1);
    REQUIRE(session.snapshot().open.size() == 1);  // this test's
  }
  SECTION("of pulled batches") {
    const takt::Scope top(takt::key("pull"));
    int left = 3;
    auto trials = takt::trials(session);
    while (trials.next([&] {
      const takt::Scope load(Loading);
      return left-- > 0;
    })) {
      takt::Scope scope(takt::Batch);
    }
    REQUIRE(takt_test::calls_of(session.snapshot(), "pull/IO") == 4);
    REQUIRE(takt_test::calls_of(session.snapshot(), "pull/IO/loading") == 4);
    REQUIRE(takt_test::calls_of(session.snapshot(), "pull/Batch") == 3);
  }
  SECTION("a loader that throws ends its region") {
    const takt::Scope top(takt::key("throw"));
    auto trials = takt::trials(session);
    REQUIRE_THROWS_AS(trials.next([]() -> bool { throw std::runtime_error("disk"); }), std::runtime_error);
    REQUIRE(takt_test::calls_of(session.snapshot(), "throw/IO") == 1);
    REQUIRE(session.snapshot().open.size() == 1);  // this test's
  }
}

TEST_CASE("Trials: a loader with IO regions is not counted twice") {
  const support::ScopedEnvironment environment;
  Session session("trials", by_hand());
  TrialOptions options;
  const auto load = [left = 5]() mutable {
    const takt::Scope own(takt::IO);
    return left-- > 0;
  };
  SECTION("its time is in the region around it, whose self time lacks it") {
    const takt::Scope top(takt::key("both"));
    auto trials = takt::trials(session, options);
    for (auto next = load; trials.next(next);) {}
    const Snapshot snapshot = session.snapshot();
    REQUIRE(takt_test::calls_of(snapshot, "both/IO") == 6);
    REQUIRE(takt_test::calls_of(snapshot, "both/IO/IO") == 6);
    const takt::PathStats outer = snapshot.paths.at(takt_test::find_path(snapshot, "both/IO"));
    REQUIRE(outer.self_ns + total_of(snapshot, "both/IO/IO") == total_of(snapshot, "both/IO"));
  }
  SECTION("with time_loader off only its own remain") {
    const takt::Scope top(takt::key("own"));
    options.time_loader = false;
    auto trials = takt::trials(session, options);
    for (auto next = load; trials.next(next);) {}
    LoadsEverywhere loader{3};
    for (const int batch : takt::trials(session, loader, options)) { (void)batch; }
    const Snapshot snapshot = session.snapshot();
    REQUIRE(takt_test::calls_of(snapshot, "own/IO") == 6);
    REQUIRE(takt_test::calls_of(snapshot, "own/loading") == 11);
    REQUIRE(takt_test::find_path(snapshot, "own/IO/IO") == takt_test::kNowhere);
  }
}

// Order of the trials

TEST_CASE("Trials: SYNTHETIC, IO and FULL run once for warm-up and three times measured, then the loop ends") {
  const VirtualTime time;
  Session session("trials", by_hand());
  OnePass<int> loader(1'000'000);
  std::map<int, int> seen;
  for (auto&& batch : takt::trials(session, loader, all_trials())) {
    ++seen[batch];
    step();
  }
  const TrialResults results = results_of(session);
  REQUIRE(results.steps_done == 160);
  REQUIRE(results.batches_taken == 161);
  REQUIRE(seen.size() == 81);  // that of SYNTHETIC, and those of FULL
  REQUIRE(seen[0] == 80);      // the first one, repeatedly
  REQUIRE(seen.rbegin()->first == 160);
  REQUIRE(seen.find(50) == seen.end());  // IO: the body is not entered
  REQUIRE(loader.loads() == 160);        // SYNTHETIC loads nothing
  REQUIRE(results.of(TrialKind::io).trials == 3);
  REQUIRE(results.of(TrialKind::io).steps == 60);
  REQUIRE(results.of(TrialKind::io).per_s == Approx(1000));
  REQUIRE(results.of(TrialKind::synthetic).per_s == Approx(500));
  REQUIRE(results.of(TrialKind::full).per_s == Approx(1000.0 / 3));
  REQUIRE(results.of(TrialKind::full).each.size() == 3);
  REQUIRE(results.of(TrialKind::full).each[2].steps == 20);
  REQUIRE(results.of(TrialKind::full).each[2].ns == 60 * kTrialMs);
  REQUIRE(results.unit == "batches");
  REQUIRE(results.finding.has_value());
  REQUIRE(results.finding->what == "no_overlap");
  REQUIRE(mentions(results.finding->sentence, {"FULL 333", "1 000", "500"}));
  REQUIRE(results.took_ns == static_cast<std::int64_t>(80 * (1 + 2 + 3) * kTrialMs));
  // Later loops of the run end at once.
  int entered = 0;
  for (auto&& batch : takt::trials(session, loader, all_trials())) { entered += 1 + batch; }
  auto pulled = takt::trials(session, all_trials());
  REQUIRE_FALSE(pulled.next([] { return true; }));
  REQUIRE(entered == 0);
}

TEST_CASE("Trials: the numbers of trials and of warm-up trials are options") {
  const VirtualTime time;
  Session session("trials", by_hand());
  TrialOptions options = all_trials(4);
  options.trials = 2;
  options.warmup = GENERATE(0, 2);
  OnePass<int> loader(1000);
  for (auto&& batch : takt::trials(session, loader, options)) {
    (void)batch;
    step();
  }
  const TrialResults results = results_of(session);
  REQUIRE(results.steps_done == 2U * 4U * static_cast<unsigned>(2 + options.warmup));
  REQUIRE(results.of(TrialKind::full).trials == 2);
  REQUIRE(results.of(TrialKind::full).each.size() == 2);
  REQUIRE(results.of(TrialKind::full).steps == 8);
  REQUIRE_FALSE(results.of(TrialKind::full).interval.has_value());
}

TEST_CASE("Trials: a running trial prints its rate, which no step includes") {
  const VirtualTime time;
  takt::SessionOptions run = by_hand();
  run.table = true;
  Session session("trials", run);
  TrialOptions options = all_trials(5);
  options.trials = 1;
  options.synthetic = false;
  options.progress_steps = 2;
  OnePass<int> loader(1000);
  int steps = 0;
  const std::string text = printed_on_stderr([&] {
    for (auto&& batch : takt::trials(session, loader, options)) {
      (void)batch;
      VirtualTime::pass(++steps == 7 ? 8 * kTrialMs : 0);  // the second step of the measured trial
      step(64);
    }
  });
  INFO(text);
  REQUIRE(line_mentions(text, {"the warm-up of IO", "4 of 5 steps", "1 000 batches/s"}));
  REQUIRE(line_mentions(text, {"trial 1 of IO", "4 of 5 steps", "1 000 batches/s"}));
  REQUIRE(line_mentions(text, {"trial 1 of FULL", "2 of 5 steps", "9 143 samples/s"}));   // 128 in 14 ms
  REQUIRE(line_mentions(text, {"trial 1 of FULL", "4 of 5 steps", "21 333 samples/s"}));  // 128 in 6 ms
  REQUIRE_FALSE(contains(text, "6 of 5"));
  REQUIRE(std::count(text.begin(), text.end(), '\n') == 8);
}

TEST_CASE("Trials: a single kind gives no finding, and the text names the kinds needed") {
  const VirtualTime time;
  Session session("trials", by_hand());
  TrialOptions options = all_trials();
  options.synthetic = options.full = false;
  OnePass<int> loader(1000);
  for (auto&& batch : takt::trials(session, loader, options)) { FAIL("entered with " << batch); }
  const TrialResults results = results_of(session);
  REQUIRE(results.of(TrialKind::io).trials == 3);
  REQUIRE(results.of(TrialKind::full).trials == 0);
  REQUIRE_FALSE(results.finding.has_value());
  REQUIRE(mentions(results.unreported, {"IO", "SYNTHETIC", "FULL"}));
}

TEST_CASE("Trials: the time limit ends a trial, but not in a run of several ranks") {
  const VirtualTime time;
  takt::SessionOptions run = by_hand();
  TrialOptions options = all_trials(1000);
  options.time_limit = std::chrono::milliseconds(50);
  options.io = options.synthetic = false;
  const int ranks = GENERATE(1, 2);
  run.world_size = ranks;
  run.rank = 0;
  run.run_id = "trials";
  Session session("trials", run);
  OnePass<int> loader(1'000'000);
  for (auto&& batch : takt::trials(session, loader, options)) {
    (void)batch;
    step();
  }
  REQUIRE(results_of(session).of(TrialKind::full).steps == (ranks == 1 ? 3 * 17 : 3000));
  REQUIRE(results_of(session).seconds_a_trial == (ranks == 1 ? 0.05 : 0.0));
}

TEST_CASE("Trials: accept pulled batches as optionals, pointers and flags") {
  const VirtualTime time;
  Session session("trials", by_hand());
  int loaded = 0;
  int steps = 0;
  const auto load = [&] {
    VirtualTime::pass(kTrialMs);
    return ++loaded;
  };
  SECTION("an optional is copied") {
    auto trials = takt::trials(session, all_trials());
    while (auto batch = trials.next([&] { return std::optional<std::vector<int>>(std::vector<int>(3, load())); })) {
      batch->clear();  // the next step has its own copy
      step();
      ++steps;
    }
  }
  SECTION("a pointer leads to the same batch") {
    std::vector<int> buffer;
    auto trials = takt::trials(session, all_trials());
    while (auto* batch = trials.next([&] {
      buffer.assign(3, load());
      return &buffer;
    })) {
      REQUIRE(batch == &buffer);
      step();
      ++steps;
    }
  }
  SECTION("a flag represents a batch held by the program") {
    auto trials = takt::trials(session, all_trials());
    while (trials.next([&] { return load() > 0; })) {
      step();
      ++steps;
    }
  }
  SECTION("a batch that cannot be copied is made again") {
    auto trials = takt::trials(session, all_trials());
    while (auto batch = trials.next([&] { return std::optional<Makable>(Makable(load())); })) {
      REQUIRE(*Makable(*std::move(batch)).value > 0);
      step();
      ++steps;
    }
    REQUIRE(results_of(session).unit == "samples");
    REQUIRE(results_of(session).batch_place == "device");
    REQUIRE(results_of(session).of(TrialKind::io).per_s == Approx(8000));
  }
  REQUIRE(steps == 160);
  REQUIRE(loaded == 161);
  REQUIRE(results_of(session).of(TrialKind::full).steps == 60);
  REQUIRE(results_of(session).finding->what == "no_overlap");
}

TEST_CASE("Trials: single-use batches run without SYNTHETIC, and this is reported") {
  const VirtualTime time;
  const support::CaughtErrors errors;
  Session session("trials", by_hand());
  OnePass<MoveOnly> loader(1000);
  int sum = 0;
  for (auto&& batch : takt::trials(session, loader, takt::no_synthetic, all_trials())) {
    sum += *MoveOnly(std::move(batch)).value;
    step();
  }
  REQUIRE(sum > 0);
  REQUIRE(results_of(session).of(TrialKind::full).trials == 3);
  REQUIRE(results_of(session).of(TrialKind::synthetic).trials == 0);
  REQUIRE(mentions(errors.text(), {"SYNTHETIC"}));
}

TEST_CASE("Trials: a kept batch is copied outside of its step, unless the loop uses streams") {
  const VirtualTime time;
  struct Slow {
    int number;
    explicit Slow(int given) : number(given) {}
    Slow(const Slow& other) : number(other.number) { VirtualTime::pass(kTrialMs); }
  };
  Session session("trials", by_hand());
  OnePass<Slow> loader(1000);
  takt::ManualClock device;
  const bool streams = GENERATE(false, true);
  for (auto&& batch : takt::trials(session, loader, all_trials())) {
    takt::Scope scope(takt::Forward, takt::ManualBackend(device).stream());
    if (!streams) { device.refuse(true); }
    VirtualTime::pass(2 * kTrialMs + static_cast<std::uint64_t>(batch.number) * 0);
  }
  const TrialRate synthetic = results_of(session).of(TrialKind::synthetic);
  REQUIRE(synthetic.copy_ns == 60 * kTrialMs);
  REQUIRE(synthetic.copies_count);
  REQUIRE(synthetic.per_s == Approx(1000.0 / 3));
}

// The data

TEST_CASE("Trials: rewinds multi-pass ranges and excludes the rewinding step") {
  const VirtualTime time;
  Session session("trials", by_hand());
  std::vector<int> batches = {1, 2, 3, 4, 5, 6, 7};
  int sum = 0;
  for (auto&& batch : takt::trials(session, batches, all_trials())) {
    sum += batch;
    step();
  }
  const TrialResults results = results_of(session);
  REQUIRE(results.cut.empty());
  REQUIRE(results.of(TrialKind::full).begun_again >= 8);
  REQUIRE(results.of(TrialKind::full).left_out_steps == results.of(TrialKind::full).begun_again);
  REQUIRE(results.of(TrialKind::full).steps + results.of(TrialKind::full).left_out_steps == 60);
  REQUIRE(sum > 80);
}

TEST_CASE("Trials: single-pass data restarts with the program's function") {
  const VirtualTime time;
  Session session("trials", by_hand());
  OnePass<int> loader(25);
  TrialOptions options = all_trials();
  int resets = 0;
  options.reset = [&] {
    loader.rewind(25);
    ++resets;
  };
  for (auto&& batch : takt::trials(session, loader, options)) {
    (void)batch;
    step();
  }
  REQUIRE(results_of(session).cut.empty());
  REQUIRE(results_of(session).batches_taken == 161);
  REQUIRE(resets == 6);
}

TEST_CASE("Trials: data that ends for good ends the trials, and complete ones count") {
  const VirtualTime time;
  const support::CaughtErrors errors;
  Session session("trials", by_hand());
  SECTION("within FULL") {
    OnePass<int> loader(130);
    for (auto&& batch : takt::trials(session, loader, all_trials())) {
      (void)batch;
      step();
    }
    const TrialResults results = results_of(session);
    REQUIRE(mentions(results.cut, {"2", "FULL", "130", "TrialOptions::reset"}));
    REQUIRE(results.of(TrialKind::io).steps == 60);
    REQUIRE(results.of(TrialKind::full).trials == 2);
    REQUIRE(results.of(TrialKind::full).steps == 29);
    REQUIRE(mentions(errors.text(), {"2", "FULL"}));
  }
  SECTION("before the first batch") {
    for (auto&& batch : takt::trials(session, std::vector<int>(), all_trials())) { FAIL("a batch " << batch); }
    REQUIRE(contains(results_of(session).cut, "the loader returned no batch"));
  }
  SECTION("of pulled data") {
    int left = 30;
    auto trials = takt::trials(session, all_trials());
    while (trials.next([&] { return left-- > 0; })) { step(); }
    REQUIRE(mentions(results_of(session).cut, {"1", "IO"}));
  }
}

TEST_CASE("Trials: data that is empty after a restart is reported with a specific remedy") {
  const VirtualTime time;
  const support::CaughtErrors errors;
  Session session("trials", by_hand());
  TrialOptions options = all_trials();
  std::string expected;
  const auto run = [&](auto& loader) {
    for (auto&& batch : takt::trials(session, loader, options)) {
      (void)batch;
      step();
    }
  };
  SECTION("a range with a reset that gives no data") {
    options.reset = [] {};
    OnePass<int> loader(25);
    run(loader);
    expected = "TrialOptions::reset";
  }
  SECTION("pulled data with a reset that gives no data") {
    options.reset = [] {};
    int left = 25;
    auto trials = takt::trials(session, options);
    while (trials.next([&] { return left-- > 0; })) { step(); }
    expected = "TrialOptions::reset";
  }
  SECTION("a range that is empty after its restart") {
    FirstPassOnly loader(25);
    run(loader);
    expected = "restarted";
  }
  SECTION("a range whose iterators cannot restart, with or without a reset") {
    if (GENERATE(false, true)) {
      options.reset = [] {};
    }
    Unassignable loader(25);
    run(loader);
    expected = "cannot be assigned";
  }
  REQUIRE(mentions(results_of(session).cut, {"1", "IO", "25", expected}));
  REQUIRE(contains(errors.text(), results_of(session).cut));
}

TEST_CASE("Trials: leaving the loop, or an exception, ends its trials, and recording continues") {
  const VirtualTime time;
  const support::CaughtErrors errors;
  Session session("trials", by_hand());
  OnePass<int> loader(1000);
  const std::uint64_t before = takt_test::calls_of(session.snapshot(), "after trials");
  int entered = 0;
  SECTION("left early") {
    for (auto&& batch : takt::trials(session, loader, all_trials())) {
      step();
      if (++entered + batch * 0 == 30) { break; }
    }
    REQUIRE(mentions(results_of(session).cut, {"1", "SYNTHETIC", "loop"}));
  }
  SECTION("left by an exception") {
    const auto loop = [&] {
      for (auto&& batch : takt::trials(session, loader, all_trials())) {
        step();
        if (++entered + batch * 0 == 90) { throw std::runtime_error("out of memory"); }
      }
    };
    REQUIRE_THROWS_WITH(loop(), "out of memory");
    REQUIRE(mentions(results_of(session).cut, {"FULL"}));
  }
  { takt::Scope after(takt::key("after trials")); }
  REQUIRE(takt_test::calls_of(session.snapshot(), "after trials") == before + 1);
}

// Continuing after trials

TEST_CASE("Trials: with save and restore the loop continues from its previous state") {
  const VirtualTime time;
  const support::CaughtErrors errors;
  Session session("trials", by_hand());
  std::vector<int> batches(50);
  int weights = 0;
  int saved = -1;
  TrialOptions options = all_trials();
  options.go_on = true;
  options.save = [&] { saved = weights; };
  options.restore = [&] { weights = saved; };
  int steps = 0;
  for (auto&& batch : takt::trials(session, batches, options)) {
    batch = ++weights;
    ++steps;
    step();
  }
  REQUIRE(steps == 160 + 50);
  REQUIRE(weights == 50);
  REQUIRE(batches[0] == 1);
  REQUIRE(results_of(session).went_on);
  REQUIRE(results_of(session).restored);
  REQUIRE_FALSE(contains(errors.text(), "have advanced"));
  // The next epoch has no trials.
  for (auto&& batch : takt::trials(session, batches, options)) { weights += batch > 0 ? 1 : 0; }
  REQUIRE(weights == 100);
}

TEST_CASE("Trials: a loader put back by restore is not reset afterwards") {
  const VirtualTime time;
  Session session("trials", by_hand());
  int next = 5;
  int saved = -1;
  TrialOptions options = all_trials();
  options.go_on = true;
  options.reset = [&] { next = 0; };
  options.save = [&] { saved = next; };
  options.restore = [&] { next = saved; };
  std::vector<int> trained;
  auto trials = takt::trials(session, options);
  while (const auto batch = trials.next([&] { return next < 20 ? std::optional<int>(next++) : std::nullopt; })) {
    trained.push_back(*batch);
    step();
  }
  REQUIRE(trained.size() == 160 + 15);
  REQUIRE(trained[160] == 5);
  REQUIRE(trained.back() == 19);
}

TEST_CASE("Trials: continuing without restore reports the changed state") {
  const VirtualTime time;
  const support::CaughtErrors errors;
  Session session("trials", by_hand());
  OnePass<int> loader(200);
  TrialOptions options = all_trials();
  options.go_on = true;
  const std::uint64_t before = takt_test::calls_of(session.snapshot(), "Batch");
  int last = 0;
  for (auto&& batch : takt::trials(session, loader, options)) {
    last = batch;
    step();
  }
  REQUIRE(last == 199);
  REQUIRE(takt_test::calls_of(session.snapshot(), "Batch") == before + 39);
  REQUIRE(mentions(errors.text(), {"160 steps", "161 batches"}));
  REQUIRE_FALSE(contains(errors.text(), "nothing was trained"));
}

TEST_CASE("Trials: continuing without restore does not report a moved loader that restarts") {
  const VirtualTime time;
  const support::CaughtErrors errors;
  Session session("trials", by_hand());
  std::vector<int> batches(50);
  TrialOptions options = all_trials();
  options.go_on = true;
  int steps = 0;
  for (auto&& batch : takt::trials(session, batches, options)) {
    steps += 1 + batch;
    step();
  }
  REQUIRE(steps == 160 + 50);
  REQUIRE(mentions(errors.text(), {"161 batches"}));
  REQUIRE_FALSE(contains(errors.text(), "the loader by"));
}

TEST_CASE("Trials: a continuing loop without batches reports that nothing was trained, and why") {
  const bool pulled = GENERATE(false, true);
  const VirtualTime time;
  const support::CaughtErrors errors;
  Session session("trials", by_hand());
  TrialOptions options = all_trials();
  options.go_on = true;
  OnePass<int> loader(161);
  std::string cure;
  SECTION("without functions") { cure = "TrialOptions::restore"; }
  SECTION("with a reset that gives no data") {
    options.reset = [&] { loader.rewind(0); };
    cure = "TrialOptions::reset";
  }
  SECTION("with a restore that gives no data") {
    options.restore = [] {};
    cure = "TrialOptions::restore";
  }
  int steps = 0;
  if (pulled) {
    int left = 161;
    auto trials = takt::trials(session, options);
    for (; trials.next([&] { return left-- > 0; }); ++steps) { step(); }
    REQUIRE_FALSE(trials.next([&] { return left-- > 0; }));
  } else {
    for (auto&& batch : takt::trials(session, loader, options)) {
      steps += 1 + batch * 0;
      step();
    }
  }
  REQUIRE(steps == 160);
  REQUIRE(results_of(session).cut.empty());
  REQUIRE(mentions(errors.text(), {"nothing was trained", "161 batches", cure}));
}

TEST_CASE("Trials: if a loader cannot restart, the remedy for a loop without batches is fewer steps") {
  const VirtualTime time;
  const support::CaughtErrors errors;
  Session session("trials", by_hand());
  TrialOptions options = all_trials();
  options.go_on = true;
  options.reset = [] {};
  Unassignable loader(161);
  int steps = 0;
  for (auto&& batch : takt::trials(session, loader, options)) {
    steps += 1 + batch * 0;
    step();
  }
  REQUIRE(steps == 160);
  REQUIRE(contains(errors.text(), "cannot be assigned"));
}

TEST_CASE("Trials: a continuing loop whose data ends during trials reports that nothing was trained") {
  const VirtualTime time;
  const support::CaughtErrors errors;
  Session session("trials", by_hand());
  TrialOptions options = all_trials();
  options.go_on = GENERATE(true, false);
  int entered = 0;
  OnePass<int> loader(130);
  for (auto&& batch : takt::trials(session, loader, options)) {
    entered += 1 + batch * 0;
    step();
  }
  REQUIRE(mentions(results_of(session).cut, {"2", "FULL"}));
  const int before = entered;
  loader.rewind(10);
  for (auto&& batch : takt::trials(session, loader, options)) { entered += 1 + batch * 0; }
  REQUIRE(entered == before);
  REQUIRE(contains(errors.text(), "nothing was trained") == options.go_on);
}

TEST_CASE("Trials: trials still open at the end of the run are reported with the remedy") {
  const VirtualTime time;
  const support::CaughtErrors errors;
  Session session("trials", by_hand());
  const char* const reported = "still open";
  int entered = 0;
  const auto pull_some = [&](auto& trials) {
    while (trials.next([] { return true; })) {
      step();
      if (++entered == 30) { break; }
    }
  };
  SECTION("the object outlives its loop") {
    auto trials = takt::trials(session, all_trials());
    pull_some(trials);
    REQUIRE_FALSE(contains(errors.text(), reported));
    session.close();
    REQUIRE(contains(errors.text(), reported));
    REQUIRE(mentions(errors.text(), {"takt::trials()"}));
  }
  SECTION("it ends with its loop") {
    {
      auto trials = takt::trials(session, all_trials());
      pull_some(trials);
    }
    session.close();
    REQUIRE_FALSE(contains(errors.text(), reported));
  }
  SECTION("the trials were complete") {
    auto trials = takt::trials(session, all_trials());
    while (trials.next([] { return true; })) { step(); }
    session.close();
    REQUIRE_FALSE(contains(errors.text(), reported));
  }
}

TEST_CASE("Trials: a pull loop continues, too") {
  const VirtualTime time;
  const support::CaughtErrors errors;
  Session session("trials", by_hand());
  int left = 30;
  TrialOptions options = all_trials();
  options.go_on = true;
  options.reset = [&] { left = 30; };
  int steps = 0;
  auto trials = takt::trials(session, options);
  while (auto batch = trials.next([&] { return left > 0 ? std::optional<int>(left--) : std::nullopt; })) {
    steps += *batch > 0 ? 1 : 0;
    step();
  }
  REQUIRE(steps == 160 + 30);
}

// Calls to the program's functions, streams and profiler

TEST_CASE("Trials: each trial starts with a barrier and ends with one wait") {
  const VirtualTime time;
  Session session("trials", by_hand());
  TrialOptions options = all_trials();
  int waits = 0;
  int barriers = 0;
  options.wait = [&] {
    ++waits;
    VirtualTime::pass(10 * kTrialMs);
  };
  options.barrier = [&] {
    ++barriers;
    VirtualTime::pass(1000 * kTrialMs);  // in no trial
  };
  OnePass<int> loader(1000);
  for (auto&& batch : takt::trials(session, loader, options)) {
    (void)batch;
    step();
  }
  REQUIRE(waits == 12);
  REQUIRE(barriers == 12);
  const TrialRate full = results_of(session).of(TrialKind::full);
  REQUIRE(full.wait_ns == 30 * kTrialMs);
  REQUIRE(full.ns == (60 * 3 + 30) * kTrialMs);
  REQUIRE(full.over_trials);
  REQUIRE(results_of(session).waits_by == "function");
}

TEST_CASE("Trials: wait for the streams of the loop's regions") {
  const VirtualTime time;
  Session session("trials", by_hand());
  takt::ManualClock one;
  takt::ManualClock other;
  OnePass<int> loader(1000);
  for (auto&& batch : takt::trials(session, loader, all_trials())) {
    (void)batch;
    takt::Scope scope(takt::Batch, takt::ManualBackend(one).stream());
    takt::Scope copy(takt::IO, takt::ManualBackend(other));
    VirtualTime::pass(kTrialMs);
  }
  const TrialResults results = results_of(session);
  REQUIRE(results.waits_by == "streams");
  REQUIRE(results.streams == 2);
  REQUIRE(results.failed_waits == 0);
  REQUIRE(one.outstanding() == 0);
  REQUIRE(one.misuses() == 0);
}

TEST_CASE("Trials: report a failed wait") {
  const VirtualTime time;
  Session session("trials", by_hand());
  takt::ManualClock device;
  device.refuse(true);
  OnePass<int> loader(1000);
  for (auto&& batch : takt::trials(session, loader, all_trials())) {
    (void)batch;
    takt::Scope scope(takt::Batch, takt::ManualBackend(device));
    VirtualTime::pass(kTrialMs);
  }
  REQUIRE(results_of(session).failed_waits == 12);
}

namespace {

struct Ranges {
  std::vector<std::string> open;
  std::map<std::string, int> counts;
  bool balanced = true;
};

}  // namespace

TEST_CASE("Trials: listeners receive starts and ends of trials and of the regions in them") {
  const VirtualTime time;
  Session session("trials", by_hand());
  const Snapshot before = session.snapshot();
  Ranges ranges;
  takt::Listener listener;
  listener.context = &ranges;
  listener.begin = [](const takt::Key& key, void* context) noexcept {
    auto& all = *static_cast<Ranges*>(context);
    all.open.emplace_back(key.name());
    ++all.counts[key.name()];
  };
  listener.end = [](const takt::Key& key, void* context) noexcept {
    auto& all = *static_cast<Ranges*>(context);
    all.balanced = all.balanced && !all.open.empty() && all.open.back() == key.name();
    if (!all.open.empty()) { all.open.pop_back(); }
  };
  REQUIRE(takt::add_listener(listener));
  OnePass<int> loader(1000);
  auto timer = takt::Timer<takt::CpuBackend>::joined();
  for (auto&& batch : takt::trials(session, loader, all_trials())) {
    (void)batch;
    step();
    takt::Scope laps(takt::Backward);
    laps.lap(takt::Comm);
    const takt::Handle handle = timer.start(takt::IO);
    timer.end(handle);
    timer.start(takt::IO);
    timer.end(takt::IO);
  }
  takt::remove_listener(listener);
  REQUIRE(ranges.balanced);
  REQUIRE(ranges.open.empty());
  REQUIRE(ranges.counts["trial FULL"] == 4);
  REQUIRE(ranges.counts["trial IO"] == 4);
  REQUIRE(ranges.counts["Batch"] == 160);
  REQUIRE(ranges.counts["Comm"] == 160);
  REQUIRE(ranges.counts["IO"] == 1 + 161);  // begin(), and each batch from the loader
  const Snapshot snapshot = session.snapshot();
  for (std::uint32_t path = 0; path < snapshot.paths.size(); ++path) {
    REQUIRE(snapshot.paths[path].host.n() == takt_test::calls_of(before, snapshot.path_name(path)));
  }
  REQUIRE(snapshot.losses.size() == before.losses.size());
}

// Samples, and the memory of the kept batch

TEST_CASE("Trials: samples come from the options, the batch, or the items of Batch regions") {
  const VirtualTime time;
  Session session("trials", by_hand());
  TrialOptions options = all_trials();
  OnePass<int> loader(1000);
  double samples = 0;
  SECTION("from Batch regions, which IO lacks") { samples = 16; }
  SECTION("from the options, which take precedence") {
    options.items = 32;
    samples = 32;
  }
  for (auto&& batch : takt::trials(session, loader, options)) {
    (void)batch;
    step(16);
  }
  REQUIRE(results_of(session).unit == "samples");
  REQUIRE(results_of(session).of(TrialKind::io).per_s == Approx(1000 * samples));
  REQUIRE(results_of(session).of(TrialKind::full).per_s == Approx(1000 * samples / 3));
}

TEST_CASE("Trials: the program says where the kept batch is stored") {
  const VirtualTime time;
  Session session("trials", by_hand());
  std::vector<std::vector<float>> batches(3, std::vector<float>(4));
  TrialOptions options = all_trials();
  std::string expected;
  SECTION("unknown") {}
  SECTION("set by the program") {
    options.batch_place = "unified memory";
    expected = "unified memory";
  }
  for (auto&& batch : takt::trials(session, batches, options)) {
    takt::Scope scope(takt::Batch);
    VirtualTime::pass(kTrialMs + batch.size() * 0);
  }
  REQUIRE(results_of(session).batch_place == expected);
}

// Options

TEST_CASE("Trials: options come from the environment, and invalid ones are reported") {
  const support::CaughtErrors errors;
  support::ScopedEnvironment environment({{"TAKT_TRIALS", "io,full"}, {"TAKT_TRIALS_STEPS", "7"}});
  environment.set("TAKT_TRIALS_SECONDS", "3");
  environment.set("TAKT_TRIALS_GO_ON", "1");
  environment.set("TAKT_TRIALS_COUNT", "5");
  environment.set("TAKT_TRIALS_WARMUP", "0");
  environment.set("TAKT_TRIALS_PROGRESS", "10");
  TrialOptions options = TrialOptions::from_env();
  REQUIRE(options.io);
  REQUIRE_FALSE(options.synthetic);
  REQUIRE(options.full);
  REQUIRE(options.steps == 7);
  REQUIRE(options.time_limit == std::chrono::seconds(3));
  REQUIRE(options.go_on);
  REQUIRE(options.trials == 5);
  REQUIRE(options.warmup == 0);
  REQUIRE(options.progress_steps == 10);
  environment.set("TAKT_TRIALS", "all");
  REQUIRE(TrialOptions::from_env().synthetic);
  REQUIRE(takt::SessionOptions::from_env().files);  // which knows the names
  REQUIRE(errors.lines().empty());
  for (const char* wrong : {"FULL", "io,", "io;full", "everything", ","}) {
    environment.set("TAKT_TRIALS", wrong);
    REQUIRE_FALSE(TrialOptions::from_env().any());
  }
  environment.set("TAKT_TRIALS_STEPS", "100001");
  environment.set("TAKT_TRIALS_SECONDS", "-1");
  environment.set("TAKT_TRIALS_COUNT", "0");
  environment.set("TAKT_TRIALS_WARMUP", "101");
  environment.set("TAKT_TRIALS_PROGRESS", "often");
  options = TrialOptions::from_env();
  REQUIRE(options.trials == 3);
  REQUIRE(options.warmup == 1);
  REQUIRE(options.progress_steps == 0);
  REQUIRE(options.steps == 100);
  REQUIRE(options.time_limit == std::chrono::seconds(10));
  REQUIRE(line_mentions(errors.text(), {"TAKT_TRIALS=FULL", "io", "synthetic", "full"}));
  REQUIRE(line_mentions(errors.text(), {"TAKT_TRIALS_STEPS=100001", "1", "100000"}));
  REQUIRE(line_mentions(errors.text(), {"TAKT_TRIALS_COUNT=0", "trials", "1 or more", "100", "using 3"}));
  REQUIRE(line_mentions(errors.text(), {"TAKT_TRIALS_WARMUP=101", "trials", "0 or more", "100", "using 1"}));
  REQUIRE(line_mentions(errors.text(), {"TAKT_TRIALS_PROGRESS=often", "steps", "0 or more", "using 0"}));
}

TEST_CASE("Trials: invalid options are an error that names the remedy") {
  Session session("trials", by_hand());
  std::vector<int> batches(3);
  const auto run = [&](const TrialOptions& options) {
    for (auto&& batch : takt::trials(session, batches, options)) { (void)batch; }
  };
  REQUIRE_THROWS_WITH(run(all_trials(0)), takt_test::containing("TrialOptions::steps"));
  REQUIRE_THROWS_WITH(run(all_trials(100'001)), takt_test::containing("100001"));
  REQUIRE_THROWS_WITH(run(all_trials(100'001)), takt_test::containing("1 to 100000"));
  TrialOptions options = all_trials();
  options.time_limit = std::chrono::seconds(-1);
  REQUIRE_THROWS_WITH(run(options), takt_test::containing("TrialOptions::time_limit"));
  options.time_limit = std::chrono::hours(25);
  REQUIRE_THROWS_WITH(run(options), takt_test::containing("86400"));
  options = all_trials();
  options.trials = 0;
  REQUIRE_THROWS_WITH(run(options), takt_test::containing("TrialOptions::trials is 0; use 1 to 100"));
  options = all_trials();
  options.warmup = -1;
  REQUIRE_THROWS_WITH(run(options), takt_test::containing("TrialOptions::warmup is -1; use 0 to 100"));
  options = all_trials();
  options.progress_steps = -1;
  REQUIRE_THROWS_WITH(run(options), takt_test::containing("TrialOptions::progress_steps is -1; use 0 to 100000"));
  options = all_trials();
  options.items = -1;
  REQUIRE_THROWS_AS(run(options), takt::Error);
  { takt::Scope after(takt::key("after an error")); }
  REQUIRE(takt_test::calls_of(session.snapshot(), "after an error") == 1);
}

TEST_CASE("Trials: only one of two concurrent loops runs trials, and none of a closed Session") {
  const VirtualTime time;
  Session session("trials", by_hand());
  OnePass<int> loader(1000);
  std::vector<int> inner(2);
  int entered = 0;
  for (auto&& batch : takt::trials(session, loader, all_trials())) {
    for (auto&& each : takt::trials(session, inner, all_trials())) { entered += 1 + each + batch * 0; }
    step();
  }
  REQUIRE(entered == 2 * 160);
  session.close();
  int count = 0;
  for (auto&& each : takt::trials(session, inner, all_trials())) { count += 1 + each; }
  REQUIRE(count == 2);
}
