// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "findings/findings.hpp"

#include "findings/rules.hpp"
#include "findings/run_view.hpp"

#include <algorithm>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

double cost_ns(const Finding& finding) noexcept { return finding.cost ? finding.cost->ns : 0; }

}  // namespace

Conclusions conclusions_of(const Snapshot& run) {
  const RunView view(run);
  Conclusions said;
  add_bounds(view, said);
  add_slow_steps(view, said);
  std::stable_sort(said.findings.begin(), said.findings.end(),
                   [](const Finding& a, const Finding& b) { return cost_ns(a) > cost_ns(b); });
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
