// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "process/step_overlap.hpp"

#include <algorithm>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using Interval = std::pair<std::int64_t, std::int64_t>;
using Intervals = std::vector<Interval>;

/// Returns the length of the union of the intervals, and joins those that touch.
std::int64_t length_of(Intervals& intervals) {
  std::sort(intervals.begin(), intervals.end());
  Intervals joined;
  std::int64_t length = 0;
  for (const Interval& each : intervals) {
    if (!joined.empty() && each.first <= joined.back().second) {
      const std::int64_t until = std::max(joined.back().second, each.second);
      length += until - joined.back().second;
      joined.back().second = until;
    } else {
      length += each.second - each.first;
      joined.push_back(each);
    }
  }
  intervals = std::move(joined);
  return length;
}

/// Adds a value to a sum; both may be absent.
void add_exposed(std::optional<std::int64_t>& sum, std::optional<std::int64_t> ns) noexcept {
  if (ns) { sum = *ns + sum.value_or(0); }
}

void add_wait(Overlap& overlap, const PlacedSpan& span) noexcept {
  const std::int64_t ns = span.end_ns - span.begin_ns;
  if (span.waits_for == Exposed::For::comm) { add_exposed(overlap.comm_exposed_ns, ns); }
  if (span.waits_for == Exposed::For::io) { add_exposed(overlap.io_exposed_ns, ns); }
  if (span.waits_for == Exposed::For::other) { add_exposed(overlap.other_exposed_ns, ns); }
}

/// The activity of a device, as recorded by spans.
class Activity {
 public:
  explicit Activity(const std::vector<PlacedSpan>& spans) : begin_(spans.front().begin_ns), end_(spans.front().end_ns) {
    for (const PlacedSpan& span : spans) {
      begin_ = std::min(begin_, span.begin_ns);
      end_ = std::max(end_, span.end_ns);
    }
    for (std::size_t first = 0; first < spans.size();) {
      std::size_t last = first;
      while (last < spans.size() && spans[last].stream == spans[first].stream) { ++last; }
      add_stream(spans, first, last);
      first = last;
    }
  }

  Overlap overlap(const std::vector<PlacedSpan>& spans) {
    Overlap result;
    result.span_ns = end_ - begin_;
    result.comm_ns = length_of(comm_);
    result.io_ns = length_of(io_);
    result.compute_ns = length_of(compute_);
    length_of(unsure_);  // joins touching intervals
    for (const PlacedSpan& span : spans) {
      if (span.kind == Kind::comm && is_undecided(span)) { ++result.undecided; }
      add_wait(result, span);
    }
    return result;
  }

 private:
  struct Open {
    std::int64_t end_ns;
    Kind kind;
    bool known;  // false between the spans of a Batch: the activity is unknown
  };

  /// Adds the spans of one stream, sorted by begin, outer spans before inner ones.
  void add_stream(const std::vector<PlacedSpan>& spans, std::size_t first, std::size_t last) {
    bool waits = false;
    for (std::size_t at = first; at < last; ++at) { waits = waits || spans[at].kind == Kind::wait; }
    std::vector<Open> open;
    std::int64_t from = spans[first].begin_ns;
    const auto until = [&](std::int64_t ns) {
      if (ns > from && !open.empty()) { add(open.back(), {from, ns}, waits); }
      from = std::max(from, ns);
    };
    for (std::size_t at = first; at < last; ++at) {
      const PlacedSpan& span = spans[at];
      while (!open.empty() && open.back().end_ns <= span.begin_ns) {
        until(open.back().end_ns);
        open.pop_back();
      }
      until(span.begin_ns);
      Open next{span.end_ns, span.kind, !span.is_frame};
      if (next.known && next.kind == Kind::other && !open.empty() && open.back().known) {
        next.kind = open.back().kind;
      }
      open.push_back(next);
    }
    for (; !open.empty(); open.pop_back()) { until(open.back().end_ns); }
  }

  void add(const Open& what, const Interval& interval, bool waits) {
    if (!what.known) { return; }
    switch (what.kind) {
      case Kind::compute:
        compute_.push_back(interval);
        if (!waits) { unsure_.push_back(interval); }
        break;
      case Kind::comm:
        comm_.push_back(interval);
        break;
      case Kind::io:
        io_.push_back(interval);
        break;
      case Kind::wait:
      case Kind::other:
        break;
    }
  }

  /// Returns true if a stream computed throughout the span and has no wait regions.
  bool is_undecided(const PlacedSpan& comm) const {
    return std::any_of(unsure_.begin(), unsure_.end(), [&comm](const Interval& each) {
      return each.first <= comm.begin_ns && comm.end_ns <= each.second;
    });
  }

  std::int64_t begin_;
  std::int64_t end_;
  Intervals compute_;
  Intervals comm_;
  Intervals io_;
  Intervals unsure_;  // computing, on streams without a region of Kind::wait
};

}  // namespace

Overlap overlap_of(std::vector<PlacedSpan>& spans) {
  std::reverse(spans.begin(), spans.end());  // results of an outer region arrive after those inside it
  std::stable_sort(spans.begin(), spans.end(), [](const PlacedSpan& a, const PlacedSpan& b) {
    if (a.stream != b.stream) { return a.stream < b.stream; }
    return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns > b.end_ns;
  });
  return Activity(spans).overlap(spans);
}

void add_overlap(Overlap& sum, const Overlap& one) noexcept {
  sum.span_ns += one.span_ns;
  sum.compute_ns += one.compute_ns;
  sum.comm_ns += one.comm_ns;
  sum.io_ns += one.io_ns;
  sum.undecided += one.undecided;
  add_exposed(sum.comm_exposed_ns, one.comm_exposed_ns);
  add_exposed(sum.io_exposed_ns, one.io_exposed_ns);
  add_exposed(sum.other_exposed_ns, one.other_exposed_ns);
}

}  // namespace detail
TAKT_END_NAMESPACE
