// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>

#include "base/format.hpp"
#include "base/nearest.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/diff_document.hpp"
#include "cli/diff_page.hpp"
#include "cli/failure_text.hpp"
#include "cli/page_file.hpp"
#include "cli/rank.hpp"
#include "cli/run_figures.hpp"
#include "cli/run_folder.hpp"
#include "compare/comparison.hpp"
#include "report/page.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

constexpr int kRegression = 1;
constexpr int kInconclusive = 3;

/// "2%" or "2 %", as a share.
/// \throws takt::Error for anything else.
double share_from(const std::string& text, const char* option) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  std::string rest(end);
  rest.erase(std::remove(rest.begin(), rest.end(), ' '), rest.end());
  if (end == text.c_str() || rest != "%" || !std::isfinite(value) || value < 0 || value > 1000) {
    throw Error(detail::format("{} {} is no share; write it in percent, such as {} 2%", option, detail::printable(text),
                               option));
  }
  return value / 100;
}

using RunNames = std::map<std::string, std::string>;  // folders, by the identity of the run

/// A side of the page.
struct DrawnSide {
  DrawnRuns* runs;  // nullptr: there is no page
  bool is_new;

  RunTaker taker(const RunFolder& run) const { return runs == nullptr ? RunTaker() : runs->taker(run, is_new); }
  void drop_last() const {
    if (runs != nullptr) { runs->drop_last(); }
  }
};

/// The runs of one side, each once; a folder of runs stands for all of them.
/// \param other the runs of the other side, to which those of this one are added.
/// \throws takt::Error where one is on the other side, too.
std::vector<detail::ComparedRun> read_side(const std::vector<std::string>& given, RunNames& other,
                                           const DrawnSide& drawn, std::vector<std::string>& remarks) {
  std::vector<detail::ComparedRun> runs;
  RunNames own;
  for (const std::string& each : given) {
    for (const RunFolder& folder : all_runs(each, remarks)) {
      if (folder.ranks.empty()) {
        remarks.push_back(why_closed(folder.folder));
        continue;
      }
      detail::ComparedRun run = compared_run(folder, remarks, drawn.taker(folder));
      if (const auto found = other.find(run.identity); found != other.end()) {
        throw Error(detail::format("{} is on both sides: {} is the same run; a run can be compared with others alone",
                                   detail::printable(folder.folder), detail::printable(found->second)));
      }
      const auto [place, is_new] = own.emplace(run.identity, folder.folder);
      if (is_new) {
        runs.push_back(std::move(run));
      } else {
        drawn.drop_last();
        remarks.push_back(detail::format("{} is the same run as {}, and counts once", detail::printable(folder.folder),
                                         detail::printable(place->second)));
      }
    }
  }
  other.insert(own.begin(), own.end());
  return runs;
}

bool ends_with(const std::string& path, const std::string& end) {
  return path.size() > end.size() && path.compare(path.size() - end.size(), end.size(), end) == 0;
}

/// The path of the one region that is called so, by its whole path or its end.
/// \throws takt::Error where there is none, or where there are several.
std::string region_path(const std::string& wanted, const std::set<std::string>& paths) {
  if (wanted == detail::kStepRegion || paths.count(wanted) != 0) { return wanted; }
  if (wanted == "step") { return detail::kStepRegion; }
  std::vector<std::string> found;
  std::string as_key;  // "conv1/relu" may be a key
  detail::append_key(as_key, wanted);
  if (paths.count(as_key) != 0) { return as_key; }
  for (const std::string& path : paths) {
    if (ends_with(path, "/" + wanted) || ends_with(path, "/" + as_key)) { found.push_back(path); }
  }
  if (found.size() == 1) { return found.front(); }
  const std::string shown = detail::fit(detail::printable(wanted), 80);
  if (found.size() > 1) {
    throw Error(detail::format("there are several regions {}: {}; name one by its whole path", shown,
                               detail::printable(detail::join(found, ", "))));
  }
  const std::vector<std::string_view> known(paths.begin(), paths.end());
  const std::string nearest =
      known.empty() ? "" : "; nearest: " + detail::printable(detail::nearest(wanted, known.data(), known.size()));
  throw Error(detail::format("there is no region {}{}", shown, nearest));
}

/// REQUIRES: one of the words of --on, or nothing.
detail::Statistic statistic_from(const std::string& word) {
  using detail::Statistic;
  for (const Statistic each : {Statistic::p50, Statistic::mean, Statistic::p95, Statistic::throughput}) {
    if (word == detail::statistic_word(each)) { return each; }
  }
  return Statistic::p25;
}

detail::ComparisonWishes gate_of(const DiffWishes& wishes, const std::vector<detail::ComparedRun>& base,
                                 const std::vector<detail::ComparedRun>& now) {
  detail::ComparisonWishes gate;
  gate.has_gate = !wishes.fail_on.empty();
  if (gate.has_gate) { gate.threshold = share_from(wishes.fail_on, "--fail-on"); }
  if (gate.has_gate && gate.threshold <= 0) { throw Error("--fail-on has to be above 0 %: no number of runs shows 0"); }
  if (!wishes.noise.empty()) { gate.noise = share_from(wishes.noise, "--noise"); }
  gate.statistic = statistic_from(wishes.statistic);
  if (gate.statistic == detail::Statistic::throughput && !wishes.regions.empty()) {
    throw Error("--on throughput is of the step; leave out --region, or take --on mean");
  }
  if (!gate.has_gate && !wishes.regions.empty()) { throw Error("--region says what --fail-on judges; give both"); }
  std::set<std::string> paths;
  for (const auto* side : {&base, &now}) {
    for (const detail::ComparedRun& run : *side) {
      for (const auto& [path, region] : run.regions) { paths.insert(path); }
    }
  }
  for (const std::string& each : wishes.regions) {
    const std::string path = region_path(each, paths);
    if (std::find(gate.regions.begin(), gate.regions.end(), path) == gate.regions.end()) {
      gate.regions.push_back(path);
    }
  }
  return gate;
}

int compare_sides(const std::vector<std::string>& base, const DiffWishes& wishes) {
  if (base.empty() || wishes.now.empty()) { throw Error("name the runs of both sides: takt diff BASE... -- NEW..."); }
  std::vector<std::string> remarks;
  RunNames seen;
  DrawnRuns drawn;
  DrawnRuns* const page = wishes.html.empty() ? nullptr : &drawn;
  std::vector<detail::ComparedRun> before = read_side(base, seen, {page, false}, remarks);
  std::vector<detail::ComparedRun> after = read_side(wishes.now, seen, {page, true}, remarks);
  for (const std::string& each : remarks) { std::fprintf(stderr, "takt: %s\n", each.c_str()); }
  const detail::ComparisonWishes gate = gate_of(wishes, before, after);
  const detail::Comparison comparison = compare_runs(std::move(before), std::move(after), gate);
  if (!comparison.obstacles.empty() && wishes.reason.empty()) {
    std::string why;
    for (const Finding& each : comparison.obstacles) { why += "\n  " + each.sentence; }
    throw Error("these runs cannot be compared:" + why + "\n  If they can, say why: --reason '...'");
  }
  const std::string text = wishes.json ? diff_json(comparison, wishes.reason)
                           : wishes.markdown
                               ? diff_markdown(comparison, wishes.reason)
                               : diff_text(comparison, wishes.reason, detail::page_on_stdout(wishes.drawn));
  detail::print(stdout, "{}", text);
  if (!wishes.html.empty()) { write_page_file(wishes.html, diff_page(comparison, wishes.reason, drawn)); }
  if (!comparison.has_gate || comparison.answer == detail::Answer::no_regression) { return 0; }
  return comparison.answer == detail::Answer::regression ? kRegression : kInconclusive;
}

}  // namespace

int diff(const std::vector<std::string>& base, const DiffWishes& wishes) {
  try {
    return compare_sides(base, wishes);
  } catch (const std::exception& error) {  // 1 would be a regression
    std::fprintf(stderr, "takt: %s\n", detail::printable_lines(failure_text(error)).c_str());
    return kUsage;
  }
}

}  // namespace cli
TAKT_END_NAMESPACE
