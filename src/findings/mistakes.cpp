// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/format.hpp"
#include "base/losses.hpp"
#include "base/text.hpp"
#include "findings/finding_text.hpp"
#include "findings/rules.hpp"
#include "findings/thresholds.hpp"
#include "history/step_history.hpp"

#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::size_t kMostKeys = 8;  // that are told each for itself

std::uint64_t all_steps(const RunView& view) {
  std::uint64_t steps = 0;
  for (const Series& each : view.run.series) { steps += each.steps; }
  return steps;
}

std::uint64_t all_points(const RunView& view) {
  if (view.run.history == nullptr) { return 0; }
  std::uint64_t points = view.run.history->points_left_out();
  for (const auto& [name, metric] : view.run.history->metrics()) { points += metric.points(); }
  return points;
}

/// \param of all that there was.
void add_lost(const char* what, std::uint64_t lost, std::uint64_t of, Conclusions& said) {
  const double share = of == 0 ? 1 : static_cast<double>(lost) / static_cast<double>(of);
  if (lost == 0 || share < kLeastLostShare) { return; }
  Finding finding;
  finding.what = "lost";
  finding.sentence = detail::format("{} of {} {} are lost ({}): what rests on them is incomplete", human_count(lost),
                                    human_count(of), what, share_text(share));
  finding.evidence = {
      {"lost", static_cast<double>(lost), what}, {"all", static_cast<double>(of), what}, {"share", share, ""}};
  said.findings.push_back(std::move(finding));
}

}  // namespace

void add_never_ended(const RunView& view, Conclusions& said) {
  std::uint64_t further = 0;
  std::size_t told = 0;
  for (const Loss& loss : view.run.losses) {
    if (loss.what != "never_ended") { continue; }
    if (told++ >= kMostKeys) {
      ++further;
      continue;
    }
    Finding finding;
    finding.what = "never_ended";
    finding.sentence =
        detail::format("\"{}\" had not ended when the next step or its thread had, {} time{}: not timed",
                       fit_end(printable(loss.where), 60), human_count(loss.count), loss.count == 1 ? "" : "s");
    finding.where = loss.where;
    finding.evidence = {{"regions", static_cast<double>(loss.count), "regions"}};
    said.findings.push_back(std::move(finding));
  }
  if (further == 0) { return; }
  Finding finding;
  finding.what = "never_ended";
  finding.sentence = detail::format("{} more keys had not ended when the next step or their thread had: not timed",
                                    human_count(further));
  finding.evidence = {{"keys", static_cast<double>(further), "keys"}};
  said.findings.push_back(std::move(finding));
}

void add_losses(const RunView& view, Conclusions& said) {
  const LostRecords lost = lost_records(view.run.losses);
  add_lost("steps", lost.rows, all_steps(view), said);
  add_lost("metrics", lost.metrics, lost.metrics + all_points(view), said);
  std::uint64_t lost_spans = 0;
  std::uint64_t spans = 0;
  for (const PathStats& each : view.run.paths) {
    lost_spans += each.device_lost;
    spans += each.device.n() + each.device_lost;
  }
  add_lost("stream spans", lost_spans, spans, said);
}

}  // namespace detail
TAKT_END_NAMESPACE
