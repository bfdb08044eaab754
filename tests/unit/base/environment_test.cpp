// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/environment.hpp"

#include <takt/session.hpp>

#include "process/process.hpp"

#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/mentions.hpp"
#include "support/scoped_env.hpp"

#include <chrono>
#include <string>
#include <vector>

using namespace takt;
using detail::ProcessEnvironment;
using detail::read_process_environment;
using support::CaughtErrors;
using support::ScopedEnvironment;
using takt_test::mentions;

namespace {

using Lines = std::vector<std::string>;

/// The list of all variables, as shown for an unknown one.
const std::string kKnown =
    "TAKT_CLOCK TAKT_COMMAND_LINE TAKT_CONNECT_MS TAKT_CSV_MB TAKT_DIR TAKT_DISABLE TAKT_EXIT_MS TAKT_FILES "
    "TAKT_GPU_RECORDS TAKT_HTML TAKT_JOURNAL TAKT_JOURNAL_MB TAKT_MEMORY_MB TAKT_PERIOD_MS TAKT_PROFILER_RANK "
    "TAKT_PROGRESS TAKT_PROMETHEUS_DIR TAKT_RANK "
    "TAKT_RANKS TAKT_RUN_ID TAKT_SAMPLE_MS TAKT_SIGTERM TAKT_TABLE TAKT_TENSORBOARD_DIR TAKT_TRACE TAKT_TRACE_EVENTS "
    "TAKT_TRIALS TAKT_TRIALS_COUNT TAKT_TRIALS_GO_ON TAKT_TRIALS_PROGRESS TAKT_TRIALS_SECONDS TAKT_TRIALS_STEPS "
    "TAKT_TRIALS_WARMUP TAKT_UNCAUGHT TAKT_WARMUP TAKT_WORLD_SIZE";

/// Returns all options that a variable can set, in one line.
std::string spell(const SessionOptions& o) {
  const std::vector<long long> numbers = {o.files,
                                          o.table,
                                          o.trace,
                                          o.progress,
                                          o.html,
                                          static_cast<long long>(o.trace_events),
                                          o.exit_timeout.count(),
                                          o.period.count(),
                                          o.background,
                                          o.warmup,
                                          static_cast<long long>(o.memory_bytes),
                                          o.rank.value_or(-1),
                                          o.world_size.value_or(-1),
                                          o.all_ranks,
                                          o.command_line,
                                          o.journal,
                                          static_cast<long long>(o.journal_bytes),
                                          static_cast<long long>(o.csv_bytes),
                                          o.gpu_records,
                                          o.sample_period.count(),
                                          o.end_on_sigterm,
                                          o.end_on_uncaught};
  std::string text = o.directory + "|" + o.run_id;
  for (const long long number : numbers) { text += "|" + std::to_string(number); }
  return text;
}

/// Returns the warnings for one value of a variable.
Lines complaints(const char* name, const std::string& value) {
  const ScopedEnvironment environment({{name, value}});
  const CaughtErrors caught;
  SessionOptions::from_env();
  read_process_environment();
  return caught.lines();
}

}  // namespace

TEST_CASE("an environment without variables keeps the defaults and causes no warning") {
  const ScopedEnvironment environment;
  const CaughtErrors caught;
  CHECK(spell(SessionOptions::from_env()) ==
        "takt-runs||1|1|0|0|0|1000000|2000|1000|1|10|33554432|-1|-1|0|1|1|268435456|268435456|256|0|0|1");
  CHECK_FALSE(read_process_environment().disabled);
  CHECK(read_process_environment().clock == detail::ClockChoice::automatic);
  CHECK(read_process_environment().profiler_rank == detail::kAllRanks);
  CHECK(caught.text().empty());
}

TEST_CASE("each variable sets only its corresponding option") {
  struct Case {
    const char* name;
    const char* value;
    void (*twin)(SessionOptions&);
  };
  const Case cases[] = {
      {"TAKT_DIR", "/scratch/me", [](SessionOptions& o) { o.directory = "/scratch/me"; }},
      {"TAKT_FILES", "0", [](SessionOptions& o) { o.files = false; }},
      {"TAKT_GPU_RECORDS", "700", [](SessionOptions& o) { o.gpu_records = 700; }},
      {"TAKT_HTML", "1", [](SessionOptions& o) { o.html = true; }},
      {"TAKT_JOURNAL", "0", [](SessionOptions& o) { o.journal = false; }},
      {"TAKT_JOURNAL_MB", "3", [](SessionOptions& o) { o.journal_bytes = 3U << 20U; }},
      {"TAKT_CSV_MB", "0", [](SessionOptions& o) { o.csv_bytes = 0; }},
      {"TAKT_SAMPLE_MS", "60000", [](SessionOptions& o) { o.sample_period = std::chrono::milliseconds(60'000); }},
      {"TAKT_SIGTERM", "1", [](SessionOptions& o) { o.end_on_sigterm = true; }},
      {"TAKT_UNCAUGHT", "0", [](SessionOptions& o) { o.end_on_uncaught = false; }},
      {"TAKT_TABLE", "0", [](SessionOptions& o) { o.table = false; }},
      {"TAKT_TRACE", "1", [](SessionOptions& o) { o.trace = true; }},
      {"TAKT_TRACE_EVENTS", "7", [](SessionOptions& o) { o.trace_events = 7; }},
      {"TAKT_EXIT_MS", "0", [](SessionOptions& o) { o.exit_timeout = std::chrono::milliseconds(0); }},
      {"TAKT_PROGRESS", "1", [](SessionOptions& o) { o.progress = true; }},
      {"TAKT_PERIOD_MS", "10", [](SessionOptions& o) { o.period = std::chrono::milliseconds(10); }},
      {"TAKT_WARMUP", "0", [](SessionOptions& o) { o.warmup = 0; }},
      {"TAKT_MEMORY_MB", "64", [](SessionOptions& o) { o.memory_bytes = 64U << 20U; }},
      {"TAKT_RUN_ID", "lr-sweep", [](SessionOptions& o) { o.run_id = "lr-sweep"; }},
      {"TAKT_RANK", "3", [](SessionOptions& o) { o.rank = 3; }},
      {"TAKT_WORLD_SIZE", "8", [](SessionOptions& o) { o.world_size = 8; }},
      {"TAKT_RANKS", "all", [](SessionOptions& o) { o.all_ranks = true; }},
      {"TAKT_COMMAND_LINE", "0", [](SessionOptions& o) { o.command_line = false; }},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    const ScopedEnvironment environment({{c.name, c.value}});
    const CaughtErrors caught;
    SessionOptions expected;
    c.twin(expected);
    CHECK(spell(SessionOptions::from_env()) == spell(expected));
    CHECK(spell(expected) != spell(SessionOptions()));
    CHECK(caught.text().empty());
  }
}

TEST_CASE("variables disable recording and choose the clock before a Session exists") {
  const CaughtErrors caught;
  {
    const ScopedEnvironment environment({{"TAKT_DISABLE", "1"}, {"TAKT_CLOCK", "tsc"}});
    CHECK(read_process_environment().disabled);
    CHECK(read_process_environment().clock == detail::ClockChoice::counter);
  }
  {
    const ScopedEnvironment environment({{"TAKT_CLOCK", "counter"}});
    CHECK(read_process_environment().clock == detail::ClockChoice::counter);
  }
  const ScopedEnvironment environment({{"TAKT_DISABLE", "0"}, {"TAKT_CLOCK", "monotonic"}});
  CHECK_FALSE(read_process_environment().disabled);
  CHECK(read_process_environment().clock == detail::ClockChoice::monotonic);
  CHECK(caught.text().empty());
}

TEST_CASE("a profiler window applies to one rank or to all") {
  for (const auto& [value, rank] : {std::pair("0", 0), std::pair("7", 7), std::pair("all", detail::kAllRanks)}) {
    const ScopedEnvironment environment({{"TAKT_PROFILER_RANK", value}});
    const CaughtErrors caught;
    CHECK(detail::profiler_rank() == rank);
    CHECK(caught.text().empty());
  }
}

TEST_CASE("a switch accepts the usual words in any case") {
  for (const char* const word : {"1", "true", "ON", "Yes"}) {
    const ScopedEnvironment environment({{"TAKT_TRACE", word}});
    CHECK(SessionOptions::from_env().trace);
  }
  for (const char* const word : {"0", "False", "off", "no"}) {
    const ScopedEnvironment environment({{"TAKT_FILES", word}});
    CHECK_FALSE(SessionOptions::from_env().files);
  }
}

TEST_CASE("an invalid value is reported with the valid ones and the default is kept") {
  const std::vector<std::pair<std::pair<const char*, const char*>, std::vector<std::string>>> cases = {
      {{"TAKT_EXIT_MS", "abc"}, {"TAKT_EXIT_MS=abc", "0", "2000"}},
      {{"TAKT_EXIT_MS", "-1"}, {"TAKT_EXIT_MS=-1", "0", "2000"}},
      {{"TAKT_EXIT_MS", "2s"}, {"TAKT_EXIT_MS=2s", "0", "2000"}},
      {{"TAKT_EXIT_MS", "2147483648"}, {"TAKT_EXIT_MS=2147483648", "0", "2147483647", "2000"}},
      {{"TAKT_PERIOD_MS", "9.5"}, {"TAKT_PERIOD_MS=9.5", "10", "1000"}},
      {{"TAKT_WARMUP", "1e1"}, {"TAKT_WARMUP=1e1", "0", "10"}},
      {{"TAKT_MEMORY_MB", "0"}, {"TAKT_MEMORY_MB=0", "1", "1048576", "32"}},
      {{"TAKT_MEMORY_MB", "1048577"}, {"TAKT_MEMORY_MB=1048577", "1", "1048576", "32"}},
      {{"TAKT_MEMORY_MB", "1G"}, {"TAKT_MEMORY_MB=1G", "1", "1048576", "32"}},
      {{"TAKT_TRACE_EVENTS", "lots"}, {"TAKT_TRACE_EVENTS=lots", "0", "1000000"}},
      {{"TAKT_RANK", "-1"}, {"TAKT_RANK=-1", "0", "launcher"}},
      {{"TAKT_WORLD_SIZE", "x"}, {"TAKT_WORLD_SIZE=x", "1", "launcher"}},
      {{"TAKT_RANKS", "some"}, {"TAKT_RANKS=some", "0", "all"}},
      {{"TAKT_FILES", "2"}, {"TAKT_FILES=2", "0", "1"}},
      {{"TAKT_SAMPLE_MS", "9"}, {"TAKT_SAMPLE_MS=9", "0", "10", "60000"}},
      {{"TAKT_SAMPLE_MS", "60001"}, {"TAKT_SAMPLE_MS=60001", "0", "10", "60000"}},
      {{"TAKT_SIGTERM", "term"}, {"TAKT_SIGTERM=term", "0", "1"}},
      {{"TAKT_CLOCK", "sundial"}, {"TAKT_CLOCK=sundial", "counter", "monotonic", "automatic"}},
      {{"TAKT_PROFILER_RANK", "some"}, {"TAKT_PROFILER_RANK=some", "all"}},
      {{"TAKT_PROFILER_RANK", "-1"}, {"TAKT_PROFILER_RANK=-1", "all"}},
      {{"TAKT_DISABLE", "maybe"}, {"TAKT_DISABLE=maybe", "0", "1"}},
  };
  for (const auto& [variable, facts] : cases) {
    const Lines reported = complaints(variable.first, variable.second);
    REQUIRE(reported.size() == 1);
    CHECK(mentions(reported[0], facts));
    const ScopedEnvironment environment({{variable.first, variable.second}});
    CHECK(spell(SessionOptions::from_env()) == spell(SessionOptions()));
  }
}

TEST_CASE("a range includes its ends") {
  const ScopedEnvironment environment({{"TAKT_MEMORY_MB", "1048576"},
                                       {"TAKT_RANK", "2147483646"},
                                       {"TAKT_WORLD_SIZE", "2147483647"},
                                       {"TAKT_TRACE_EVENTS", "1000000000000"},
                                       {"TAKT_EXIT_MS", "2147483647"}});
  const CaughtErrors caught;
  const SessionOptions options = SessionOptions::from_env();
  CHECK(options.memory_bytes == std::size_t{1} << 40U);
  CHECK(options.rank == 2147483646);
  CHECK(options.world_size == 2147483647);
  CHECK(options.trace_events == 1'000'000'000'000U);
  CHECK(options.exit_timeout == std::chrono::milliseconds(2147483647));
  CHECK(caught.text().empty());
  CHECK(complaints("TAKT_PERIOD_MS", "9").size() == 1);
  CHECK(complaints("TAKT_MEMORY_MB", "1").empty());
  CHECK(complaints("TAKT_RANK", "2147483647").size() == 1);
}

TEST_CASE("an empty value counts as unset") {
  for (const char* const name : {"TAKT_DIR", "TAKT_EXIT_MS", "TAKT_FILES", "TAKT_CLOCK", "TAKT_NO_SUCH_THING"}) {
    CHECK(complaints(name, "").empty());
    const ScopedEnvironment environment({{name, ""}});
    CHECK(spell(SessionOptions::from_env()) == spell(SessionOptions()));
  }
}

TEST_CASE("each variable causes at most one warning") {
  const ScopedEnvironment environment({{"TAKT_EXIT_MS", "abc"}, {"TAKT_WARMUP", "abc"}, {"TAKT_CLOK", "tsc"}});
  const CaughtErrors caught;
  for (int session = 0; session < 3; ++session) { SessionOptions::from_env(); }
  CHECK(caught.lines().size() == 3);
}

TEST_CASE("an unknown variable is reported with the nearest known name but without its value") {
  const auto complaint = [](const char* name, const char* value) {
    const Lines reported = complaints(name, value);
    CHECK(reported.size() == 1);
    CHECK_FALSE(mentions(reported.at(0), {value}));
    return reported.at(0);
  };
  CHECK(mentions(complaint("TAKT_EXITMS", "password"), {"TAKT_EXITMS", "TAKT_EXIT_MS", kKnown}));
  CHECK(mentions(complaint("TAKT_MEMORY", "64"), {"TAKT_MEMORY", "TAKT_MEMORY_MB", kKnown}));
  CHECK(mentions(complaint("TAKT_DISABLED", "1"), {"TAKT_DISABLED", "TAKT_DISABLE", kKnown}));
  CHECK(mentions(complaint("TAKT_TENSORBORD_DIR", "logs"), {"TAKT_TENSORBORD_DIR", "TAKT_TENSORBOARD_DIR", kKnown}));
  CHECK(complaints("TAKT_TENSORBOARD_DIR", "logs").empty());
  CHECK(complaints("TAKT_", "1").size() == 1);
  CHECK(complaints("TAKTICS", "1").empty());
}

TEST_CASE("variables of the build, the benchmarks and the examples are ignored") {
  for (const char* const name :
       {"TAKT_GPU_ARCH", "TAKT_WITH_CUDA", "TAKT_ENABLED", "TAKT_BENCH_N", "TAKT_BENCHMARKS", "TAKT_EXAMPLE_STEPS"}) {
    CHECK(complaints(name, "1").empty());
  }
  CHECK(complaints("TAKT_ENABLED_", "1").size() == 1);
}

TEST_CASE("many unknown variables share one line, and long names and values are cut") {
  ScopedEnvironment environment;
  for (int index = 0; index < 20; ++index) { environment.set(("TAKT_NO_" + std::to_string(index)).c_str(), "1"); }
  environment.set(("TAKT_AA" + std::string(100'000, 'A')).c_str(), "1");
  environment.set("TAKT_WARMUP", std::string(100'000, 'y'));
  const CaughtErrors caught;
  SessionOptions::from_env();
  REQUIRE(caught.lines().size() == 2);
  CHECK(mentions(caught.lines()[0], {"TAKT_WARMUP=" + std::string(64, 'y') + "...", "10"}));
  CHECK(mentions(caught.lines()[1], {"TAKT_" + std::string(59, 'A'), "TAKT_NO_0", "13", "TAKT_CLOCK"}));
}

TEST_CASE("a null environment counts as empty") {
  const ScopedEnvironment environment;
  const CaughtErrors caught;
  ::clearenv();
  CHECK(spell(SessionOptions::from_env()) == spell(SessionOptions()));
  CHECK(caught.text().empty());
}
