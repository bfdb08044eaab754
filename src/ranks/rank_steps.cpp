// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/rank_steps.hpp"

#include "base/encoding.hpp"
#include "base/statistics.hpp"
#include "findings/step_history.hpp"

#include <takt/detail/memory.hpp>
#include <takt/error.hpp>
#include <takt/snapshot.hpp>

#include <algorithm>
#include <cmath>

TAKT_BEGIN_NAMESPACE
namespace detail {

std::vector<double> window_medians(const std::vector<double>& by_step) {
  std::vector<double> medians;
  for (std::size_t window = 0; window < kStepWindows; ++window) {
    const StepWindow steps = step_window(window, by_step.size());
    const auto begin = by_step.begin() + static_cast<std::ptrdiff_t>(steps.first);
    medians.push_back(median({begin, begin + static_cast<std::ptrdiff_t>(steps.steps())}));
  }
  return medians;
}

std::vector<double> window_distances(const std::vector<double>& by_step) {
  const std::vector<double> medians = window_medians(by_step);
  std::vector<double> distances;
  for (std::size_t window = 0; window < kStepWindows; ++window) {
    const StepWindow steps = step_window(window, by_step.size());
    const auto n = static_cast<double>(steps.steps());
    const double wider = std::sqrt(n / (n - 1));
    for (std::size_t step = steps.first; step < steps.last; ++step) {
      distances.push_back(wider * std::fabs(by_step[step] - medians[window]));
    }
  }
  return distances;
}

namespace {

constexpr const char* kFurtherPaths = "(further paths)";

std::uint64_t positive_ns(std::int64_t ns) { return ns < 0 ? 0 : static_cast<std::uint64_t>(ns); }

/// Returns the path below the Batch: "Forward/Attention".
std::string name_below(const Snapshot& snapshot, std::uint32_t path, std::uint32_t batch) {
  std::string name;
  for (std::uint32_t at = path; at != batch && at < snapshot.paths.size(); at = snapshot.paths[at].parent) {
    name = snapshot.paths[at].name + (name.empty() ? "" : "/") + name;
  }
  return name;
}

/// Excludes waits for data, which are the rank's own.
std::int64_t exposed_ns(const Snapshot& snapshot, const Row& row) {
  const bool on_streams =
      std::any_of(row.cells.begin(), row.cells.end(), [](const Cell& each) { return each.device_ns >= 0; });
  if (!on_streams && row.complete) { return 0; }
  const Exposed exposed = Exposed::of(snapshot, row);
  const bool known = exposed.comm_ns || exposed.other_ns;
  if (!known || !row.complete) { return RankSteps::Step::kUnknown; }
  return static_cast<std::int64_t>(
      bounded_sum(positive_ns(exposed.comm_ns.value_or(0)), positive_ns(exposed.other_ns.value_or(0))));
}

}  // namespace

std::size_t values_of_a_rank(std::size_t ranks) noexcept {
  constexpr std::size_t kOfAll = std::size_t{1} << 23U;
  const std::size_t count = std::max<std::size_t>(ranks, 1);
  return std::min(std::clamp<std::size_t>(kOfAll / count, 1U << 10U, 1U << 16U), kMaxComparedValues / count);
}

/// Mixes the number first (the finalizer of MurmurHash3), because all numbers may be odd or end in 1.
bool is_kept_step(std::int64_t number, std::uint64_t stride) noexcept {
  auto mixed = static_cast<std::uint64_t>(number);
  mixed = (mixed ^ (mixed >> 33U)) * 0xFF51AFD7ED558CCDU;
  mixed = (mixed ^ (mixed >> 33U)) * 0xC4CEB9FE1A85EC53U;
  return ((mixed ^ (mixed >> 33U)) & (stride - 1)) == 0;
}

std::uint32_t RankSteps::region_of(const Snapshot& snapshot, std::uint32_t path, std::uint32_t batch, bool on_stream) {
  const bool known = path < snapshot.paths.size();
  const JobRegion region{known ? name_below(snapshot, path, batch) : kFurtherPaths,
                         known ? snapshot.paths[path].kind : Kind::other, on_stream};
  const auto [place, is_new] = places_.emplace(region, static_cast<std::uint32_t>(regions_.size()));
  if (is_new) { regions_.push_back(region); }
  return place->second;
}

RankSteps::Step RankSteps::step_of(const Snapshot& snapshot, const Row& row, std::uint32_t batch, Named& named) {
  Step step;
  step.ns = positive_ns(row.host_ns);
  const auto add = [&](const std::vector<OwnTime>& times, bool on_stream) {
    step.regions.reserve(step.regions.size() + times.size());
    for (const OwnTime& each : times) {
      const auto [place, is_new] = named.emplace(std::make_tuple(each.path, batch, on_stream), 0);
      if (is_new) { place->second = region_of(snapshot, each.path, batch, on_stream); }
      step.regions.emplace_back(place->second, each.ns);
    }
  };
  add(own_times(snapshot, row), false);
  add(own_stream_times(snapshot, row), true);
  step.exposed_ns = exposed_ns(snapshot, row);
  return step;
}

void RankSteps::thin() {
  const bool none = stride_ >= kMaxStride;
  if (!none) { stride_ *= 2; }
  for (Batches& each : series_) {
    for (auto at = each.steps.begin(); at != each.steps.end();) {
      if (!none && is_kept_step(at->first, stride_)) {
        ++at;
        continue;
      }
      values_ -= at->second.values();
      at = each.steps.erase(at);
    }
  }
}

void RankSteps::add(const Snapshot& snapshot, const std::vector<Row>& rows) {
  Named named;  // valid for this snapshot only; the next may be of another rank
  for (const Row& row : rows) {
    if (row.series >= snapshot.series.size() || row.warmup) { continue; }
    if (row.series >= series_.size()) { series_.resize(row.series + std::size_t{1}); }
    const std::uint32_t batch = snapshot.series[row.series].path;
    Batches& batches = series_[row.series];
    if (batches.rows++ == 0) { batches.path = snapshot.path_name(batch); }
    if (!is_kept_step(row.step, stride_)) { continue; }
    const auto [step, is_new] = batches.steps.try_emplace(row.step);
    if (!is_new) { continue; }
    step->second = step_of(snapshot, row, batch, named);
    values_ += step->second.values();
    while (values_ > max_values_) { thin(); }
  }
}

const RankSteps::Batches* RankSteps::main_batches() const noexcept {
  const auto max = std::max_element(series_.begin(), series_.end(),
                                    [](const Batches& a, const Batches& b) { return a.rows < b.rows; });
  return max == series_.end() || max->rows == 0 ? nullptr : &*max;
}

const RankSteps::Batches* RankSteps::batches_at(const std::string& path) const noexcept {
  const Batches* max = nullptr;
  for (const Batches& each : series_) {
    if (each.rows != 0 && each.path == path && (max == nullptr || max->rows < each.rows)) { max = &each; }
  }
  return max;
}

// Encoding of a rank's steps: stride; regions (name, kind, on streams); series (path, rows, steps). A step has its
// number, length and exposed wait, as differences to the previous step. Next is 0 if its regions equal the previous
// step's, else their number plus one and their indices. Last are the region times, as differences if the regions are
// equal. Similar steps take about three bytes per value.
namespace {

[[noreturn]] void refuse_steps(const char* why) { throw Error(std::string("steps of a rank: ") + why); }

std::int64_t as_signed(std::uint64_t ns) noexcept { return static_cast<std::int64_t>(ns); }

bool same_regions(const RankSteps::Regions& a, const RankSteps::Regions& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& one, const auto& other) { return one.first == other.first; });
}

void spell_difference(Encoder& out, std::int64_t value, std::int64_t before) {
  out.number(wrapped_difference(value, before));
}

void spell_step(Encoder& out, const RankSteps::Step& step, const RankSteps::Step& before) {
  spell_difference(out, as_signed(step.ns), as_signed(before.ns));
  spell_difference(out, step.exposed_ns, before.exposed_ns);
  const bool same = same_regions(step.regions, before.regions);
  out.number(same ? 0 : step.regions.size() + 1);
  if (!same) {
    for (const auto& each : step.regions) { out.number(each.first); }
  }
  for (std::size_t at = 0; at < step.regions.size(); ++at) {
    spell_difference(out, as_signed(step.regions[at].second), same ? as_signed(before.regions[at].second) : 0);
  }
}

std::int64_t read_difference(Decoder& in, std::int64_t before) {
  std::int64_t difference = 0;
  in.number(difference);
  return wrapped_sum(before, difference);
}

void read_step(Decoder& in, RankSteps::Step& step, const RankSteps::Step& before) {
  step.ns = static_cast<std::uint64_t>(read_difference(in, as_signed(before.ns)));
  step.exposed_ns = read_difference(in, before.exposed_ns);
  std::uint64_t count = 0;
  in.number(count);
  if (count == 0) {
    step.regions = before.regions;
  } else {
    if (count - 1 > in.left().size()) { refuse_steps("fewer bytes than values"); }
    step.regions.resize(static_cast<std::size_t>(count - 1));
    for (auto& each : step.regions) { in.number(each.first); }
  }
  for (auto& each : step.regions) {
    each.second = static_cast<std::uint64_t>(read_difference(in, count == 0 ? as_signed(each.second) : 0));
  }
}

}  // namespace

/// Writes and reads the steps.
class RankStepsBytes {
 public:
  static void spell_all(Encoder& out, const RankSteps& steps) {
    out.number(steps.stride_);
    out.list(steps.regions_, [](Encoder& inner, const JobRegion& region) {
      inner.text(region.name);
      inner.kind(region.kind);
      inner.number(region.on_stream);
    });
    out.list(steps.series_, [](Encoder& inner, const RankSteps::Batches& batches) {
      inner.text(batches.path);
      inner.number(batches.rows);
      inner.number(batches.steps.size());
      std::int64_t number = 0;
      const RankSteps::Step none;
      const RankSteps::Step* before = &none;
      for (const auto& [next, step] : batches.steps) {
        spell_difference(inner, next, number);
        spell_step(inner, step, *before);
        number = next;
        before = &step;
      }
    });
  }

  static RankSteps read_all(Decoder& in) {
    RankSteps steps(~std::size_t{0});
    in.number(steps.stride_);
    const std::uint64_t stride = steps.stride_;
    if (stride == 0 || (stride & (stride - 1)) != 0 || stride > RankSteps::kMaxStride) {
      refuse_steps("invalid stride");
    }
    in.list(steps.regions_, [](Decoder& inner, JobRegion& region) {
      inner.text(region.name);
      inner.kind(region.kind);
      inner.number(region.on_stream);
    });
    for (const JobRegion& each : steps.regions_) {
      const auto place = static_cast<std::uint32_t>(steps.places_.size());
      if (!steps.places_.emplace(each, place).second) { refuse_steps("duplicate region"); }
    }
    in.list(steps.series_, [&steps](Decoder& inner, RankSteps::Batches& batches) {
      inner.text(batches.path);
      inner.number(batches.rows);
      read_steps(inner, batches, steps);
    });
    if (!in.ok()) { refuse_steps("truncated data"); }
    steps.max_values_ = steps.values_;
    return steps;
  }

 private:
  static void read_steps(Decoder& in, RankSteps::Batches& batches, RankSteps& steps) {
    std::uint64_t count = 0;
    in.number(count);
    if (count > batches.rows) { refuse_steps("more steps than rows"); }
    std::int64_t number = 0;
    const RankSteps::Step none;
    const RankSteps::Step* before = &none;
    for (std::uint64_t at = 0; in.ok() && at < count; ++at) {
      number = read_difference(in, number);
      if (at != 0 && number <= batches.steps.rbegin()->first) { refuse_steps("steps are not in order"); }
      RankSteps::Step& step = batches.steps.emplace_hint(batches.steps.end(), number, RankSteps::Step())->second;
      read_step(in, step, *before);
      for (const auto& each : step.regions) {
        if (each.first >= steps.regions_.size()) { refuse_steps("a region is missing"); }
      }
      steps.values_ += step.values();
      before = &step;
    }
  }
};

std::string pack(const RankSteps& steps) {
  std::string bytes;
  Encoder encoder(bytes);
  RankStepsBytes::spell_all(encoder, steps);
  return bytes;
}

RankSteps unpack_steps(std::string_view bytes) {
  Decoder decoder(bytes);
  RankSteps steps = RankStepsBytes::read_all(decoder);
  if (decoder.more()) { refuse_steps("trailing bytes"); }
  return steps;
}

}  // namespace detail
TAKT_END_NAMESPACE
