// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/clock_alignment.hpp"

#include "base/encoding.hpp"
#include "base/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr double kUnknownDrift = 1e-4;
constexpr std::size_t kMinCollectives = 30;
constexpr double kShareWithin = 0.95;
constexpr double kLineErrors = 2;

/// Rounds, clamped to the range of std::int64_t.
std::int64_t whole(double value) noexcept {
  constexpr double kMax = 9.2e18;
  return std::llround(std::clamp(value, -kMax, kMax));
}

/// Returns the drift of the other clock: the median over pairs of ends that are half of all ends apart.
double drift_of(const std::vector<CollectiveEnd>& ends) {
  const std::size_t half = ends.size() / 2;
  std::vector<double> drifts;
  for (std::size_t at = 0; at + half < ends.size(); ++at) {
    const auto own = static_cast<double>(wrapped_difference(ends[at + half].own_ns, ends[at].own_ns));
    const auto other = static_cast<double>(wrapped_difference(ends[at + half].other_ns, ends[at].other_ns));
    if (own > 0) { drifts.push_back(other / own - 1); }
  }
  return median(std::move(drifts));
}

}  // namespace

double ClockAlignment::between(std::int64_t own_ns) const noexcept {
  const auto length = static_cast<double>(wrapped_difference(last_.own_ns, first_.own_ns));
  return knows_drift() ? static_cast<double>(wrapped_difference(own_ns, first_.own_ns)) / length : 0;
}

std::int64_t ClockAlignment::other_ns(std::int64_t own_ns) const noexcept {
  const auto gained = static_cast<double>(wrapped_difference(last_.ahead_ns, first_.ahead_ns));
  return wrapped_sum(wrapped_sum(own_ns, first_.ahead_ns), whole(gained * between(own_ns)));
}

std::int64_t ClockAlignment::error_ns(std::int64_t own_ns) const noexcept {
  const double at = between(own_ns);
  const double of_points =
      std::fabs(1 - at) * static_cast<double>(first_.error_ns) + std::fabs(at) * static_cast<double>(last_.error_ns);
  const double of_drift =
      knows_drift() ? 0 : kUnknownDrift * std::fabs(static_cast<double>(wrapped_difference(own_ns, first_.own_ns)));
  return whole(std::ceil(of_points + of_drift)) + 1;  // 1 for rounding to whole ns
}

double ClockAlignment::drift_ppm() const noexcept {
  if (!knows_drift()) { return 0; }
  return 1e6 * static_cast<double>(wrapped_difference(last_.ahead_ns, first_.ahead_ns)) /
         static_cast<double>(wrapped_difference(last_.own_ns, first_.own_ns));
}

ClockAlignment ClockAlignment::inverse() const noexcept {
  const auto turned = [](const Point& point) {
    return Point{wrapped_sum(point.own_ns, point.ahead_ns), wrapped_difference(0, point.ahead_ns), point.error_ns};
  };
  ClockAlignment inverse = *this;
  inverse.first_ = turned(first_);
  inverse.last_ = turned(last_);
  return inverse;
}

ClockAlignment::Point ClockAlignment::then(const Point& point, const ClockAlignment& next) noexcept {
  const std::int64_t other_ns = wrapped_sum(point.own_ns, point.ahead_ns);
  const std::int64_t more = next.error_ns(other_ns);
  const std::int64_t space = std::numeric_limits<std::int64_t>::max() - more;
  return {point.own_ns, wrapped_difference(next.other_ns(other_ns), point.own_ns),
          std::min(point.error_ns, space) + more};
}

ClockAlignment ClockAlignment::then(const ClockAlignment& next) const noexcept {
  if (!is_known() || !next.is_known()) { return {}; }
  return knows_drift() ? ClockAlignment(then(first_, next), then(last_, next)) : ClockAlignment(then(first_, next));
}

std::optional<ClockAlignment::Point> shortest_answer(const std::vector<PingPong>& answers) {
  const PingPong* best = nullptr;
  std::int64_t min = 0;
  for (const PingPong& each : answers) {
    const std::int64_t way = wrapped_difference(each.received_ns, each.sent_ns);
    if (way < 0 || (best != nullptr && way >= min)) { continue; }
    best = &each;
    min = way;
  }
  if (best == nullptr) { return std::nullopt; }
  const std::int64_t half_way = wrapped_sum(best->sent_ns, min / 2);
  return ClockAlignment::Point{half_way, wrapped_difference(best->answered_ns, half_way), min - min / 2};
}

ClockAlignment align_by_collectives(std::vector<CollectiveEnd> ends) {
  std::sort(ends.begin(), ends.end(),
            [](const CollectiveEnd& a, const CollectiveEnd& b) { return a.own_ns < b.own_ns; });
  if (ends.size() < kMinCollectives || ends.front().own_ns == ends.back().own_ns) { return {}; }
  const double drift = drift_of(ends);
  // Relative to the first end, so that doubles keep nanosecond precision.
  const CollectiveEnd start = ends.front();
  std::vector<double> ahead;
  for (const CollectiveEnd& each : ends) {
    const auto own = static_cast<double>(wrapped_difference(each.own_ns, start.own_ns));
    ahead.push_back(static_cast<double>(wrapped_difference(each.other_ns, start.other_ns)) - own * (1 + drift));
  }
  const double middle = median(ahead);
  for (double& each : ahead) { each = std::fabs(each - middle); }
  const auto within = static_cast<std::size_t>(std::ceil(kShareWithin * static_cast<double>(ahead.size()))) - 1;
  std::nth_element(ahead.begin(), ahead.begin() + static_cast<std::ptrdiff_t>(within), ahead.end());
  // The line itself has an error, too, which falls with the root of the number of ends.
  const double wider = 1 + kLineErrors / std::sqrt(static_cast<double>(ahead.size()));
  const std::int64_t error = whole(std::ceil(ahead[within] * wider));
  const auto length = static_cast<double>(wrapped_difference(ends.back().own_ns, start.own_ns));
  const std::int64_t at_start = wrapped_sum(wrapped_difference(start.other_ns, start.own_ns), whole(middle));
  return {{start.own_ns, at_start, error}, {ends.back().own_ns, wrapped_sum(at_start, whole(length * drift)), error}};
}

namespace {

using Alignments = std::map<std::uint32_t, ClockAlignment>;

/// Aligns a rank to rank 0 by its readings of already aligned ranks.
ClockAlignment to_rank_0(const RankReadings& rank, const Alignments& known) {
  std::vector<ClockAlignment::Point> points;
  for (const ClockReading& each : rank.readings) {
    const auto above = known.find(each.rank);
    if (above == known.end() || each.error_ns < 0) { continue; }
    points.push_back(ClockAlignment::then({each.unix_ns, each.ahead_ns, each.error_ns}, above->second));
  }
  if (points.empty()) { return {}; }
  const auto [first, last] = std::minmax_element(points.begin(), points.end(),
                                                 [](const auto& a, const auto& b) { return a.own_ns < b.own_ns; });
  return first->own_ns == last->own_ns ? ClockAlignment(*last) : ClockAlignment(*first, *last);
}

}  // namespace

std::map<std::uint32_t, ClockAlignment> align_by_readings(const std::vector<RankReadings>& ranks) {
  Alignments known = {{0, ClockAlignment::same()}};
  for (const RankReadings& each : ranks) {
    const ClockAlignment alignment = each.rank == 0 ? ClockAlignment() : to_rank_0(each, known);
    if (alignment.is_known()) { known.emplace(each.rank, alignment); }
  }
  if (ranks.empty() || ranks.front().rank == 0) { return known; }
  const std::uint32_t first = ranks.front().rank;
  const auto found = known.find(first);
  if (found == known.end()) { return {}; }
  const ClockAlignment back = found->second.inverse();
  for (auto& [rank, alignment] : known) {
    if (rank != first) { alignment = rank == 0 ? back : alignment.then(back); }
  }
  known[first] = ClockAlignment::same();
  return known;
}

namespace {

constexpr double kShareOfUnknown = 0.95;

constexpr std::uint64_t kMaxStride = std::uint64_t{1} << 31U;

/// Mixes the number with Knuth's multiplicative hash, because all numbers may be even.
bool stays(std::int64_t step, std::uint64_t stride) noexcept {
  return (static_cast<std::uint64_t>(step) * 0x9E3779B97F4A7C15U >> 32U & (stride - 1)) == 0;
}

/// Time after a collective in its step, in ns: certain and possible.
struct Behind {
  std::int64_t surely = 0;
  std::int64_t perhaps = 0;
};

/// Regions of one step.
class StepRegions {
 public:
  StepRegions(const Snapshot& snapshot, const Row& row)
      : paths_(snapshot.paths), row_(row), batch_(snapshot.series[row.series].path) {}

  /// Returns true if the path is below the step's Batch.
  bool is_inside(std::uint32_t path) const {
    while (path != batch_ && path < paths_.size()) { path = paths_[path].parent; }
    return path == batch_;
  }

  /// Returns the time after the collective's last call. Cells are in the order in which the rank first reached them. If
  /// it was called more than once, later regions may have run between the calls.
  Behind behind(const Cell& collective) const {
    Behind sum;
    bool once = true;
    for (std::uint32_t at = collective.path; at != batch_; at = paths_[at].parent) {
      once = once && cell_of(at).calls == 1;
      sum.surely = wrapped_sum(sum.surely, later_ns(at));
      sum.perhaps = wrapped_sum(sum.perhaps, self_ns(paths_[at].parent));
    }
    if (!once) { sum = {0, wrapped_sum(sum.surely, sum.perhaps)}; }
    return sum;
  }

 private:
  Cell cell_of(std::uint32_t path) const {
    if (path == batch_) { return {path, 1, row_.host_ns, Cell::kAbsent}; }
    const auto found =
        std::find_if(row_.cells.begin(), row_.cells.end(), [&](const Cell& each) { return each.path == path; });
    return found == row_.cells.end() ? Cell{path, 0, 0, Cell::kAbsent} : *found;
  }
  /// Sums the siblings of `path` that the rank reached later.
  std::int64_t later_ns(std::uint32_t path) const {
    std::int64_t sum = 0;
    for (const Cell& each : row_.cells) {
      const bool beside = each.path < paths_.size() && paths_[each.path].parent == paths_[path].parent;
      if (beside && each.path > path) { sum = wrapped_sum(sum, std::max<std::int64_t>(each.host_ns, 0)); }
    }
    return sum;
  }
  std::int64_t self_ns(std::uint32_t path) const {
    std::int64_t inside = 0;
    for (const Cell& each : row_.cells) {
      if (each.path < paths_.size() && paths_[each.path].parent == path) { inside = wrapped_sum(inside, each.host_ns); }
    }
    return std::max<std::int64_t>(wrapped_difference(cell_of(path).host_ns, inside), 0);
  }

  const std::vector<PathStats>& paths_;
  const Row& row_;
  std::uint32_t batch_;
};

/// Aligns two ranks by their ends of one collective.
RankAlignment align_by(const CollectiveEnds::Collective& own, const CollectiveEnds::Collective& other) {
  RankAlignment alignment;
  alignment.path = own.path;
  alignment.all_steps = own.stride == 1 && other.stride == 1;
  std::vector<CollectiveEnd> ends;
  std::vector<std::int64_t> unknown;
  for (const auto& [step, end] : own.steps) {
    const auto there = other.steps.find(step);
    if (there == other.steps.end()) { continue; }
    ends.push_back({end.ns, there->second.ns});
    unknown.push_back(end.unknown_ns / 2 + there->second.unknown_ns / 2 + 1);
  }
  alignment.ends = ends.size();
  if (ends.empty()) { return alignment; }
  alignment.clock = align_by_collectives(std::move(ends));
  const auto at = static_cast<std::ptrdiff_t>(std::ceil(kShareOfUnknown * static_cast<double>(unknown.size()))) - 1;
  std::nth_element(unknown.begin(), unknown.begin() + at, unknown.end());
  alignment.unknown_ns = unknown[static_cast<std::size_t>(at)];
  return alignment;
}

bool is_better(const RankAlignment& a, const CollectiveEnds::Collective& own, const RankAlignment& b) {
  if (a.clock.is_known() != b.clock.is_known()) { return a.clock.is_known(); }
  if (!a.clock.is_known()) { return a.ends > b.ends; }
  const std::int64_t now = own.steps.begin()->second.ns;
  return a.error_ns(now) < b.error_ns(now);
}

}  // namespace

std::int64_t RankAlignment::error_ns(std::int64_t own_ns) const noexcept {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  const std::int64_t of_clock = clock.error_ns(own_ns);
  return of_clock > kMax - unknown_ns ? kMax : of_clock + unknown_ns;
}

bool CollectiveEnds::takes(const std::string& path, std::int64_t step) const {
  const auto place =
      std::find_if(collectives_.begin(), collectives_.end(), [&](const Collective& each) { return each.path == path; });
  return place == collectives_.end() ? collectives_.size() < kMaxPlaces : stays(step, place->stride);
}

void CollectiveEnds::keep(const std::string& path, std::int64_t step, const End& end) {
  auto place =
      std::find_if(collectives_.begin(), collectives_.end(), [&](const Collective& each) { return each.path == path; });
  if (place == collectives_.end()) {
    if (collectives_.size() == kMaxPlaces) { return; }
    place = collectives_.insert(place, Collective{path, 1, {}});
  }
  if (!stays(step, place->stride)) { return; }
  place->steps.emplace(step, end);
  while (place->steps.size() > max_) {
    if (place->stride == kMaxStride) { return place->steps.clear(); }  // crafted numbers that no stride thins out
    place->stride *= 2;
    for (auto at = place->steps.begin(); at != place->steps.end();) {
      at = stays(at->first, place->stride) ? std::next(at) : place->steps.erase(at);
    }
  }
}

void CollectiveEnds::add_row(const Snapshot& snapshot, const Row& row) {
  const StepRegions regions(snapshot, row);
  const std::int64_t end_ns =
      wrapped_sum(snapshot.run.start_unix_ns, wrapped_sum(row.begin_ns, std::max<std::int64_t>(row.host_ns, 0)));
  for (const Cell& each : row.cells) {
    if (each.calls == 0 || each.path >= snapshot.paths.size() || snapshot.paths[each.path].kind != Kind::comm ||
        !regions.is_inside(each.path)) {
      continue;
    }
    const std::string path = snapshot.path_name(each.path);
    if (!takes(path, row.step)) { continue; }
    const Behind behind = regions.behind(each);
    const std::int64_t ns = wrapped_difference(end_ns, wrapped_sum(behind.surely, behind.perhaps / 2));
    keep(path, row.step, {ns, std::max<std::int64_t>(behind.perhaps, 0)});
  }
}

void CollectiveEnds::add(const Snapshot& snapshot) {
  for (const Row& row : snapshot.rows) {
    if (row.series < snapshot.series.size() && snapshot.series[row.series].path < snapshot.paths.size()) {
      add_row(snapshot, row);
    }
  }
}

RankAlignment align_ranks(const CollectiveEnds& own, const CollectiveEnds& other) {
  RankAlignment best;
  for (const CollectiveEnds::Collective& here : own.collectives()) {
    for (const CollectiveEnds::Collective& there : other.collectives()) {
      if (here.path != there.path) { continue; }
      const RankAlignment alignment = align_by(here, there);
      if (best.path.empty() || is_better(alignment, here, best)) { best = alignment; }
    }
  }
  return best;
}

}  // namespace detail
TAKT_END_NAMESPACE
