// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/results_file.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "measure/measured_times.hpp"
#include "measure/trial_rate.hpp"

#include <takt/error.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <utility>

#include <sys/stat.h>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

constexpr const char* kResultsName = "results.json";
constexpr const char* kResultsSchema = "takt-results/1";
constexpr std::size_t kMaxResultsBytes = 32U << 20U;
constexpr std::size_t kMaxResults = 1'000;

std::uint32_t slowdown_bits_of(const JsonFields& object, const char* name) {
  return static_cast<std::uint32_t>(object.count(name) & 0xFFU);
}

MeasuredTimes read_measured_times(const JsonFields& json) {
  MeasuredTimes times;
  times.n = json.count("n");
  if (times.n == 0) { return {}; }
  times.mean_ns = json.amount("mean_ns");
  times.stdev_ns = json.amount("stdev_ns");
  times.min_ns = json.amount("min_ns");
  times.max_ns = json.amount("max_ns");
  times.median_ns = json.amount("median_ns");
  times.low_ns = json.amount("low_ns");
  times.high_ns = json.amount("high_ns");
  times.has_interval = times.low_ns > 0 && times.low_ns <= times.median_ns && times.median_ns <= times.high_ns;
  constexpr const char* kNames[] = {"p90_ns", "p95_ns", "p99_ns", "p999_ns"};
  for (std::size_t at = 0; at < times.percentiles_ns.size(); ++at) {
    times.percentiles_ns[at] = json.known_amount(kNames[at]);
  }
  return times;
}

MeasuredNotes read_measured_notes(const JsonFields& json) {
  MeasuredNotes notes;
  notes.slowed_runs = json.count("slowed_runs");
  notes.slowdowns = slowdown_bits_of(json, "slowdowns");
  notes.min_clock_mhz = json.known_count("least_clock_mhz");
  notes.max_clock_mhz = json.known_count("most_clock_mhz");
  notes.switched_runs = json.count("switched_runs");
  notes.others_busy = std::min(json.known_amount("others_busy"), std::optional(1.0));
  return notes;
}

std::vector<MeasuredSensor> read_measured_sensors(const JsonFields& json) {
  constexpr std::size_t kMaxSensors = 1'000;
  std::vector<MeasuredSensor> sensors;
  for (std::size_t at = 0; at < std::min(json.size(), kMaxSensors); ++at) {
    const JsonFields each = json.element(at);
    MeasuredSensor sensor;
    sensor.name = each.text("name");
    sensor.samples = each.count("samples");
    sensor.memory_bytes = each.known_count("memory_bytes");
    sensor.joules = each.known_amount("joules");
    sensor.error_joules = each.amount("error_joules");
    sensor.no_energy = each.text("no_energy");
    sensors.push_back(std::move(sensor));
  }
  return sensors;
}

MeasuredFeatures read_features(const JsonFields& json) {
  MeasuredFeatures features;
  for (std::size_t at = 0; at < std::min(json.size(), detail::kMaxFeatures); ++at) {
    const std::string name = json.element(at).text("name");
    const std::optional<double> value = json.element(at).known_number("value");
    if (detail::is_feature_name(name) && value) { features.emplace_back(name, *value); }
  }
  return features;
}

MeasureEnd read_end(const std::string& word) {
  for (const MeasureEnd each : {MeasureEnd::interval, MeasureEnd::seconds, MeasureEnd::max_runs}) {
    if (word == to_string(each)) { return each; }
  }
  return MeasureEnd::runs;
}

Measurement read_measurement(const JsonFields& json) {
  Measurement measurement;
  measurement.name = json.text("name");
  measurement.features = read_features(json.member("features"));
  measurement.host = read_measured_times(json.member("host"));
  measurement.stream = read_measured_times(json.member("stream"));
  measurement.first_ns = std::max<std::int64_t>(json.time("first_ns"), 0);
  measurement.items = std::max<std::int64_t>(json.time("items"), 1);
  measurement.warmup = json.count("warmup");
  measurement.end = read_end(json.text("end"));
  measurement.took_ns = std::max<std::int64_t>(json.time("took_ns"), 0);
  measurement.failed_waits = json.count("failed_waits");
  measurement.memory_bytes = json.known_count("memory_bytes");
  measurement.memory_of = json.text("memory_of");
  measurement.mig_device = json.member("mig").text("device");
  measurement.host_peak_bytes = json.known_count("host_peak_bytes");
  measurement.joules = json.known_amount("joules");
  measurement.error_joules = json.amount("error_joules");
  measurement.energy_of = json.text("energy_of");
  measurement.no_energy = json.text("no_energy");
  measurement.notes = read_measured_notes(json.member("notes"));
  measurement.sensors = read_measured_sensors(json.member("meters"));
  measurement.runs_left_out = measurement.host.n;
  return measurement;
}

}  // namespace

Measurements parse_results(std::string_view text, std::string& error) {
  const JsonFields document = JsonFields::parse(text, "runs");  // single runs take the most space
  const JsonFields list = document.member("measurements");
  if (document.text("schema") != kResultsSchema || !list.is_list()) {
    error = std::string("is not a document of schema ") + kResultsSchema +
            "; it is damaged, or was written by a newer Takt; use the newer takt command";
    return {};
  }
  Measurements measurements;
  for (std::size_t at = 0; at < std::min(list.size(), kMaxResults); ++at) {
    Measurement measurement = read_measurement(list.element(at));
    if (measurement.name.empty() || measurement.host.n == 0) { continue; }
    measurements.push_back(std::make_shared<const Measurement>(std::move(measurement)));
  }
  return measurements;
}

Measurements read_results(const RankDirectory& directory, std::string& error) {
  std::string text;
  if (!directory.open()->read_whole(kResultsName, kMaxResultsBytes, text)) {
    if (errno != ENOENT) { error = "cannot be read: " + detail::reason_of(errno); }
    return {};
  }
  return parse_results(text, error);
}

namespace {

/// Returns the numbers in "rank-<rank>-<attempt>-<pid>" as attempt, inverted rank, pid: larger ones count first.
std::array<std::uint64_t, 3> place_of_rank(const std::string& name) {
  std::array<std::uint64_t, 3> numbers = {};
  const char* at = name.data();
  const char* const end = at + name.size();
  for (std::uint64_t& each : numbers) {
    at = std::find_if(at, end, [](char c) { return c >= '0' && c <= '9'; });
    at = std::from_chars(at, end, each).ptr;
  }
  return {numbers[1], ~numbers[0], numbers[2]};
}

}  // namespace

RankDirectory rank_with(const char* file, const std::vector<RankDirectory>& directories) {
  std::vector<RankDirectory> found;
  for (const RankDirectory& each : directories) {
    struct stat status = {};
    if (each.open()->look(file, status)) { found.push_back(each); }
  }
  if (found.empty()) {
    throw Error(detail::format("no {} in {}: this run has no measurements of models", file,
                               directories.empty() ? "this run" : detail::printable(directories.front().path())));
  }
  std::stable_sort(found.begin(), found.end(), [](const RankDirectory& a, const RankDirectory& b) {
    return place_of_rank(a.name()) > place_of_rank(b.name());
  });
  if (found.size() > 1) {
    detail::print(stderr,
                  "takt: using {} of {}, one of {} ranks' directories that have it; name another one to use it\n", file,
                  detail::printable(found.front().name()), found.size());
  }
  return found.front();
}

namespace {

constexpr const char* kTrialsName = "trials.json";
constexpr const char* kTrialsSchema = "takt-trials/1";
constexpr std::size_t kMaxTrialsBytes = 1U << 20U;
constexpr std::size_t kMaxTrials = 1'000;  // of a kind

TrialRate rate_of(const JsonFields& kind) {
  TrialRate rate;
  rate.trials = kind.count("trials");
  rate.steps = kind.count("steps");
  rate.items = kind.count("items");
  rate.ns = kind.count("ns");
  rate.per_s = kind.amount("per_s");
  const TrialInterval interval = {kind.amount("low"), kind.amount("high")};
  if (rate.trials != 0 && interval.low > 0 && interval.low <= rate.per_s && rate.per_s <= interval.high) {
    rate.interval = interval;
  }
  rate.over_trials = kind.text("over") == "trials";
  rate.n = kind.count("n");
  rate.wait_ns = kind.count("wait_ns");
  rate.copy_ns = kind.count("copy_ns");
  rate.copies_count = kind.flag("copies_count");
  rate.begun_again = kind.count("begun_again");
  rate.left_out_steps = kind.count("left_out_steps");
  rate.left_out_ns = kind.count("left_out_ns");
  rate.begin_unix_ns = kind.time("begin_unix_ns");
  rate.end_unix_ns = kind.time("end_unix_ns");
  const JsonFields each = kind.member("each");
  for (std::size_t at = 0; at < std::min(each.size(), kMaxTrials); ++at) {
    const JsonFields one = each.element(at);
    rate.each.push_back({one.count("steps"), one.count("items"), one.count("ns"), one.amount("per_s")});
  }
  return rate;
}

void read_kinds(const JsonFields& document, TrialResults& results) {
  const JsonFields kinds = document.member("kinds");
  for (std::size_t at = 0; at < kinds.size(); ++at) {
    const JsonFields each = kinds.element(at);
    for (unsigned kind = 0; kind < kTrialKinds; ++kind) {
      if (each.text("kind") == to_string(static_cast<TrialKind>(kind))) { results.kinds[kind] = rate_of(each); }
    }
  }
}

}  // namespace

std::shared_ptr<const TrialResults> parse_trials(std::string_view text, std::string& error) {
  const JsonFields document = JsonFields::parse(text);
  if (document.text("schema") != kTrialsSchema) {
    error = std::string("is not a document of schema ") + kTrialsSchema +
            "; it is damaged, or was written by a newer Takt; use the newer takt command";
    return nullptr;
  }
  auto results = std::make_shared<TrialResults>();
  results->unit = document.text("unit") == "samples" ? "samples" : "batches";
  results->steps_a_trial = document.count("steps_a_trial");
  results->seconds_a_trial = document.amount("seconds_a_trial");
  results->took_ns = std::max<std::int64_t>(document.time("took_ns"), 0);
  results->batches_taken = document.count("batches_taken");
  results->steps_done = document.count("steps_done");
  results->batch_place = document.text("batch_place");
  results->waits_by = document.text("waits_by");
  results->streams = document.count("streams");
  results->failed_waits = document.count("failed_waits");
  results->cut = document.text("cut");
  results->went_on = document.flag("went_on");
  results->restored = document.flag("restored");
  read_kinds(document, *results);
  detail::conclude_trials(*results);  // computed from the figures; conclusions in the file are ignored
  return results;
}

std::shared_ptr<const TrialResults> read_trials(const RankDirectory& directory, std::string& error) {
  std::string text;
  if (!directory.open()->read_whole(kTrialsName, kMaxTrialsBytes, text)) {
    if (errno != ENOENT) { error = "cannot be read: " + detail::reason_of(errno); }
    return nullptr;
  }
  return parse_trials(text, error);
}

namespace {

using detail::Json;

constexpr std::size_t kLongestText = 1000;

}  // namespace

JsonFields JsonFields::parse(std::string_view text, std::string_view dropped) {
  return JsonFields(Json::parse(text, dropped));
}

JsonFields JsonFields::member(const char* name) const { return JsonFields(json_.member(name)); }
bool JsonFields::is_list() const { return json_.is_array(); }
std::size_t JsonFields::size() const { return is_list() ? json_.size() : 0; }
JsonFields JsonFields::element(std::size_t at) const { return JsonFields(json_.element(at)); }

std::uint64_t JsonFields::count(const char* name) const { return json_.member(name).count(); }
std::int64_t JsonFields::time(const char* name) const { return json_.member(name).integer(); }
double JsonFields::amount(const char* name) const { return known_amount(name).value_or(0); }
std::optional<std::int64_t> JsonFields::known_count(const char* name) const {
  const Json value = json_.member(name);
  return value.is_count() ? std::optional(value.integer()) : std::nullopt;
}
std::optional<double> JsonFields::known_amount(const char* name) const {
  const std::optional<double> number = known_number(name);
  return number >= 0.0 ? number : std::nullopt;
}
std::optional<double> JsonFields::known_number(const char* name) const {
  const Json value = json_.member(name);
  return value.is_number() && std::isfinite(value.number()) ? std::optional(value.number()) : std::nullopt;
}
bool JsonFields::flag(const char* name) const { return json_.member(name).boolean(); }
std::string JsonFields::text(const char* name) const { return json_.member(name).text().substr(0, kLongestText); }

}  // namespace cli
TAKT_END_NAMESPACE
