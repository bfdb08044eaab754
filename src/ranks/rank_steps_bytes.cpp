// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/encoding.hpp"
#include "ranks/rank_steps.hpp"

#include <takt/error.hpp>

#include <algorithm>

TAKT_BEGIN_NAMESPACE
namespace detail {

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
