// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/encoding.hpp"
#include "base/summary_coding.hpp"
#include "ranks/packed_record.hpp"
#include "ranks/record_coding.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// Serialises the record of one rank. Paths that differ only in their kind are merged.
class RecordPacker {
 public:
  RecordPacker(const Snapshot& snapshot, std::uint32_t rank, std::string& out)
      : snapshot_(snapshot), paths_(snapshot.paths), rank_(rank), out_(out) {
    list_children();
    spell_total(static_cast<std::uint64_t>(std::max<std::int64_t>(snapshot.wall_ns, 0)));
    add_paths();
  }

 private:
  /// Sibling paths with one name: [begin, end) of arranged_.
  struct Place {
    std::size_t begin;
    std::size_t end;
    std::size_t depth;
  };

  std::size_t top() const noexcept { return paths_.size(); }

  void list_children() {
    first_.assign(top() + 2, 0);
    for (const PathStats& each : paths_) { ++first_[parent_of(each) + 1]; }
    for (std::size_t at = 1; at < first_.size(); ++at) { first_[at] += first_[at - 1]; }
    children_.resize(paths_.size());
    std::vector<std::size_t> next(first_);
    for (std::uint32_t path = 0; path < paths_.size(); ++path) { children_[next[parent_of(paths_[path])]++] = path; }
  }
  std::size_t parent_of(const PathStats& path) const noexcept { return path.parent == kNoIndex ? top() : path.parent; }
  void arrange_children_of(std::size_t path) {
    arranged_.insert(arranged_.end(), children_.begin() + static_cast<std::ptrdiff_t>(first_[path]),
                     children_.begin() + static_cast<std::ptrdiff_t>(first_[path + 1]));
  }

  /// Adds paths by name, outer ones first. Not recursive, because paths may be nested deeply.
  void add_paths() {
    std::string spelled;
    std::uint64_t count = 0;
    out_.swap(spelled);  // the number of paths is written first
    std::vector<Place> waiting;
    arranged_.reserve(paths_.size());
    arrange_children_of(top());
    wait_for(0, 0, waiting);
    while (!waiting.empty()) {
      const Place place = waiting.back();
      waiting.pop_back();
      add_place(place);
      ++count;
      const std::size_t begin = arranged_.size();
      for (std::size_t at = place.begin; at < place.end; ++at) { arrange_children_of(arranged_[at]); }
      wait_for(begin, place.depth + 1, waiting);
    }
    out_.swap(spelled);
    encoder_.number(count);
    out_ += spelled;
  }
  /// Pushes the most recently arranged places, from `begin` on, so that the first is popped first.
  void wait_for(std::size_t begin, std::size_t depth, std::vector<Place>& waiting) {
    const auto from = arranged_.begin() + static_cast<std::ptrdiff_t>(begin);
    std::sort(from, arranged_.end(), [this](std::uint32_t a, std::uint32_t b) {
      const int order = paths_[a].name.compare(paths_[b].name);
      return order != 0 ? order > 0 : a < b;
    });
    for (std::size_t at = begin, next = at; at < arranged_.size(); at = next) {
      while (next < arranged_.size() && paths_[arranged_[next]].name == paths_[arranged_[at]].name) { ++next; }
      waiting.push_back({at, next, depth});
    }
  }

  void add_place(const Place& place) {
    const PathStats& first = paths_[arranged_[place.begin]];
    ends_.resize(place.depth);
    names_.resize(place.depth == 0 ? 0 : ends_.back());
    Encoder(names_).text(first.name);
    ends_.push_back(names_.size());
    encoder_.number(ends_.size());
    encoder_.spelled(names_);
    if (place.end - place.begin == 1) { return spell(first.kind, first.host, first.device, open_ns_of(place)); }
    Kind kind = first.kind;
    Summary host;
    Summary device;
    for (std::size_t at = place.begin; at < place.end; ++at) {
      const PathStats& each = paths_[arranged_[at]];
      kind = std::min(kind, each.kind);
      host.merge(each.host);
      device.merge(each.device);
    }
    spell(kind, host, device, open_ns_of(place));
  }
  /// Returns the time of regions that have not ended.
  std::uint64_t open_ns_of(const Place& place) const noexcept {
    std::uint64_t sum = 0;
    for (std::size_t at = place.begin; at < place.end; ++at) {
      const std::uint32_t path = arranged_[at];
      sum = bounded_sum(sum, snapshot_.time_so_far_ns(path) - paths_[path].host.total_ns());
    }
    return sum;
  }
  void spell(Kind kind, const Summary& host, const Summary& device, std::uint64_t open_ns) {
    encoder_.kind(kind);
    spell(host, open_ns);
    const bool has_device = device.n() != 0;
    encoder_.number(has_device);
    if (has_device) { spell(device, 0); }
  }
  void spell(const Summary& summary, std::uint64_t open_ns) {
    const SummaryScalars numbers = SummaryAccess::scalars(summary);
    std::string_view counts = SummaryAccess::packed(summary.histogram());
    const std::string unpacked = counts.data() == nullptr ? counts_of(summary.histogram()) : std::string();
    if (counts.data() == nullptr) { counts = unpacked; }
    visit_summary(encoder_, numbers, counts);
    spell_total(bounded_sum(summary.total_ns(), open_ns));
  }
  /// Writes a spread of this rank alone.
  void spell_total(std::uint64_t ns) {
    RankSpread& spread = spread_;
    spread.ranks = 1;
    spread.sum_ns = ns;
    spread.squares = static_cast<Wide>(ns) * ns;
    spread.min = spread.max = {ns, rank_};
    std::uint64_t unbinned = 0;
    const std::string counts = counts_of_one(histogram_value(ns));
    std::string_view spelled = counts;
    visit_spread(encoder_, spread, unbinned, spelled);
  }

  const Snapshot& snapshot_;
  const std::vector<PathStats>& paths_;
  const std::uint32_t rank_;
  std::string& out_;
  Encoder encoder_{out_};
  std::vector<std::size_t> first_;  // start of each path's children in children_; top() is the top level
  std::vector<std::uint32_t> children_;
  std::vector<std::uint32_t> arranged_;
  std::string names_;              // encoded names of the path and its ancestors
  std::vector<std::size_t> ends_;  // end of each in names_
  RankSpread spread_;
};

}  // namespace

std::string pack_record(const Snapshot& snapshot, std::uint32_t rank) {
  std::string values;
  const RecordPacker packer(snapshot, rank, values);
  return seal(kRankSeal, values);
}

}  // namespace detail
TAKT_END_NAMESPACE
