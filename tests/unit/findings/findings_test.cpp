// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "findings/findings.hpp"

#include <takt/measurement.hpp>

#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/mentions.hpp"
#include "support/run_builder.hpp"
#include "support/sentence_numbers.hpp"
#include "support/simulated_training.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

using takt::Finding;
using takt::Kind;
using takt::detail::Conclusions;
using takt::detail::conclusions_of;
using namespace takt_test;

namespace {

constexpr std::int64_t kFindingsSecond = 1'000'000'000;

std::string sentences_of(const Conclusions& said) {
  std::string all;
  for (const Finding& each : said.findings) { all += each.what + ": " + each.sentence + "\n"; }
  return all;
}

/// Returns the reason why a rule lacks data; empty if it has enough.
std::string missing_for(const std::string& what, const takt::Snapshot& run) {
  for (const takt::SkippedRule& each : conclusions_of(run).skipped_rules) {
    if (each.what == what) { return each.why; }
  }
  return "";
}

double value_of(const Finding& finding, const std::string& name) {
  for (const takt::Evidence& each : finding.evidence) {
    if (each.name == name) { return each.value; }
  }
  FAIL("there is no " << name);
  return 0;
}

/// A run of steps of about 100 ms.
struct Training : RunBuilder {
  explicit Training(const StepNoise& noise = {}) : source(noise, 20260301) { run.process.waited_ns = 0; }

  /// \param io_ms IO time in each step of 100 ms.
  Training& steps(int count, double io_ms = 5) {
    for (int at = 0; at < count; ++at) { one_step(io_ms); }
    return *this;
  }
  takt::Row& one_step(double io_ms = 5, double save_ms = 0) {
    const double factor = source.next();
    return step({{io, io_ms * factor}, {forward, 30 * factor}, {backward, (70 - io_ms) * factor}, {save, save_ms}});
  }

  NoiseSource source;
  std::uint32_t io = region("IO", Kind::io);
  std::uint32_t forward = region("Forward");
  std::uint32_t backward = region("Backward");
  std::uint32_t save = region("Checkpoint", Kind::io);
};

/// An expected finding: its rule and the names in its sentence.
struct Reported {
  const char* rule;
  std::vector<std::string> facts;
};

struct Case {
  const char* what;
  std::function<takt::Snapshot()> run;
  std::vector<Reported> reported;
};

void findings_check(const std::vector<Case>& cases) {
  for (const Case& each : cases) {
    INFO(each.what);
    const Conclusions said = conclusions_of(each.run());
    INFO(sentences_of(said));
    CHECK(said.findings.size() == each.reported.size());
    for (std::size_t at = 0; at < std::min(said.findings.size(), each.reported.size()); ++at) {
      CHECK(said.findings[at].what == each.reported[at].rule);
      CHECK(mentions(said.findings[at].sentence, each.reported[at].facts));
      CHECK(numbers_without_evidence(said.findings[at]) == std::string());
    }
  }
}

/// Returns steps with a region of 30 ms, before the Batch or in it.
takt::Snapshot with_region(const char* name, Kind kind, bool in_front, int ranks = 1) {
  Training run;
  run.run.run.world_size = ranks;
  const std::uint32_t path = in_front ? run.beside(name, kind) : run.region(name, kind);
  for (int step = 0; step < 1000; ++step) {
    const double factor = run.source.next();
    if (in_front) { run.pause(path, 30 * factor); }
    run.step({{run.forward, 70 * factor}, {path, in_front ? 0 : 30 * factor}});
  }
  return run.finish();
}

/// Returns a run whose streams wait in each step while the host does not.
takt::Snapshot on_streams(const takt::Key& wait, double wait_ms) {
  Training run;
  const std::uint32_t path = run.region(wait.name(), Kind::wait);
  run.run.paths[run.forward].device.add(1);
  for (int step = 0; step < 1000; ++step) {
    const double factor = run.source.next();
    takt::Row& row = run.step({{run.io, 60 * factor}, {run.forward, 40 * factor}, {path, 0.001}});
    row.cells.back().device_ns = static_cast<std::int64_t>(wait_ms * factor * 1e6);
  }
  return run.finish();
}

takt::Snapshot with_process(const takt::ProcessTimes& process) {
  Training run;
  run.run.process = process;
  return run.steps(1000).finish();
}

/// Returns a run in which long stretches of steps are fast or slow.
takt::Snapshot slow_waves() {
  Training run;
  for (int step = 0; step < 400; ++step) { run.step({{run.forward, 100 + 20 * std::sin(step / 70.0)}}); }
  return run.finish();
}

takt::Snapshot healthy(const StepNoise& noise, int steps = 2000) {
  SimulatedTraining training;
  training.noise = noise;
  training.steps = steps;
  return simulate_training(training, 1);
}

std::vector<Case> bound_cases() {
  return {
      {"input",
       [] { return Training().steps(2000, 41).finish(); },
       {{"input_bound", {"IO", "41 %", "59.1 ms", "100 ms"}}}},
      {"input in front of the Batch",
       [] { return with_region("Load", Kind::io, true); },
       {{"input_bound", {"Load", "30 %", "70.3 ms", "100 ms"}}}},
      {"output",
       [] { return with_region("SaveLog", Kind::io, false); },
       {{"output_bound", {"SaveLog", "30 %", "70.3 ms", "100 ms"}}}},
      {"communication",
       [] { return with_region("Comm", Kind::comm, false); },
       {{"communication_bound", {"Comm", "30 %", "70.3 ms", "100 ms"}}}},
      {"streams that wait for IO",
       [] { return on_streams(takt::IOWait, 25); },
       {{"input_bound", {"IO", "25 %", "75.3 ms", "100 ms"}}}},
      {"streams that wait for communication",
       [] { return on_streams(takt::CommWait, 25); },
       {{"communication_bound", {"communication", "25 %", "75.3 ms", "100 ms"}}}},
  };
}

std::vector<Case> slow_step_cases() {
  const auto saves = [](auto is_slow) {
    return [is_slow] {
      Training run;
      for (int step = 0; step < 2000; ++step) { run.one_step(5, is_slow(step) ? 700 : 0); }
      return run.finish();
    };
  };
  return {
      {"at equal distances",
       saves([](int step) { return step % 100 == 99; }),
       {{"slow_steps", {"100th", "8.0 ×", "Checkpoint", "6.5 %"}}}},
      {"about so",
       saves([](int step) { return step % 100 == 97 + step / 100 % 3; }),
       {{"slow_steps", {"101st", "8.0 ×", "Checkpoint", "6.5 %"}}}},
      {"by chance",
       saves([](int step) { return step > 20 && step * step % 211 < 2; }),
       {{"slow_steps", {"27", "2 000", "8.0 ×", "Checkpoint", "8.6 %"}}}},
      {"one",
       [] {
         Training run;
         for (int step = 0; step < 300; ++step) { run.one_step(step == 200 ? 9'000 : 5); }
         return run.finish();
       },
       {{"slow_steps", {"200", "87 ×", "IO", "22 %"}}}},
      {"by chance, and nobody knows whether it had a processor",
       [] {
         Training run;
         run.run.process.waited_ns.reset();
         for (int step = 0; step < 2000; ++step) { run.one_step(5, step > 20 && step * step % 211 < 2 ? 700 : 0); }
         return run.finish();
       },
       {{"slow_steps", {"27", "Checkpoint", "unknown"}}}},
      {"at equal distances, on a busy machine",
       [] {
         Training run;
         run.run.process.waited_ns = 80 * kFindingsSecond;
         for (int step = 0; step < 2000; ++step) { run.one_step(5, step % 100 == 99 ? 700 : 0); }
         return run.finish();
       },
       {{"processors_busy", {"80.0 s"}}, {"slow_steps", {"100th", "Checkpoint"}}}},
      {"behind each Epoch",
       [] {
         Training run;
         for (int step = 0; step < 2000; ++step) {
           if (step % 173 == 172) { run.break_pace(); }
           run.one_step(step % 173 == 172 ? 900 : 5);
         }
         return run.finish();
       },
       {{"slow_steps", {"Epoch", "9.4 ×", "IO", "4.4 %"}}}},
  };
}

std::vector<Case> change_cases() {
  return {
      {"longer",
       [] {
         SimulatedTraining training;
         training.change = 0.06;
         training.steps = 60'000;
         return simulate_training(training, 1);
       },
       {{"change_point", {"36 000", "+6.0 %", "IO", "2.3 %"}}}},
      {"less long",
       [] {
         SimulatedTraining training;
         training.io = 0.09;
         training.change = -0.05;
         return simulate_training(training, 1);
       },
       {{"change_point", {"1 200", "-5.0 %", "IO"}}}},
      {"longer, from the midst of what is looked at together",
       [] {
         Training run;
         run.steps(276);
         for (int step = 276; step < 600; ++step) { run.step({{run.io, 5}, {run.forward, 50}, {run.backward, 65}}); }
         return run.finish();
       },
       {{"change_point", {"270", "+19 %", "Forward", "9.4 %"}}}},
      {"longer for a while",
       [] {
         Training run;
         run.steps(800);
         for (int step = 0; step < 400; ++step) {
           const double factor = run.source.next();
           run.step({{run.io, 25 * factor}, {run.forward, 30 * factor}, {run.backward, 65 * factor}});
         }
         return run.steps(800).finish();
       },
       {{"change_point", {"800", "+20 %", "1 200", "IO", "3.8 %"}}}},
      {"evenly",
       [] {
         SimulatedTraining training;
         training.drift = 0.1;
         return simulate_training(training, 1);
       },
       {{"drift", {"+5.0 %", "1 000", "+9.8 %", "IO", "4.7 %"}}}},
  };
}

std::vector<Case> outside_cases() {
  return {
      {"warm-up",
       [] {
         Training run;
         for (int step = 0; step < 12; ++step) { run.one_step(350); }
         return run.steps(300).finish();
       },
       {{"warm_up", {"12", "3.48 s", "10 %"}}}},
      {"start-up and end",
       [] {
         Training run;
         run.idle(30'000);
         run.steps(400).idle(25'000);
         return run.finish();
       },
       {{"start_up", {"30.0 s", "32 %"}}, {"after_steps", {"25.0 s", "26 %"}}}},
      {"between steps, in regions",
       [] {
         Training run;
         const std::uint32_t validation = run.beside("Validation");
         const std::uint32_t generate = run.beside("Generate");
         for (int step = 0; step < 400; ++step) {
           if (step % 20 == 19) {
             run.pause(validation, 1'000);
             run.pause(generate, 1'200);
             run.break_pace();
           }
           run.one_step();
         }
         return run.finish();
       },
       {{"between_steps", {"211 ms", "101 ms", "Generate", "Validation", "52 %"}}}},
      {"between steps, in none",
       [] {
         Training run;
         for (int step = 0; step < 400; ++step) {
           run.wait(40);
           run.one_step();
         }
         return run.finish();
       },
       {{"between_steps", {"140 ms", "101 ms", "28 %"}}}},
  };
}

std::vector<Case> halt_cases() {
  takt::ProcessTimes waits;
  waits.waited_ns = 30 * kFindingsSecond;
  waits.cpu_ns = 70 * kFindingsSecond;
  waits.processors = 8;
  takt::ProcessTimes fights = waits;
  fights.cpu_ns = 780 * kFindingsSecond;
  takt::ProcessTimes stopped;
  stopped.waited_ns = 0;
  stopped.stopped_ns = 5 * kFindingsSecond;
  takt::ProcessTimes slept;
  slept.waited_ns = 0;
  slept.suspended_ns = 40 * kFindingsSecond;
  return {
      {"others have the processors", [=] { return with_process(waits); }, {{"processors_busy", {"30.0 s", "100 s"}}}},
      {"its own threads have them",
       [=] { return with_process(fights); },
       {{"oversubscribed", {"7.8", "8", "30.0 s", "100 s"}}}},
      {"stopped", [=] { return with_process(stopped); }, {{"stopped", {"5.00 s", "5.0 %"}}}},
      {"slept", [=] { return with_process(slept); }, {{"slept", {"40.0 s"}}}},
  };
}

std::vector<Case> timing_cases() {
  return {
      {"never ended",
       [] {
         Training run;
         run.run.losses.push_back({"never_ended",
                                   "em\x1b"
                                   "bed",
                                   1});
         return run.steps(1000, 41).finish();
       },
       {{"never_ended", {"em?bed", "1"}}, {"input_bound", {"IO", "41 %", "59.2 ms", "100 ms"}}}},
      {"more keys than are told",
       [] {
         Training run;
         for (const char* const key : {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}) {
           run.run.losses.push_back({"never_ended", key, 2});
         }
         return run.steps(1000).finish();
       },
       {{"never_ended", {"a", "2"}},
        {"never_ended", {"b", "2"}},
        {"never_ended", {"c", "2"}},
        {"never_ended", {"d", "2"}},
        {"never_ended", {"e", "2"}},
        {"never_ended", {"f", "2"}},
        {"never_ended", {"g", "2"}},
        {"never_ended", {"h", "2"}},
        {"never_ended", {"2"}}}},
      {"lost",
       [] {
         Training run;
         run.run.losses.push_back({"rows_dropped", "", 50});
         run.run.paths[run.forward].device_lost = 3;
         return run.steps(1000).finish();
       },
       {{"lost", {"50", "1 000", "5.0 %"}}, {"lost", {"3 of 3", "100 %"}}}},
      {"own cost",
       [] {
         Training run;
         run.run.overhead_ns = 4 * kFindingsSecond;
         run.run.clock.region_cost_ns = 1e6;
         return run.steps(1000).finish();
       },
       {{"own_cost", {"4.0 %", "Epoch/Batch", "1 000", "100 ms", "every(n)"}}}},
      {"own cost of threads",
       [] {
         Training run;
         run.run.overhead_ns = 4 * kFindingsSecond;
         run.run.clock.region_cost_ns = 100;
         return run.steps(1000).finish();
       },
       {{"own_cost", {"4.0 %", "400 us", "TAKT_PERIOD_MS"}}}},
      {"own cost of a Session that waits for a disk",
       [] {
         Training run;
         run.run.overhead_ns = 4 * kFindingsSecond;
         run.run.process.blocked_ns = 3 * kFindingsSecond;
         run.run.clock.region_cost_ns = 100;
         return run.steps(1000).finish();
       },
       {{"own_cost", {"4.0 %", "3.00 s", "constructor", "TAKT_DIR"}}}},
      {"a short run without a processor",
       [] {
         Training run;
         run.run.process.waited_ns = kFindingsSecond / 5;
         return run.steps(5).finish();
       },
       {{"processors_busy", {"200 ms"}}}},
      {"own cost of a run that is mostly its start and end",
       [] {
         Training run;
         takt::Snapshot brief = run.steps(1000).finish();
         brief.wall_ns = kFindingsSecond - 1;
         brief.overhead_ns = brief.uncovered_ns = brief.wall_ns / 2;
         return brief;
       },
       {}},
      {"a function is measured in front of the steps, behind them, and between two",
       [] {
         Training run;
         takt::Snapshot measured = run.steps(1000).finish();
         measured.wall_ns *= 2;
         measured.measurements.push_back(std::make_shared<const takt::Measurement>());
         return measured;
       },
       {}},
      {"in no region",
       [] {
         Training run;
         run.run.uncovered_ns = 45 * kFindingsSecond;
         return run.steps(1000).finish();
       },
       {{"uncovered", {"45.0 s", "100 s", "45 %"}}}},
  };
}

/// A run for which a rule is skipped, and the names in the reason.
struct Abstained {
  const char* what;
  const char* rule;
  std::function<takt::Snapshot()> run;
  std::vector<std::string> facts;
};

std::vector<Abstained> abstained_cases() {
  const auto steps = [](int count) { return [count] { return Training().steps(count).finish(); }; };
  return {
      {"no region loads", "input_bound", [] { return with_region("Comm", Kind::comm, false); }, {"kind io"}},
      {"one rank of many communicates",
       "communication_bound",
       [] { return with_region("Comm", Kind::comm, false, 8); },
       {"waiting", "takt report"}},
      {"streams work", "input_bound", [] { return on_streams(takt::CommWait, 1); }, {"streams", "IOWait"}},
      {"steps waited for a processor",
       "slow_steps",
       [] {
         Training run;
         run.run.process.waited_ns = 10 * kFindingsSecond;
         for (int step = 0; step < 2000; ++step) { run.one_step(5, step > 20 && step * step % 211 < 2 ? 700 : 0); }
         return run.finish();
       },
       {"18.9 s", "10.0 s", "processor"}},
      {"workers run the Batches",
       "uncovered",
       [] {
         Training on_workers;
         on_workers.run.uncovered_ns = 95 * kFindingsSecond;
         return on_workers.steps(1000).finish();
       },
       {"thread", "Session"}},
      {"steps are few", "steps", steps(20), {"10", "32"}},
      {"no step ended", "steps", steps(0), {"Batch"}},
      {"nothing has a history", "steps", [] { return takt::Snapshot(); }, {"history"}},
      {"steps are few for a change", "change_point", steps(100), {"90", "240"}},
      {"steps are few for a drift", "drift", steps(100), {"90", "240"}},
      {"steps are like their neighbours", "change_point", slow_waves, {"autocorrelated"}},
      {"the system does not tell", "processors_busy", [] { return with_process({}); }, {"Session", "processor"}},
      {"calls are sampled",
       "input_bound",
       [] {
         Training sampled;
         sampled.run.paths[sampled.io].skipped = 900;
         return sampled.steps(1000, 40).finish();
       },
       {"IO"}},
  };
}

}  // namespace

TEST_CASE("Findings: bottlenecks of a step") { findings_check(bound_cases()); }

TEST_CASE("Findings: slow steps") { findings_check(slow_step_cases()); }

TEST_CASE("Findings: changes over time") { findings_check(change_cases()); }

TEST_CASE("Findings: the interval of a change's cost contains the true cost") {
  int held = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SimulatedTraining training;
    training.change = 0.1;
    training.steps = 1000;
    training.noise = {0.01, 0};
    training.region_scatter = 0.01;
    training.change_at = 0.63;  // no window starts there
    const takt::Snapshot run = simulate_training(training, seed);
    const Conclusions said = conclusions_of(run);
    REQUIRE(said.findings.size() == 1);
    const takt::Cost& cost = *said.findings[0].cost;
    constexpr double kTrue = 370 * 10e6;  // steps that take 10 ms longer
    held += cost.low_ns <= kTrue && kTrue <= cost.high_ns ? 1 : 0;
  }
  CHECK(held >= 35);
}

TEST_CASE("Findings: shares refer to the whole run even if the journal has an earlier duration") {
  SimulatedTraining training;
  training.change = 0.06;
  training.steps = 10'000;
  takt::Snapshot run = simulate_training(training, 1);
  run.wall_ns /= 100;
  const Conclusions said = conclusions_of(run);
  REQUIRE(said.findings.size() == 1);
  CHECK_THAT(said.findings[0].cost->share, Catch::Matchers::WithinAbs(0.023, 0.003));
}

TEST_CASE("Findings: time outside steps") { findings_check(outside_cases()); }

TEST_CASE("Findings: a process that waits to run") { findings_check(halt_cases()); }

TEST_CASE("Findings: problems of the timing itself") { findings_check(timing_cases()); }

TEST_CASE("Findings: none if nothing is wrong") {
  findings_check({
      {"even", [] { return healthy({0.01}); }, {}},
      {"uneven", [] { return healthy({0.2}); }, {}},
      {"alike neighbours",
       [] {
         return healthy({0.05, 0.9});
       },
       {}},
      {"bursts",
       [] {
         return healthy({0.05, 0.3, 1});
       },
       {}},
      {"short", [] { return healthy({0.05}, 60); }, {}},
      {"shorter than warm-up", [] { return healthy({0.05}, 5); }, {}},
      {"no step", [] { return Training().finish(); }, {}},
      {"a checkpoint now and then",
       [] {
         SimulatedTraining training;
         training.save_every = 500;
         training.save_ms = 400;
         return simulate_training(training, 1);
       },
       {}},
      {"validation each Epoch",
       [] {
         SimulatedTraining training;
         training.validate_every = 400;
         training.validate_ms = 4'000;
         return simulate_training(training, 1);
       },
       {}},
      {"host time beside streams", [] { return on_streams(takt::IOWait, 2); }, {}},
      {"warm-up as usual",
       [] {
         SimulatedTraining training;
         training.warmup_longer = 2;
         return simulate_training(training, 1);
       },
       {}},
      {"figures at their edges",
       [] {
         Training run;
         run.run.process = {};
         run.run.uncovered_ns = -1;
         run.run.losses.push_back({"never_begun", "", 7});
         return run.steps(40).finish();
       },
       {}},
  });
}

TEST_CASE("Findings: a missing phase does not count as zero") {
  CHECK(missing_for("input_bound", Training().steps(1000).finish()).empty());
  for (const Abstained& each : abstained_cases()) {
    INFO(each.what);
    CHECK(mentions(missing_for(each.rule, each.run()), each.facts));
  }
}

TEST_CASE("Findings: the golden text has each rule and each reason to skip it") {
  std::string text;
  for (const auto& cases :
       {bound_cases(), slow_step_cases(), change_cases(), outside_cases(), halt_cases(), timing_cases()}) {
    for (const Case& each : cases) {
      if (!each.reported.empty()) {
        text += std::string("# ") + each.what + "\n" + sentences_of(conclusions_of(each.run()));
      }
    }
  }
  for (const Abstained& each : abstained_cases()) {
    text +=
        std::string("# nothing, as ") + each.what + "\n" + each.rule + ": " + missing_for(each.rule, each.run()) + "\n";
  }
  check_golden("findings.txt", text);
}

TEST_CASE("Findings: the cost is the possible gain, with an interval that contains it") {
  const Conclusions said = conclusions_of(Training({0.1, 0.6}).steps(2000, 41).finish());
  REQUIRE(said.findings.size() == 1);
  const Finding& finding = said.findings[0];
  CHECK(finding.where == "Epoch/Batch/IO");
  CHECK(std::fabs(value_of(finding, "share_of_step") - 0.41) < 0.005);
  REQUIRE(finding.cost);
  CHECK(finding.cost->low_ns < finding.cost->ns);
  CHECK(finding.cost->ns < finding.cost->high_ns);
  CHECK(std::fabs(finding.cost->share - 0.41) < 0.01);
}
