// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/counter.hpp>
#include <takt/key.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A rank among those that are compared.
struct JobRank {
  std::uint32_t number = 0;
  std::string host;
  std::string group;  ///< "stage 2": it is compared with the ranks of the same group; empty: there are no groups
  int stage = kNoStage;
  unsigned micro_batches = 0;  ///< as the rank tells; 0: it does not

  static constexpr int kNoStage = -1;
};

/// A region within a step. Its times are its own: what regions inside it took is left out. Where a region has work on
/// streams, what the host took and what they took are two.
struct JobRegion {
  std::string name;
  Kind kind = Kind::other;
  bool on_stream = false;  ///< its stream spans, beside which the host does something else

  /// Whether a rank may spend its time there because others are late.
  bool waits() const noexcept { return kind == Kind::comm || kind == Kind::wait; }
  /// For people.
  std::string label() const { return on_stream ? name + " (on streams)" : name; }

  friend bool operator<(const JobRegion& a, const JobRegion& b) {
    return std::tie(a.name, a.kind, a.on_stream) < std::tie(b.name, b.kind, b.on_stream);
  }
};

/// What each rank spent in each step that all of them have, in ns: the step itself, and its regions. Warm-up steps are
/// left out by who fills it in. Ranks, regions and steps are named by their places. A value; one thread at a time.
class StepTimes {
 public:
  StepTimes(std::vector<JobRank> ranks, std::vector<JobRegion> regions, std::size_t steps)
      : ranks_(std::move(ranks)),
        regions_(std::move(regions)),
        steps_(steps),
        ns_(layers(regions_.size()) * ranks_.size() * steps) {}

  /// How many times are kept of a rank's step.
  static constexpr std::size_t layers(std::size_t regions) noexcept { return regions + 2; }

  const std::vector<JobRank>& ranks() const noexcept { return ranks_; }
  const std::vector<JobRegion>& regions() const noexcept { return regions_; }
  std::size_t steps() const noexcept { return steps_; }

  std::uint64_t& step_ns(std::size_t rank, std::size_t step) noexcept { return at(regions_.size(), rank, step); }
  std::uint64_t step_ns(std::size_t rank, std::size_t step) const noexcept { return at(regions_.size(), rank, step); }
  std::uint64_t& region_ns(std::size_t region, std::size_t rank, std::size_t step) noexcept {
    return at(region, rank, step);
  }
  std::uint64_t region_ns(std::size_t region, std::size_t rank, std::size_t step) const noexcept {
    return at(region, rank, step);
  }
  /// For how long streams stood still until others had come; 0 where that is not known of each rank.
  std::uint64_t& exposed_ns(std::size_t rank, std::size_t step) noexcept { return at(regions_.size() + 1, rank, step); }
  std::uint64_t exposed_ns(std::size_t rank, std::size_t step) const noexcept {
    return at(regions_.size() + 1, rank, step);
  }
  /// The step less its waiting: that of the host or that of streams, whichever is longer, as a host may wait while a
  /// stream does. 0 where they say that they waited longer than the step took.
  std::uint64_t busy_ns(std::size_t rank, std::size_t step) const noexcept {
    const std::uint64_t host = host_ns(rank, step, [](const JobRegion& region) { return region.waits(); });
    return less(step_ns(rank, step), std::max(host, exposed_ns(rank, step)));
  }
  std::vector<double> busy_by_step(std::size_t rank) const {
    std::vector<double> busy;
    for (std::size_t step = 0; step < steps_; ++step) { busy.push_back(static_cast<double>(busy_ns(rank, step))); }
    return busy;
  }
  /// The step less all its regions.
  std::uint64_t rest_ns(std::size_t rank, std::size_t step) const noexcept {
    return less(step_ns(rank, step), host_ns(rank, step, [](const JobRegion&) { return true; }));
  }
  /// How long the steps took on the rank that took longest: the time of the job.
  double job_ns() const noexcept {
    std::uint64_t longest = 0;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      std::uint64_t sum = 0;
      for (std::size_t step = 0; step < steps_; ++step) { sum = bounded_sum(sum, step_ns(rank, step)); }
      if (sum > longest) { longest = sum; }
    }
    return static_cast<double>(longest);
  }

 private:
  static std::uint64_t less(std::uint64_t whole, std::uint64_t taken) noexcept {
    return taken < whole ? whole - taken : 0;
  }
  /// What the host took in regions.
  template <class Which>
  std::uint64_t host_ns(std::size_t rank, std::size_t step, Which which) const noexcept {
    std::uint64_t taken = 0;
    for (std::size_t region = 0; region < regions_.size(); ++region) {
      const JobRegion& each = regions_[region];
      if (!each.on_stream && which(each)) { taken = bounded_sum(taken, region_ns(region, rank, step)); }
    }
    return taken;
  }
  std::size_t place(std::size_t layer, std::size_t rank, std::size_t step) const noexcept {
    return (layer * ranks_.size() + rank) * steps_ + step;
  }
  std::uint64_t& at(std::size_t layer, std::size_t rank, std::size_t step) noexcept {
    return ns_[place(layer, rank, step)];
  }
  std::uint64_t at(std::size_t layer, std::size_t rank, std::size_t step) const noexcept {
    return ns_[place(layer, rank, step)];
  }

  std::vector<JobRank> ranks_;
  std::vector<JobRegion> regions_;
  std::size_t steps_ = 0;
  std::vector<std::uint64_t> ns_;  // by region, then the steps themselves, then what streams waited
};

}  // namespace detail
TAKT_END_NAMESPACE
