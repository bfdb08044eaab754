// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "page/page_paths.hpp"

#include "base/text.hpp"
#include "report/tree_order.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr double kClassesAnOctave = 8;

int class_of(std::uint64_t ns) {
  return static_cast<int>(kClassesAnOctave * std::log2(static_cast<double>(std::max<std::uint64_t>(ns, 1))));
}

/// The first class that has something, and how many lie there and in each one behind it.
JsonText histogram_json(const Histogram& histogram) {
  std::map<int, std::uint64_t> classes;
  histogram.each(
      [&](unsigned bucket, std::uint64_t count) { classes[class_of(Histogram::middle_ns(bucket))] += count; });
  JsonText counts = JsonText::array();
  if (classes.empty()) { return counts; }
  const int first = classes.begin()->first;
  counts.push_back(first);
  for (int at = first; at <= classes.rbegin()->first; ++at) {
    const auto found = classes.find(at);
    counts.push_back(found == classes.end() ? 0 : found->second);
  }
  return counts;
}

JsonText percentile_json(const Summary& summary, double q) {
  return has_percentile(summary, q) ? JsonText(summary.percentile_ns(q)) : JsonText();
}

/// As in summary.json.
void add_summary(JsonText& json, const Summary& summary) {
  const bool measured = summary.measured_n() != 0;
  json.add("n", summary.n());
  json.add("total_ns", summary.total_ns());
  json.add("mean_ns", measured ? JsonText(summary.mean_ns()) : JsonText());
  json.add("p50_ns", percentile_json(summary, 0.5));
  json.add("p90_ns", percentile_json(summary, 0.9));
  json.add("p99_ns", percentile_json(summary, 0.99));
  json.add("max_ns", measured ? JsonText(summary.max_ns()) : JsonText());
}

}  // namespace

PagePaths::PagePaths(const Snapshot& snapshot)
    : snapshot_(snapshot), numbers_(snapshot.paths.size(), kNone), has_histogram_(snapshot.paths.size()) {
  choose();
  choose_histograms();
}

void PagePaths::choose() {
  const std::vector<std::uint32_t> order = tree_order(snapshot_);
  std::vector<std::uint32_t> by_total = order;
  std::stable_sort(by_total.begin(), by_total.end(), [this](std::uint32_t a, std::uint32_t b) {
    return snapshot_.time_so_far_ns(a) > snapshot_.time_so_far_ns(b);
  });
  std::vector<bool> chosen(snapshot_.paths.size());
  std::size_t count = 0;
  for (const std::uint32_t path : by_total) {
    std::vector<std::uint32_t> missing;  // this one, and what it lies in
    for (std::uint32_t at = path; at < chosen.size() && !chosen[at]; at = snapshot_.paths[at].parent) {
      missing.push_back(at);
    }
    if (count + missing.size() > kMost) { continue; }
    count += missing.size();
    for (const std::uint32_t each : missing) { chosen[each] = true; }
  }
  for (const std::uint32_t path : order) {
    if (!chosen[path]) { continue; }
    numbers_[path] = static_cast<int>(shown_.size());
    shown_.push_back(path);
  }
}

void PagePaths::choose_histograms() {
  std::vector<std::uint32_t> by_total = shown_;
  std::stable_sort(by_total.begin(), by_total.end(), [this](std::uint32_t a, std::uint32_t b) {
    return snapshot_.paths[a].host.total_ns() > snapshot_.paths[b].host.total_ns();
  });
  std::size_t count = 0;
  for (const std::uint32_t path : by_total) {
    if (count == kMostHistograms) { break; }
    if (snapshot_.paths[path].host.measured_n() == 0) { continue; }
    has_histogram_[path] = true;
    ++count;
  }
}

std::size_t PagePaths::without_histogram() const noexcept {
  return static_cast<std::size_t>(std::count_if(shown_.begin(), shown_.end(), [this](std::uint32_t path) {
    return !has_histogram_[path] && snapshot_.paths[path].host.measured_n() != 0;
  }));
}

std::vector<int> PagePaths::numbers_in(const Snapshot& other) const {
  std::map<std::tuple<int, std::string, Kind>, int> places;
  for (const std::uint32_t path : shown_) {
    const PathStats& here = snapshot_.paths[path];
    places.emplace(std::make_tuple(number(here.parent), here.name, here.kind), number(path));
  }
  std::vector<int> numbers;
  for (const PathStats& each : other.paths) {
    const bool is_below = each.parent < numbers.size();
    const int parent = is_below ? numbers[each.parent] : kNone;
    const auto found = places.find(std::make_tuple(parent, each.name, each.kind));
    const bool is_lost = is_below && parent == kNone;  // below one that is not shown
    numbers.push_back(found == places.end() || is_lost ? kNone : found->second);
  }
  return numbers;
}

JsonText PagePaths::json() const {
  JsonText all = JsonText::array();
  for (const std::uint32_t index : shown_) {
    const PathStats& path = snapshot_.paths[index];
    const double share = snapshot_.share_of_parent(index);
    JsonText json = JsonText::object();
    json.add("name", fit(printable(path.name), kLongestName));
    json.add("parent", number(path.parent));
    json.add("kind", to_string(path.kind));
    json.add("self_ns", path.self_ns);
    json.add("so_far_ns", snapshot_.time_so_far_ns(index));
    json.add("share", share < 0 ? JsonText() : JsonText(share));
    add_summary(json, path.host);
    if (path.device.n() != 0) {
      JsonText device = JsonText::object();
      add_summary(device, path.device);
      json.add("device", device);
    }
    if (has_histogram_[index]) { json.add("histogram", histogram_json(path.host.histogram())); }
    all.push_back(json);
  }
  return all;
}

}  // namespace detail
TAKT_END_NAMESPACE
