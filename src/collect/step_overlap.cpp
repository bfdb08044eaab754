// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "collect/step_overlap.hpp"

#include <algorithm>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using Interval = std::pair<std::int64_t, std::int64_t>;
using Intervals = std::vector<Interval>;

/// The length that the intervals cover together; joins those that touch.
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

Intervals both(const Intervals& a, const Intervals& b) {
  Intervals all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

/// Of which one may be absent.
void add_exposed(std::int64_t& sum, std::int64_t ns) noexcept {
  if (ns != Overlap::kAbsent) { sum = ns + (sum == Overlap::kAbsent ? 0 : sum); }
}

void add_wait(Overlap& overlap, const PlacedSpan& span) noexcept {
  const std::int64_t ns = span.end_ns - span.begin_ns;
  if (span.waits_for == Exposed::For::comm) { add_exposed(overlap.comm_exposed_ns, ns); }
  if (span.waits_for == Exposed::For::io) { add_exposed(overlap.io_exposed_ns, ns); }
  if (span.waits_for == Exposed::For::other) { add_exposed(overlap.other_exposed_ns, ns); }
}

/// What a device did, as far as spans tell.
class Activity {
 public:
  explicit Activity(const std::vector<PlacedSpan>& spans) {
    for (std::size_t first = 0; first < spans.size();) {
      std::size_t last = first;
      while (last < spans.size() && spans[last].stream == spans[first].stream) { ++last; }
      add_stream(spans, first, last);
      first = last;
    }
  }

  Overlap overlap(const std::vector<PlacedSpan>& spans) {
    Overlap result;
    result.comm_ns = length_of(comm_);
    result.io_ns = length_of(io_);
    result.compute_ns = length_of(compute_);
    Intervals cover = both(compute_, other_);
    const std::int64_t cover_ns = length_of(cover);
    Intervals with_comm = both(cover, comm_);
    Intervals with_io = both(cover, io_);
    result.comm_exposed_least_ns = length_of(with_comm) - cover_ns;
    result.io_exposed_least_ns = length_of(with_io) - cover_ns;
    Intervals busy = both(with_comm, io_);
    length_of(unsure_);  // joins what touches
    std::int64_t begin = spans.front().begin_ns;
    std::int64_t end = spans.front().end_ns;
    for (const PlacedSpan& span : spans) {
      begin = std::min(begin, span.begin_ns);
      end = std::max(end, span.end_ns);
      if (span.kind == Kind::comm && is_undecided(span)) { ++result.undecided; }
      add_wait(result, span);
    }
    result.span_ns = end - begin;
    result.idle_least_ns = result.span_ns - length_of(busy);
    return result;
  }

 private:
  struct Open {
    std::int64_t end_ns;
    Kind kind;
    bool known;  // that it does something: not between the spans of a Batch
  };

  /// The spans of one stream, which begin in order, an outer one before those inside it.
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
        break;
      case Kind::other:
        other_.push_back(interval);
    }
  }

  /// Where a stream computed all the while, and no span says when it waited.
  bool is_undecided(const PlacedSpan& comm) const {
    return std::any_of(unsure_.begin(), unsure_.end(), [&comm](const Interval& each) {
      return each.first <= comm.begin_ns && comm.end_ns <= each.second;
    });
  }

  Intervals compute_;
  Intervals comm_;
  Intervals io_;
  Intervals other_;
  Intervals unsure_;  // computing, on streams without a region of Kind::wait
};

}  // namespace

Overlap overlap_of(std::vector<PlacedSpan>& spans) {
  std::reverse(spans.begin(), spans.end());  // results of an outer region come after those inside it
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
  sum.comm_exposed_least_ns += one.comm_exposed_least_ns;
  sum.io_exposed_least_ns += one.io_exposed_least_ns;
  sum.idle_least_ns += one.idle_least_ns;
  sum.undecided += one.undecided;
  add_exposed(sum.comm_exposed_ns, one.comm_exposed_ns);
  add_exposed(sum.io_exposed_ns, one.io_exposed_ns);
  add_exposed(sum.other_exposed_ns, one.other_exposed_ns);
}

}  // namespace detail
TAKT_END_NAMESPACE
