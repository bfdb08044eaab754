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

/// What a step may be bound by.
struct Bound {
  StepPart part;
  const char* what;
  const char* name;
  const char* kind;    ///< of the regions
  const char* waits;   ///< what streams wait for
  const char* region;  ///< that tells how long; nullptr: none does
};
constexpr Bound kBounds[] = {
    {StepPart::input, "input_bound", "input-bound", "io", "IO", "IOWait"},
    {StepPart::communication, "communication_bound", "communication-bound", "comm", "communication", "CommWait"},
    {StepPart::output, "output_bound", "output-bound", "io", "IO", nullptr},
};

/// The regions of a part, and what they take, window by window.
struct PartOfSteps {
  std::vector<std::pair<double, std::uint32_t>> regions;  // by ns
  std::vector<double> windows;
  bool all_in_front = true;  ///< each lies beside the Batch
  std::string lacks;         ///< why what it takes is not known; empty: it is

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
    if (!view.runs_each_step(path)) { continue; }  // single steps are another rule's
    add_column(view, at, part);
    part.all_in_front = false;
  }
}

/// Regions between two Batches. The rows tell how long that is, and not what was in it.
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
      part.lacks =
          detail::format("several threads record: whether {} lies between two Batches is not known", view.label(path));
      continue;
    }
    const double a_step = static_cast<double>(stats.host.total_ns()) / static_cast<double>(view.series->steps);
    const double share = a_step * view.usual_steps_in_windows() / between_ns;
    constexpr double kFits = 1.1;  // the first one of an Epoch is in no period
    if (share > kFits) { continue; }
    for (std::size_t at = 0; at < view.windows.size(); ++at) {
      part.windows[at] += std::min(share, 1.0) * view.windows[at].column(between);
    }
    part.regions.emplace_back(std::min(share, 1.0) * between_ns, path);
  }
}

/// On streams the host's time tells nothing: what a stream waited for does.
void add_waits(const RunView& view, const Bound& bound, PartOfSteps& part) {
  const Exposed::For wanted = bound.part == StepPart::input ? Exposed::For::io : Exposed::For::comm;
  const std::vector<HistoryColumn>& columns = view.steps->columns();
  for (std::size_t at = 0; at < columns.size(); ++at) {
    if (columns[at].on_stream && Exposed::what(view.run, columns[at].path) == wanted) { add_column(view, at, part); }
  }
  part.all_in_front = false;
  if (!part.regions.empty()) { return; }
  part.lacks = detail::format(
      "work is on streams, where host times tell nothing, and no region of {} tells what they wait for", bound.region);
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

/// Of what single steps lose, which is another rule's.
double slow_ns(const RunView& view, const PartOfSteps& part) {
  double sum = 0;
  for (const auto& [ns, path] : part.regions) {
    const auto slow = view.steps->slow().find(path);
    sum += slow == view.steps->slow().end() ? 0 : static_cast<double>(slow->second.excess_ns());
  }
  return sum;
}

std::string bound_sentence(const RunView& view, const Bound& bound, const PartOfSteps& part, double share) {
  // The span of a wait is the most that it may have cost.
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
                        list_text(names), part.all_in_front ? ", in front of the Batch," : "", one ? "is" : "are",
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
    return abstain("waiting for other ranks is in it, of which one rank alone knows nothing: takt report compares all");
  }
  const PartOfSteps part = part_of(view, bound);
  if (!part.lacks.empty()) { return abstain(part.lacks); }
  if (part.regions.empty()) {
    // Of what no step needs nothing is missing.
    if (bound.part == StepPart::input) {
      abstain(detail::format("no region of kind {} runs in each step, or in front of it", bound.kind));
    }
    return;
  }
  std::vector<double> wholes;
  for (const RunWindow& each : view.windows) { wholes.push_back(each.period_ns); }
  const RatioOfSums ratio = ratio_of_sums(part.windows, wholes);
  if (!ratio.known) { return abstain("the steps are too few for an interval"); }
  // Without what single steps lose, of the part and of the whole.
  double all_slow_ns = 0;
  for (const auto& [path, slow] : view.steps->slow()) { all_slow_ns += static_cast<double>(slow.excess_ns()); }
  double whole_ns = 0;
  for (const double each : wholes) { whole_ns += each; }
  const double share = std::max(part.ns() - slow_ns(view, part), 0.0) / std::max(whole_ns - all_slow_ns, whole_ns / 2);
  if (share - ratio.half < kMinBoundShare) { return; }
  if (share > 1) { return abstain("several streams wait at once: their sum is longer than a step"); }
  said.findings.push_back(bound_finding(view, bound, part, share, ratio.half));
}

}  // namespace

void add_bounds(const RunView& view, Conclusions& said) {
  if (view.usual_steps < kMinSteps) { return; }
  for (const Bound& each : kBounds) { add_bound(view, each, said); }
}

}  // namespace detail
TAKT_END_NAMESPACE
