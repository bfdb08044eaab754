// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "findings/findings.hpp"

#include "base/format.hpp"
#include "findings/rank_findings.hpp"
#include "findings/rules.hpp"
#include "findings/run_view.hpp"
#include "findings/thresholds.hpp"
#include "history/step_history.hpp"

#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// In this order: later ones leave out what earlier ones have told.
constexpr void (*kRules[])(const RunView&, Conclusions&) = {
    add_never_ended,     add_losses,         add_bounds,        add_slow_steps,    add_changes,
    add_warm_up,         leave_to_scheduler, add_start_and_end, add_between_steps, add_stops,
    add_busy_processors, add_own_cost,       add_uncovered,
};

/// What makes all rules that rest on steps silent.
void add_missing_steps(const RunView& view, Conclusions& said) {
  if (view.run.history == nullptr) {
    said.abstentions.push_back({"steps", "there is no history of steps"});
  } else if (view.steps == nullptr) {
    said.abstentions.push_back({"steps", "no Batch has ended"});
  } else if (view.usual_steps < kFewestSteps) {
    said.abstentions.push_back(
        {"steps", detail::format("{} steps after warm-up have a period, it takes {}", view.usual_steps, kFewestSteps)});
  }
  if (view.run.history != nullptr && view.run.history->rows_left_out() != 0) {
    said.abstentions.push_back(
        {"steps", detail::format("steps of series beyond the first {} are not looked at", StepHistory::kMostSeries)});
  }
}

}  // namespace

Conclusions conclusions_of(const Snapshot& run) {
  const RunView view(run);
  Conclusions said;
  add_missing_steps(view, said);
  for (const auto rule : kRules) { rule(view, said); }
  sort_findings(said.findings);
  return said;
}

void conclude(Snapshot& run, std::shared_ptr<const StepHistory> history) {
  run.history = std::move(history);
  Conclusions said = conclusions_of(run);
  run.findings = std::move(said.findings);
  run.abstentions = std::move(said.abstentions);
}

}  // namespace detail
TAKT_END_NAMESPACE
