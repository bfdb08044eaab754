// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/path_notes.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "report/notes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

bool is_open(const Snapshot& snapshot, std::uint32_t path) {
  return std::any_of(snapshot.open.begin(), snapshot.open.end(),
                     [path](const auto& open) { return open.path == path; });
}

/// Regions inside a call that was not timed have no place there: they stand where the call does.
bool has_child_beside(const Snapshot& snapshot, std::uint32_t index) {
  const auto& paths = snapshot.paths;
  return std::any_of(paths.begin(), paths.end(), [&](const PathStats& inside) {
    return inside.parent == index && std::any_of(paths.begin(), paths.end(), [&](const PathStats& beside) {
             return beside.parent == paths[index].parent && beside.name == inside.name && beside.host.n() != 0;
           });
  });
}

void sampled_line(const Snapshot& snapshot, std::uint32_t index, std::vector<std::string>& lines) {
  const PathStats& path = snapshot.paths[index];
  if (path.skipped == 0) { return; }
  const char* const moved =
      has_child_beside(snapshot, index) ? "; what was inside the others stands one level higher" : "";
  lines.push_back(detail::format("sampled: {}, timed {} of {} entered; its times are of the timed ones{}",
                                 path_label(snapshot, index), human_count(path.host.n()),
                                 human_count(path.host.n() + path.skipped), moved));
}

bool is_inside_batch(const Snapshot& snapshot, std::uint32_t index) {
  std::uint32_t above = snapshot.paths[index].parent;
  while (above != PathStats::kNoParent && snapshot.paths[above].name != Batch.name()) {
    above = snapshot.paths[above].parent;
  }
  return above != PathStats::kNoParent;
}

/// Who begins a Batch before the one before has ended finds fewer steps than there were.
void inner_batches_line(const Snapshot& snapshot, std::vector<std::string>& lines) {
  std::uint64_t inner = 0;
  for (std::uint32_t path = 0; path < snapshot.paths.size(); ++path) {
    const PathStats& each = snapshot.paths[path];
    if (each.name == Batch.name() && is_inside_batch(snapshot, path)) { inner += each.host.n() + each.skipped; }
  }
  if (inner == 0) { return; }
  lines.push_back(detail::format("{} Batch{} began inside another one: only the outermost are steps",
                                 human_count(inner), inner == 1 ? "" : "es"));
}

/// What may have made the regions at `index` longer than those around them.
std::string why_longer(const Snapshot& snapshot, std::uint32_t index) {
  if (snapshot.holds_repetitions(index)) { return "a path ends at 64 keys, and it takes what begins inside it, too"; }
  const std::string around = snapshot.path_name(snapshot.paths[index].parent);
  const bool forgotten = std::any_of(snapshot.losses.begin(), snapshot.losses.end(), [&](const Loss& loss) {
    return loss.what == "never_ended" && loss.where == around;
  });
  std::string text = "from record(), or from ends that came after that one's";
  if (forgotten) { text += ", or as that one was not always ended"; }
  if (snapshot.threads.size() > 1) { text += ", or from several threads"; }
  return text;
}

/// A region is never longer than what it is in, unless its time was not measured there. One that is open has no time
/// yet.
void longer_line(const Snapshot& snapshot, std::uint32_t index, std::vector<std::string>& lines) {
  const PathStats& path = snapshot.paths[index];
  if (path.parent == PathStats::kNoParent || is_open(snapshot, path.parent)) { return; }
  const PathStats& above = snapshot.paths[path.parent];
  if (above.host.n() == 0 || path.host.total_ns() <= above.host.total_ns()) { return; }
  lines.push_back(detail::format("{} is longer than the region it is in: {}", path_label(snapshot, index),
                                 why_longer(snapshot, index)));
}

/// Beside what a region measures it takes time of the one around it. Said where that is a tenth of what that one calls
/// its own.
/// \param inside regions that were timed right inside this one.
void own_cost_line(const Snapshot& snapshot, std::uint32_t index, std::uint64_t inside,
                   std::vector<std::string>& lines) {
  const PathStats& path = snapshot.paths[index];
  const double outside = snapshot.clock.region_cost_ns - static_cast<double>(snapshot.clock.empty_region_ns);
  if (path.host.n() == 0 || inside == 0 || outside <= 0) { return; }
  const auto self = static_cast<double>(path.self_ns);
  const double cost = std::min(static_cast<double>(inside) * outside, self);
  if (cost < kWorthALine * std::max(self, static_cast<double>(path.host.total_ns()))) { return; }
  lines.push_back(detail::format("self of {}: about {} of {} is Takt's, {} for each of {} regions inside",
                                 path_label(snapshot, index), human_time(cost), human_time(self), human_time(outside),
                                 human_count(inside)));
}

/// How many regions were timed right inside each. Those that every() passed over cost less by far.
std::vector<std::uint64_t> regions_inside(const Snapshot& snapshot) {
  std::vector<std::uint64_t> inside(snapshot.paths.size());
  for (const PathStats& path : snapshot.paths) {
    if (path.parent < inside.size()) { inside[path.parent] += path.host.n(); }
  }
  return inside;
}

/// A statement that many paths may want to make, by a few of them.
void add_few(const std::vector<std::string>& all, std::vector<std::string>& lines) {
  constexpr std::size_t kFew = 3;
  const std::size_t few = std::min(all.size(), kFew);
  lines.insert(lines.end(), all.begin(), all.begin() + static_cast<std::ptrdiff_t>(few));
  if (all.size() > few) { lines.push_back(detail::format("  and so for {} more", all.size() - few)); }
}

void missing_spans_lines(const Snapshot& snapshot, std::uint32_t index, std::vector<std::string>& lines) {
  const PathStats& path = snapshot.paths[index];
  const std::string name = path_label(snapshot, index);
  if (path.device_pending != 0 || path.device_lost != 0) {
    lines.push_back(detail::format("stream spans not in this report: {}, {} pending, {} lost", name,
                                   human_count(path.device_pending), human_count(path.device_lost)));
  }
  const std::uint64_t unbinned = path.host.histogram().unbinned() + path.device.histogram().unbinned();
  if (unbinned != 0) {
    lines.push_back(detail::format("percentiles: {} lacks {} duration{} for which there was no memory", name,
                                   human_count(unbinned), plural(unbinned)));
  }
}

}  // namespace

void add_path_notes(const Snapshot& snapshot, std::vector<std::string>& lines) {
  const std::vector<std::uint64_t> inside = regions_inside(snapshot);
  std::vector<std::string> longer;
  std::vector<std::string> own_cost;
  inner_batches_line(snapshot, lines);
  for (std::uint32_t path = 0; path < snapshot.paths.size(); ++path) {
    sampled_line(snapshot, path, lines);
    missing_spans_lines(snapshot, path, lines);
    longer_line(snapshot, path, longer);
    own_cost_line(snapshot, path, inside[path], own_cost);
  }
  add_few(longer, lines);
  add_few(own_cost, lines);
}

}  // namespace detail
TAKT_END_NAMESPACE
