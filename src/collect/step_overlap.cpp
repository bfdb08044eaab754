// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "collect/step_overlap.hpp"

#include <algorithm>
#include <map>
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

/// What of `piece` lies beside `cover`, whose intervals are in order and apart.
std::int64_t beside(const Interval& piece, const Intervals& cover) {
  auto each = std::lower_bound(cover.begin(), cover.end(), piece,
                               [](const Interval& a, const Interval& b) { return a.second <= b.first; });
  std::int64_t length = piece.second - piece.first;
  for (; each != cover.end() && each->first < piece.second; ++each) {
    length -= std::min(each->second, piece.second) - std::max(each->first, piece.first);
  }
  return length;
}

/// What of `all` lies in `window`.
Intervals inside(const Intervals& all, const Interval& window) {
  Intervals result;
  for (const Interval& each : all) {
    const Interval part{std::max(each.first, window.first), std::min(each.second, window.second)};
    if (part.first < part.second) { result.push_back(part); }
  }
  return result;
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
  Activity(const std::vector<PlacedSpan>& spans, Surroundings& around)
      : around_(around), begin_(spans.front().begin_ns), end_(spans.front().end_ns) {
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
    Intervals cover = both(compute_, other_);
    Intervals busy = both(both(cover, comm_), io_);
    for (const PlacedSpan& other : around_.others) {
      busy.emplace_back(other.begin_ns, other.end_ns);
      const bool computes = other.kind != Kind::comm && other.kind != Kind::io;
      if (computes) { cover.emplace_back(other.begin_ns, other.end_ns); }
    }
    const Interval computing = known(spans, true);
    result.comm_exposed_least_ns = least_beside(inside(sure_comm_, computing), cover);
    result.io_exposed_least_ns = least_beside(inside(sure_io_, computing), cover);
    Interval all = known(spans, false);
    all.first = std::max(all.first, around_.idle_told_until_ns);
    if (all.first < all.second) {
      busy = inside(busy, all);
      result.idle_least_ns = all.second - all.first - length_of(busy);
      around_.idle_told_until_ns = all.second;
    }
    length_of(unsure_);  // joins what touches
    for (const PlacedSpan& span : spans) {
      if (span.kind == Kind::comm && is_undecided(span)) { ++result.undecided; }
      const bool carries = (span.kind == Kind::comm || span.kind == Kind::io) && !span.is_frame;
      if (carries && span.queued_ns > span.begin_ns) { ++result.maybe_idle; }
      add_wait(result, span);
    }
    return result;
  }

 private:
  struct Open {
    std::int64_t end_ns;
    Kind kind;
    bool known;  // that it does something: not between the spans of a Batch
    std::int64_t queued_ns;
  };

  /// For how long at least something ran that is not covered.
  /// \param sure when it ran, but for what lies between events.
  static std::int64_t least_beside(Intervals sure, Intervals cover) {
    const std::int64_t cover_ns = length_of(cover);
    std::int64_t between_ns = 0;
    for (const Interval& each : sure) { between_ns += std::min(beside(each, cover), kBetweenEventsNs); }
    sure.insert(sure.end(), cover.begin(), cover.end());
    return std::max<std::int64_t>(length_of(sure) - cover_ns - between_ns, 0);
  }

  /// When it is known what the streams did that compute, or all of them: behind the last span of a stream it may be at
  /// a later step, whose spans have not come.
  Interval known(const std::vector<PlacedSpan>& spans, bool those_that_compute) const {
    std::map<std::uint32_t, Surroundings::Stream> streams = around_.streams;
    for (const PlacedSpan& span : spans) {
      const bool computes = (span.kind == Kind::compute || span.kind == Kind::other) && !span.is_frame;
      Surroundings::Stream& stream = streams.insert({span.stream, {span.end_ns, false}}).first->second;
      stream.known_until_ns = std::max(stream.known_until_ns, span.end_ns);
      stream.computes = stream.computes || computes;
    }
    Interval window{std::max(begin_, around_.known_from_ns), end_};
    bool any = false;
    for (const auto& [number, stream] : streams) {
      if (those_that_compute && !stream.computes) { continue; }
      any = true;
      window.first = std::max(window.first, stream.known_from_ns);
      window.second = std::min(window.second, std::max(stream.known_until_ns, around_.alone_until_ns));
    }
    return any && window.first < window.second ? window : Interval{begin_, begin_};
  }

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
      Open next{span.end_ns, span.kind, !span.is_frame, span.queued_ns};
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
        add_sure(sure_comm_, what, interval);
        break;
      case Kind::io:
        io_.push_back(interval);
        add_sure(sure_io_, what, interval);
        break;
      case Kind::wait:
        break;
      case Kind::other:
        other_.push_back(interval);
    }
  }

  static void add_sure(Intervals& sure, const Open& what, const Interval& interval) {
    const std::int64_t from = std::max(interval.first, what.queued_ns);
    if (from < interval.second) { sure.emplace_back(from, interval.second); }
  }

  /// Where a stream computed all the while, and no span says when it waited.
  bool is_undecided(const PlacedSpan& comm) const {
    return std::any_of(unsure_.begin(), unsure_.end(), [&comm](const Interval& each) {
      return each.first <= comm.begin_ns && comm.end_ns <= each.second;
    });
  }

  Surroundings& around_;
  std::int64_t begin_;
  std::int64_t end_;
  Intervals compute_;
  Intervals comm_;
  Intervals io_;
  Intervals other_;
  Intervals sure_comm_;  // of comm_, when it is certain that it ran
  Intervals sure_io_;
  Intervals unsure_;  // computing, on streams without a region of Kind::wait
};

}  // namespace

Overlap overlap_of(std::vector<PlacedSpan>& spans, Surroundings& around) {
  std::reverse(spans.begin(), spans.end());  // results of an outer region come after those inside it
  std::stable_sort(spans.begin(), spans.end(), [](const PlacedSpan& a, const PlacedSpan& b) {
    if (a.stream != b.stream) { return a.stream < b.stream; }
    return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns > b.end_ns;
  });
  return Activity(spans, around).overlap(spans);
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
  sum.maybe_idle += one.maybe_idle;
  add_exposed(sum.comm_exposed_ns, one.comm_exposed_ns);
  add_exposed(sum.io_exposed_ns, one.io_exposed_ns);
  add_exposed(sum.other_exposed_ns, one.other_exposed_ns);
}

}  // namespace detail
TAKT_END_NAMESPACE
