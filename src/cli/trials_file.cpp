// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/trials_file.hpp"

#include "base/file.hpp"
#include "cli/json_fields.hpp"
#include "trials/trial_finding.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

constexpr const char* kTrialsName = "trials.json";
constexpr const char* kTrialsSchema = "takt-trials/1";
constexpr std::size_t kMostTrialsBytes = 1U << 20U;

TrialRate rate_of(const JsonFields& kind) {
  TrialRate rate;
  rate.trials = kind.count("trials");
  rate.steps = kind.count("steps");
  rate.items = kind.count("items");
  rate.ns = kind.count("ns");
  rate.per_s = kind.amount("per_s");
  if (kind.amount("low") <= rate.per_s && rate.per_s <= kind.amount("high")) {
    rate.low = kind.amount("low");
    rate.high = kind.amount("high");
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
    error = std::string("is no document of schema ") + kTrialsSchema +
            "; it is damaged, or of a newer Takt, whose command reads it";
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
