// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/rank_steps_bytes.hpp"

#include "base/encoding.hpp"
#include "ranks/sealed_bytes.hpp"

#include <type_traits>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr SealKind kStepsSeal = {"TAKTSTEP", 1, "steps of a rank"};

[[noreturn]] void refuse_steps(const std::string& why) { refuse_bytes(kStepsSeal, why); }

}  // namespace

/// One function spells and reads each part, so that the two cannot differ.
class RankStepsBytes {
 public:
  template <class Coder, class Steps>
  static void visit(Coder& coder, Steps& steps) {
    coder.number(steps.most_values_);
    coder.number(steps.stride_);
    coder.list(steps.regions_, [](auto& inner, auto& region) {
      inner.text(region.name);
      inner.kind(region.kind);
    });
    coder.list(steps.series_, [](auto& inner, auto& batches) {
      inner.text(batches.path);
      inner.number(batches.rows);
      visit_steps(inner, batches.steps);
    });
  }

  /// Makes up what is not spelled, and refuses what no rank can have.
  static void complete(RankSteps& steps) {
    if (steps.stride_ == 0 || (steps.stride_ & (steps.stride_ - 1)) != 0 || steps.stride_ > RankSteps::kMostStride) {
      refuse_steps("their stride cannot be");
    }
    for (const JobRegion& each : steps.regions_) {
      const auto place = static_cast<std::uint32_t>(steps.places_.size());
      if (!steps.places_.emplace(std::make_pair(each.name, each.kind), place).second) {
        refuse_steps("a region comes twice");
      }
    }
    for (const RankSteps::Batches& batches : steps.series_) {
      if (batches.steps.size() > batches.rows) { refuse_steps("there are more of them than there were"); }
      for (const auto& [number, step] : batches.steps) { add_step(steps, number, step); }
    }
    if (steps.values_ > steps.most_values_) { refuse_steps("there are more of them than may be"); }
  }

 private:
  static void add_step(RankSteps& steps, std::int64_t number, const RankSteps::Step& step) {
    if (!is_kept_step(number, steps.stride_)) { refuse_steps("one is there that is not to be kept"); }
    for (const auto& [region, ns] : step.regions) {
      if (region >= steps.regions_.size()) { refuse_steps("a region is missing"); }
    }
    steps.values_ += step.values();
  }

  template <class Coder, class Step>
  static void visit_step(Coder& coder, Step& step) {
    coder.number(step.ns);
    coder.list(step.regions, [](auto& inner, auto& region) {
      inner.number(region.first);
      inner.number(region.second);
    });
  }

  template <class Steps>
  static void visit_steps(Encoder& encoder, const Steps& steps) {
    encoder.number(steps.size());
    for (const auto& [number, step] : steps) {
      encoder.number(number);
      visit_step(encoder, step);
    }
  }
  template <class Steps>
  static void visit_steps(Decoder& decoder, Steps& steps) {
    std::uint64_t count = 0;
    decoder.number(count);
    for (std::uint64_t at = 0; decoder.ok() && at < count; ++at) {
      std::int64_t number = 0;
      decoder.number(number);
      if (!steps.empty() && number <= steps.rbegin()->first) { refuse_steps("they are not in order"); }
      visit_step(decoder, steps.emplace_hint(steps.end(), number, RankSteps::Step())->second);
    }
  }
};

std::string pack(const RankSteps& steps) {
  std::string values;
  Encoder encoder(values);
  RankStepsBytes::visit(encoder, steps);
  return seal(kStepsSeal, values);
}

RankSteps unpack_steps(std::string_view bytes) {
  Decoder decoder(unseal(kStepsSeal, bytes));
  RankSteps steps;
  RankStepsBytes::visit(decoder, steps);
  if (!decoder.ok() || decoder.more()) { refuse_steps("their values are not those of steps"); }
  RankStepsBytes::complete(steps);
  return steps;
}

}  // namespace detail
TAKT_END_NAMESPACE
