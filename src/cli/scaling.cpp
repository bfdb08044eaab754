// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/format.hpp"
#include "cli/commands.hpp"
#include "cli/job_run.hpp"
#include "cli/scaling_document.hpp"
#include "report/page.hpp"

#include <cstdio>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace cli {

int scaling(const ScalingWishes& wishes) {
  bool all = true;
  const auto read = [&all](const std::vector<std::string>& runs) {
    if (runs.empty()) { return std::vector<JobRun>(); }
    JobRuns found = read_job_runs(runs);
    all = all && found.all;
    return std::move(found.runs);
  };
  const detail::Scaling wanted = wishes.weak     ? detail::Scaling::weak
                                 : wishes.strong ? detail::Scaling::strong
                                                 : detail::Scaling::unclear;
  const ScalingReport report =
      scaling_report_of({read(wishes.runs), read(wishes.without_loader), read(wishes.without_communication), wanted});
  for (const std::string& each : report.remarks) { detail::print(stderr, "takt: {}\n", each); }
  detail::print(stdout, "{}",
                wishes.form == ScalingForm::csv    ? scaling_csv(report)
                : wishes.form == ScalingForm::json ? scaling_json(report)
                                                   : scaling_table(report, detail::page_on_stdout(wishes.drawn)));
  return all ? 0 : kBroken;
}

}  // namespace cli
TAKT_END_NAMESPACE
