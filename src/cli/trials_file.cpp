// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/trials_file.hpp"

#include "base/file.hpp"
#include "trials/trial_finding.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <limits>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

using TrialsJson = nlohmann::json;

constexpr const char* kTrialsName = "trials.json";
constexpr const char* kTrialsSchema = "takt-trials/1";
constexpr std::size_t kMostTrialsBytes = 1U << 20U;
constexpr std::size_t kLongestTrialsText = 1000;
constexpr std::uint64_t kLatest = std::numeric_limits<std::int64_t>::max();

/// A member, or null.
const TrialsJson& member(const TrialsJson& object, const char* name) {
  static const TrialsJson kNone;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() ? *found : kNone;
}

std::uint64_t count_of(const TrialsJson& object, const char* name) {
  const TrialsJson& value = member(object, name);
  return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
}
std::int64_t time_of(const TrialsJson& object, const char* name) {
  const TrialsJson& value = member(object, name);
  return value.is_number_integer() && !value.is_number_unsigned()
             ? value.get<std::int64_t>()
             : static_cast<std::int64_t>(std::min(count_of(object, name), kLatest));
}
double amount_of(const TrialsJson& object, const char* name) {
  const TrialsJson& value = member(object, name);
  const double amount = value.is_number() ? value.get<double>() : 0;
  return std::isfinite(amount) && amount > 0 ? amount : 0;
}
bool flag_of(const TrialsJson& object, const char* name) {
  const TrialsJson& value = member(object, name);
  return value.is_boolean() && value.get<bool>();
}
std::string text_of(const TrialsJson& object, const char* name) {
  const TrialsJson& value = member(object, name);
  return value.is_string() ? value.get<std::string>().substr(0, kLongestTrialsText) : "";
}

TrialRate rate_of(const TrialsJson& kind) {
  TrialRate rate;
  rate.trials = count_of(kind, "trials");
  rate.steps = count_of(kind, "steps");
  rate.items = count_of(kind, "items");
  rate.ns = count_of(kind, "ns");
  rate.per_s = amount_of(kind, "per_s");
  if (amount_of(kind, "low") <= rate.per_s && rate.per_s <= amount_of(kind, "high")) {
    rate.low = amount_of(kind, "low");
    rate.high = amount_of(kind, "high");
  }
  rate.over_trials = text_of(kind, "over") == "trials";
  rate.n = count_of(kind, "n");
  rate.wait_ns = count_of(kind, "wait_ns");
  rate.copy_ns = count_of(kind, "copy_ns");
  rate.copies_count = flag_of(kind, "copies_count");
  rate.begun_again = count_of(kind, "begun_again");
  rate.left_out_steps = count_of(kind, "left_out_steps");
  rate.left_out_ns = count_of(kind, "left_out_ns");
  rate.begin_unix_ns = time_of(kind, "begin_unix_ns");
  rate.end_unix_ns = time_of(kind, "end_unix_ns");
  return rate;
}

void read_kinds(const TrialsJson& document, TrialResults& results) {
  const TrialsJson& kinds = member(document, "kinds");
  if (!kinds.is_array()) { return; }
  for (const TrialsJson& each : kinds) {
    for (unsigned kind = 0; kind < kTrialKinds; ++kind) {
      if (text_of(each, "kind") == to_string(static_cast<TrialKind>(kind))) { results.kinds[kind] = rate_of(each); }
    }
  }
}

}  // namespace

std::shared_ptr<const TrialResults> parse_trials(std::string_view text, std::string& error) {
  const TrialsJson document = TrialsJson::parse(text, nullptr, false);
  if (!document.is_object() || text_of(document, "schema") != kTrialsSchema) {
    error = std::string("is no document of schema ") + kTrialsSchema +
            "; it is damaged, or of a newer Takt, whose command reads it";
    return nullptr;
  }
  auto results = std::make_shared<TrialResults>();
  results->unit = text_of(document, "unit") == "samples" ? "samples" : "batches";
  results->steps_a_trial = count_of(document, "steps_a_trial");
  results->seconds_a_trial = amount_of(document, "seconds_a_trial");
  results->took_ns = std::max<std::int64_t>(time_of(document, "took_ns"), 0);
  results->batches_taken = count_of(document, "batches_taken");
  results->steps_done = count_of(document, "steps_done");
  results->batch_place = text_of(document, "batch_place");
  results->waits_by = text_of(document, "waits_by");
  results->streams = count_of(document, "streams");
  results->failed_waits = count_of(document, "failed_waits");
  results->cut = text_of(document, "cut");
  results->went_on = flag_of(document, "went_on");
  results->restored = flag_of(document, "restored");
  read_kinds(document, *results);
  detail::conclude_trials(*results);  // by the figures, whatever the file says of them
  return results;
}

std::shared_ptr<const TrialResults> read_trials(const RankFolder& folder, std::string& error) {
  std::string text;
  if (!folder.open()->read_whole(kTrialsName, kMostTrialsBytes, text)) {
    if (errno != ENOENT) { error = "cannot be read: " + detail::reason_of(errno); }
    return nullptr;
  }
  return parse_trials(text, error);
}

}  // namespace cli
TAKT_END_NAMESPACE
