// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "findings/bounds.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "findings/findings.hpp"
#include "findings/rules.hpp"
#include "findings/run_view.hpp"

#include <takt/snapshot.hpp>

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

bool says_that_it_writes(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char each) { return static_cast<char>(std::tolower(each)); });
  const auto has = [&name](const char* word) { return name.find(word) != std::string::npos; };
  return has("checkpoint") || has("save") || has("write") || has("log") || has("dump") || has("output");
}

}  // namespace

StepPart part_of_step(const RunView& view, std::uint32_t path) {
  for (; path < view.run.paths.size() && path != view.series->path; path = view.run.paths[path].parent) {
    const PathStats& here = view.run.paths[path];
    const Exposed::For waits = Exposed::what(view.run, path);
    if (here.kind == Kind::comm || waits == Exposed::For::comm) { return StepPart::communication; }
    if (here.kind == Kind::io) { return says_that_it_writes(here.name) ? StepPart::output : StepPart::input; }
    if (waits == Exposed::For::io) { return StepPart::input; }
    if (here.kind == Kind::compute || waits == Exposed::For::other) { return StepPart::other; }
  }
  return StepPart::other;
}

namespace {

/// A possible bottleneck of a step.
struct Bound {
  StepPart part;
  const char* what;
  const char* name;
  const char* kind;    ///< of the regions
  const char* waits;   ///< shown as what streams wait for
  const char* region;  ///< region that records the wait; nullptr if none
};
constexpr Bound kBounds[] = {
    {StepPart::input, "input_bound", "input-bound", "io", "IO", "IOWait"},
    {StepPart::communication, "communication_bound", "communication-bound", "comm", "communication", "CommWait"},
    {StepPart::output, "output_bound", "output-bound", "io", "IO", nullptr},
};

/// Regions with one role, and their time per window.
struct PartOfSteps {
  std::vector<std::pair<double, std::uint32_t>> regions;  // by ns
  std::vector<double> windows;
  bool all_in_front = true;  ///< true if all are siblings of the Batch
  std::string lacks;         ///< reason why the time is unknown; empty if known

  double ns() const {
    double sum = 0;
    for (const auto& [ns, path] : regions) { sum += ns; }
    return sum;
  }
};

bool is_one_of_many(const RunView& view) noexcept { return view.run.run.world_size > 1; }

void add_column(const RunView& view, std::size_t column, PartOfSteps& part) {
  double sum = 0;
  for (std::size_t at = 0; at < view.windows.size(); ++at) {
    part.windows[at] += view.windows[at].column(column);
    sum += view.windows[at].column(column);
  }
  part.regions.emplace_back(sum, view.steps->columns()[column].path);
}

void add_inside(const RunView& view, const Bound& bound, PartOfSteps& part) {
  const std::vector<HistoryColumn>& columns = view.steps->columns();
  for (std::size_t at = 0; at < columns.size(); ++at) {
    const std::uint32_t path = columns[at].path;
    if (columns[at].on_stream || part_of_step(view, path) != bound.part) { continue; }
    const PathStats& stats = view.run.paths[path];
    if (stats.skipped != 0) { part.lacks = detail::format("not all calls of {} are timed", view.label(path)); }
    if (!view.runs_each_step(path)) { continue; }  // slow_steps reports single steps
    add_column(view, at, part);
    part.all_in_front = false;
  }
}

/// Adds regions between two Batches. The rows have the length of that time but not its regions.
void add_in_front(const RunView& view, const Bound& bound, PartOfSteps& part) {
  const std::vector<HistoryColumn>& columns = view.steps->columns();
  std::size_t between = 0;
  while (between < columns.size() && columns[between].path != HistoryColumn::kBetween) { ++between; }
  double between_ns = 0;
  for (const RunWindow& each : view.windows) { between_ns += each.column(between); }
  for (const std::uint32_t path : view.beside_batch()) {
    const PathStats& stats = view.run.paths[path];
    if (part_of_step(view, path) != bound.part || !view.runs_each_step(path) || between_ns <= 0) { continue; }
    if (view.run.threads.size() > 1) {
      part.lacks = detail::format("several threads record, so it is unknown whether {} is between two Batches",
                                  view.label(path));
      continue;
    }
    const double a_step = static_cast<double>(stats.host.total_ns()) / static_cast<double>(view.series->steps);
    const double share = a_step * view.usual_steps_in_windows() / between_ns;
    constexpr double kFits = 1.1;  // the first step of an Epoch has no period
    if (share > kFits) { continue; }
    for (std::size_t at = 0; at < view.windows.size(); ++at) {
      part.windows[at] += std::min(share, 1.0) * view.windows[at].column(between);
    }
    part.regions.emplace_back(std::min(share, 1.0) * between_ns, path);
  }
}

/// Adds stream waits: host times are meaningless for work on streams.
void add_waits(const RunView& view, const Bound& bound, PartOfSteps& part) {
  const Exposed::For wanted = bound.part == StepPart::input ? Exposed::For::io : Exposed::For::comm;
  const std::vector<HistoryColumn>& columns = view.steps->columns();
  for (std::size_t at = 0; at < columns.size(); ++at) {
    if (columns[at].on_stream && Exposed::what(view.run, columns[at].path) == wanted) { add_column(view, at, part); }
  }
  part.all_in_front = false;
  if (!part.regions.empty()) { return; }
  part.lacks = detail::format(
      "work runs on streams, so host times do not show it, and no {} region records their waits", bound.region);
}

PartOfSteps part_of(const RunView& view, const Bound& bound) {
  PartOfSteps part;
  part.windows.resize(view.windows.size());
  if (view.on_streams) {
    add_waits(view, bound, part);
  } else {
    add_inside(view, bound, part);
    add_in_front(view, bound, part);
  }
  std::sort(part.regions.rbegin(), part.regions.rend());
  return part;
}

/// Returns the time lost to single slow steps, which slow_steps reports.
double slow_ns(const RunView& view, const PartOfSteps& part) {
  double sum = 0;
  for (const auto& [ns, path] : part.regions) {
    const auto slow = view.steps->slow().find(path);
    sum += slow == view.steps->slow().end() ? 0 : static_cast<double>(slow->second.excess_ns());
  }
  return sum;
}

std::string bound_sentence(const RunView& view, const Bound& bound, const PartOfSteps& part, double share) {
  // The span of a wait is an upper bound of its cost.
  const std::string saved =
      detail::format("a usual step takes {}{} instead of {}", human_time(view.usual_ns * (1 - share)),
                     view.on_streams ? " or more" : "", human_time(view.usual_ns));
  if (view.on_streams) {
    return detail::format("{}: streams wait for {} for at most {} of a step; without that {}", bound.name, bound.waits,
                          share_text(share), saved);
  }
  std::vector<std::string> names;
  for (const auto& [ns, path] : part.regions) { names.push_back(view.label(path)); }
  const bool one = names.size() == 1;
  return detail::format("{}: {}{} {} {} of a step, and nothing overlaps {}; without {} {}", bound.name,
                        list_text(names), part.all_in_front ? ", before the Batch," : "", one ? "is" : "are",
                        share_text(share), one ? "it" : "them", one ? "it" : "them", saved);
}

Finding bound_finding(const RunView& view, const Bound& bound, const PartOfSteps& part, double share, double half) {
  const double low = view.on_streams ? 0 : share - half;
  Finding finding;
  finding.what = bound.what;
  finding.sentence = bound_sentence(view, bound, part, share);
  finding.where = view.name(part.regions.front().second);
  finding.evidence = {{"share_of_step", share, ""},
                      {"share_low", low, ""},
                      {"share_high", share + half, ""},
                      {"usual_step", view.usual_ns, "ns"},
                      {"steps", view.usual_steps, "steps"},
                      {"usual_step_without", view.usual_ns * (1 - share), "ns"},
                      {"windows", static_cast<double>(view.windows.size()), "windows"}};
  const double steps_ns = view.usual_ns * view.usual_steps;
  finding.cost = Cost{share * steps_ns, low * steps_ns, (share + half) * steps_ns, view.share_of_run(share * steps_ns)};
  return finding;
}

void add_bound(const RunView& view, const Bound& bound, Conclusions& said) {
  if (view.on_streams && bound.region == nullptr) { return; }
  const auto abstain = [&](const std::string& why) { said.skipped_rules.push_back({bound.what, why}); };
  if (bound.part == StepPart::communication && is_one_of_many(view)) {
    return abstain("it includes waiting for other ranks, which needs data of all ranks: takt report compares them");
  }
  const PartOfSteps part = part_of(view, bound);
  if (!part.lacks.empty()) { return abstain(part.lacks); }
  if (part.regions.empty()) {
    // No finding is missing if no step needs this part.
    if (bound.part == StepPart::input) {
      abstain(detail::format("no region of kind {} runs in or before each step", bound.kind));
    }
    return;
  }
  std::vector<double> wholes;
  for (const RunWindow& each : view.windows) { wholes.push_back(each.period_ns); }
  const RatioOfSums ratio = ratio_of_sums(part.windows, wholes);
  if (!ratio.known) { return abstain("too few steps for a confidence interval"); }
  // Exclude time lost to single slow steps from both the part and the whole.
  double all_slow_ns = 0;
  for (const auto& [path, slow] : view.steps->slow()) { all_slow_ns += static_cast<double>(slow.excess_ns()); }
  double whole_ns = 0;
  for (const double each : wholes) { whole_ns += each; }
  const double share = std::max(part.ns() - slow_ns(view, part), 0.0) / std::max(whole_ns - all_slow_ns, whole_ns / 2);
  if (share - ratio.half < kMinBoundShare) { return; }
  if (share > 1) { return abstain("several streams wait at once, so their sum exceeds the step"); }
  said.findings.push_back(bound_finding(view, bound, part, share, ratio.half));
}

}  // namespace

void add_bounds(const RunView& view, Conclusions& said) {
  if (view.usual_steps < kMinSteps) { return; }
  for (const Bound& each : kBounds) { add_bound(view, each, said); }
}

}  // namespace detail
TAKT_END_NAMESPACE
