// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/report_page.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/page_file.hpp"
#include "history/step_history.hpp"
#include "page/run_page.hpp"

#include <memory>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

Snapshot with_history(const RankFolder& folder) {
  detail::StepHistory history;
  Rank rank = read_rank(folder, [&history](const Snapshot& snapshot) { history.add(snapshot); });
  rank.snapshot.history = std::make_shared<const detail::StepHistory>(history.finished());
  return std::move(rank.snapshot);
}

}  // namespace

void write_page(const RunReport& run, const std::string& file) {
  detail::RunPage page;
  page.figures = &run.job.sum;
  page.steps = &run.job.sum;
  page.endings = endings_of(run);
  Snapshot first;
  if (run.ranks.size() > 1) {
    first = with_history(run.ranks.front().folder);
    page.steps = &first;
    page.job = &run.job;
  }
  const std::string text = detail::run_page(page);
  write_page_file(file, text);
  detail::print(stdout, "{}: the page of run {}, {}\n", detail::printable(file), detail::printable(run.job.sum.run.id),
                detail::human_bytes(static_cast<double>(text.size())));
}

}  // namespace cli
TAKT_END_NAMESPACE
