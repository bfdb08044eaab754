// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/trials_json.hpp"

#include "findings/finding_json.hpp"
#include "report/json_lines.hpp"

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr const char* kTrialsSchema = "takt-trials/1";

JsonText text_or_null(const std::string& text) { return text.empty() ? JsonText() : JsonText(text); }

JsonText kind_json(TrialKind kind, const TrialRate& rate) {
  const bool has_rate = rate.ns != 0;
  const auto end_of_interval = [&](double value) { return rate.has_interval() ? JsonText(value) : JsonText(); };
  return {{"kind", to_string(kind)},
          {"trials", rate.trials},
          {"steps", rate.steps},
          {"items", rate.items},
          {"ns", rate.ns},
          {"per_s", has_rate ? JsonText(rate.per_s) : JsonText()},
          {"low", end_of_interval(rate.low)},
          {"high", end_of_interval(rate.high)},
          {"over", rate.over_trials ? "trials" : "windows"},
          {"n", rate.n},
          {"wait_ns", rate.wait_ns},
          {"copy_ns", rate.copy_ns},
          {"copies_count", rate.copies_count},
          {"begun_again", rate.begun_again},
          {"left_out_steps", rate.left_out_steps},
          {"left_out_ns", rate.left_out_ns},
          {"begin_unix_ns", rate.begin_unix_ns},
          {"end_unix_ns", rate.end_unix_ns}};
}

}  // namespace

std::string trials_json(const RunInfo& run, const TrialResults& results) {
  std::string text;
  const JsonLines::Sink take = [&text](const std::string& piece) {
    text += piece;
    return true;
  };
  JsonLines lines(take);
  lines.member("schema", kTrialsSchema);
  lines.member("run_id", run.id);
  lines.member("rank", run.rank);
  lines.member("world_size", run.world_size);
  lines.member("host", run.host);
  lines.member("unit", results.unit);
  lines.member("steps_a_trial", results.steps_a_trial);
  lines.member("seconds_a_trial", results.seconds_a_trial);
  lines.member("took_ns", results.took_ns);
  lines.member("batches_taken", results.batches_taken);
  lines.member("steps_done", results.steps_done);
  lines.member("batch_place", text_or_null(results.batch_place));
  lines.member("waits_by", text_or_null(results.waits_by));
  lines.member("streams", results.streams);
  lines.member("failed_waits", results.failed_waits);
  lines.member("cut", text_or_null(results.cut));
  lines.member("went_on", results.went_on);
  lines.member("restored", results.restored);
  unsigned kind = 0;
  lines.array("kinds", results.kinds,
              [&kind](const TrialRate& rate) { return kind_json(static_cast<TrialKind>(kind++), rate); });
  lines.member("finding", results.finding ? finding_json(*results.finding) : JsonText());
  lines.member("untold", text_or_null(results.untold));
  lines.finish();
  return text;
}

}  // namespace detail
TAKT_END_NAMESPACE
