// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/job_report.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "report/finding_lines.hpp"
#include "report/notes.hpp"
#include "report/page.hpp"
#include "report/text_table.hpp"
#include "report/title.hpp"

#include <algorithm>
#include <map>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

// That are told of.
constexpr std::size_t kMostStages = 16;
constexpr std::size_t kMostFindingGroups = 8;

std::vector<TextColumn> columns_of_job(bool some_lack_paths) {
  return {{"n", 0},    {"mean", 0},      {"min", 3},   {"max", 0},
          {"rank", 0}, {"imbalance", 1}, {"share", 2}, {"on ranks", 1, some_lack_paths}};
}

/// How a total lies over ranks.
std::vector<std::string> cells_of(const RankSpread& spread) {
  return {human_time(spread.mean_ns()), human_ns(spread.least.ns), human_ns(spread.most.ns),
          detail::format("{}", spread.most.rank), percent(spread.imbalance(), 1)};
}

TextTable::Line job_line_of_run(const RankRecord& record) {
  TextTable::Line line{"run", 0, {""}};
  const std::vector<std::string> cells = cells_of(record.wall);
  line.cells.insert(line.cells.end(), cells.begin(), cells.end());
  line.cells.insert(line.cells.end(), {"", detail::format("{}", record.wall.ranks)});
  return line;
}

TextTable::Line job_line_of(const JobReport& job, std::uint32_t index) {
  const PathStats& path = job.sum.paths[index];
  const RankPath* const over_ranks = find_path(job.record, job.sum, index);
  const std::uint64_t n = over_ranks == nullptr ? path.host.n() : over_ranks->host.n();
  TextTable::Line line{printable(path.name), path.depth, {human_count(n)}};
  if (over_ranks == nullptr || over_ranks->host_totals.ranks == 0) {
    line.cells.resize(8, "-");
    return line;
  }
  const std::vector<std::string> cells = cells_of(over_ranks->host_totals);
  line.cells.insert(line.cells.end(), cells.begin(), cells.end());
  line.cells.push_back(percent(share_of_job(job.record, *over_ranks), 1));
  line.cells.push_back(detail::format("{} of {}", over_ranks->host_totals.ranks, job.record.wall.ranks));
  return line;
}

TextTable job_table_of(const JobReport& job, std::size_t width) {
  std::vector<TextTable::Line> lines = {job_line_of_run(job.record)};
  for (const std::uint32_t path : paths_by_name(job.sum)) { lines.push_back(job_line_of(job, path)); }
  const auto& paths = job.record.paths;
  const bool some_lack_paths = std::any_of(paths.begin(), paths.end(), [&](const auto& each) {
    return each.second.host_totals.ranks != job.record.wall.ranks;
  });
  return {columns_of_job(some_lack_paths), std::move(lines), width};
}

std::vector<std::string> verdict_lines(const RankComparison& comparison) {
  std::vector<std::string> lines;
  const std::vector<Finding>& findings = comparison.findings;
  for (std::size_t at = 0; at < std::min(findings.size(), kMostFindingGroups); ++at) {
    lines.push_back(findings[at].sentence);
  }
  if (findings.size() > kMostFindingGroups) {
    lines.push_back(detail::format("{} more of {} groups of ranks are in takt report --json",
                                   findings.size() - kMostFindingGroups, findings.size()));
  }
  return lines;
}

/// What the findings do not rest on.
std::vector<std::string> bounds_of(const JobReport& job) {
  const RankComparison& comparison = job.comparison;
  std::vector<std::string> lines;
  if (comparison.one_step_in > 1) {
    lines.push_back(detail::format("compared: about one step in {}, {} steps{}", human_count(comparison.one_step_in),
                                   human_count(comparison.steps),
                                   comparison.findings.empty() ? "" : "; the times above are of these"));
  }
  if (comparison.left_out != 0) {
    lines.push_back(detail::format("not compared: {} of {} ranks, which have no steps where the others have most",
                                   human_count(comparison.left_out), human_count(job.record.wall.ranks)));
  }
  if (comparison.unexposed != 0) {
    lines.push_back(
        detail::format("in {} of {} steps not all ranks tell for how long their streams waited (a region of "
                       "CommWait tells): there the waiting of hosts alone counts",
                       human_count(comparison.unexposed), human_count(comparison.steps)));
  }
  return lines;
}

std::vector<std::string> efficiency_line(const RankComparison& comparison) {
  const JobEfficiency& efficiency = comparison.efficiency;
  if (efficiency.parallel <= 0) { return {}; }
  return {detail::format("parallel efficiency {}: load balance {}, communication efficiency {}, over {} steps",
                         percent(efficiency.parallel, 1), percent(efficiency.load_balance, 1),
                         percent(efficiency.communication, 1), human_count(comparison.steps))};
}

/// How long each stage waits, beside the ideal.
std::vector<std::string> pipeline_line(const Pipeline& pipeline) {
  if (pipeline.stages.empty()) { return {}; }
  std::string waits;
  for (std::size_t at = 0; at < std::min(pipeline.stages.size(), kMostStages); ++at) {
    const StageWait& each = pipeline.stages[at];
    waits += detail::format("{}{} (stage {})", at == 0 ? "" : ", ", percent(each.share, 1), each.stage);
  }
  if (pipeline.stages.size() > kMostStages) { waits += ", ..."; }
  const std::string ideal =
      pipeline.micro_batches == 0
          ? "the parameter micro_batches, the same on all ranks, tells what is ideal"
          : detail::format("ideal is {}, with {} micro-batches", percent(pipeline.ideal, 1), pipeline.micro_batches);
  return {detail::format("pipeline of {} stages, which wait for {} of their steps; {}", pipeline.stages.size(), waits,
                         ideal)};
}

}  // namespace

std::vector<std::string> job_lines(const JobReport& job) {
  std::vector<std::string> lines;
  for (const auto& each :
       {efficiency_line(job.comparison), pipeline_line(job.comparison.pipeline), bounds_of(job), job.remarks}) {
    lines.insert(lines.end(), each.begin(), each.end());
  }
  return lines;
}

double share_of_job(const RankRecord& record, const RankPath& path) noexcept {
  const double whole = static_cast<double>(record.wall.most.ns) * static_cast<double>(record.wall.ranks);
  const double sum = path.host_totals.mean_ns() * static_cast<double>(path.host_totals.ranks);
  return whole > 0 ? sum / whole : 0;
}

std::vector<std::uint32_t> paths_by_name(const Snapshot& sum) {
  const std::size_t count = sum.paths.size();
  std::map<std::pair<std::size_t, std::string>, std::uint32_t> firsts;  // by the first of their parent, and name
  std::vector<std::uint32_t> first_of(count);
  std::vector<std::vector<std::uint32_t>> children(count + 1);  // the last: of the top
  for (std::uint32_t at = 0; at < count; ++at) {
    const PathStats& path = sum.paths[at];
    const std::size_t parent = path.parent < at ? first_of[path.parent] : count;
    const auto [place, is_new] = firsts.emplace(std::make_pair(parent, path.name), at);
    first_of[at] = place->second;
    if (is_new) { children[parent].push_back(at); }
  }
  std::vector<std::uint32_t> ordered;
  std::vector<std::uint32_t> left(children[count].rbegin(), children[count].rend());
  while (!left.empty()) {
    const std::uint32_t at = left.back();
    left.pop_back();
    ordered.push_back(at);
    left.insert(left.end(), children[at].rbegin(), children[at].rend());
  }
  return ordered;
}

const RankPath* find_path(const RankRecord& record, const Snapshot& sum, std::uint32_t path) {
  RankPathName name;
  for (std::uint32_t at = path; at < sum.paths.size(); at = sum.paths[at].parent) {
    name.push_back(sum.paths[at].name);
  }
  std::reverse(name.begin(), name.end());
  const auto found = record.paths.find(name);
  return found == record.paths.end() ? nullptr : &found->second;
}

std::string format_job(const JobReport& job, int width, bool color) {
  Page page(width, color);
  const TextTable table = job_table_of(job, page.width());
  const Notes notes = notes_of(job.sum);
  page.gap();
  page.add_part({title_of(job.sum)}, Page::Style::bold);
  page.add_part(verdict_lines(job.comparison), Page::Style::bold);
  page.add_part(finding_lines(job.sum.findings), Page::Style::bold);
  page.add_part(bounds_of(job), Page::Style::plain);
  page.add({table.head()}, Page::Style::bold);
  page.add_part(table.body(), Page::Style::plain);
  page.add(efficiency_line(job.comparison), Page::Style::plain);
  page.add(pipeline_line(job.comparison.pipeline), Page::Style::plain);
  page.add_part(job.remarks, Page::Style::plain);
  page.add_part(notes.rates, Page::Style::plain);
  page.add(notes.caveats, Page::Style::dim);
  return page.text();
}

}  // namespace detail
TAKT_END_NAMESPACE
