// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// G10: slowdown of a step by regions, compared with that by the minimum of bare events.
#include "device/gpu_check.hpp"

#include <array>

namespace gpu_check {
namespace {

constexpr std::uint64_t kStep = 7'000'000;  // ns of kernels
constexpr int kRounds = 100;                // rounds of all three kinds
constexpr takt::Key Piece{"Piece", takt::Kind::compute};

enum Kind { neither, bare, regions };

void step(const Stream& stream, Events& events, int pieces, Kind kind) {
  for (int piece = 0; piece < pieces; ++piece) {
    if (kind == regions) {
      takt::Scope s(Piece, static_cast<cudaStream_t>(stream));
      spin(stream, kStep / pieces);
    } else {
      if (kind == bare) { REQUIRE_CUDA(cudaEventRecord(events.next(), stream)); }
      spin(stream, kStep / pieces);
      if (kind == bare) { REQUIRE_CUDA(cudaEventRecord(events.next(), stream)); }
    }
  }
}

std::string percent(double more) { return takt::detail::format("{:+.2f} %", 100 * more); }

/// The kinds alternate, so that a GPU that warms up affects all alike.
void compare(int pieces) {
  const Stream stream;
  Events events(512);
  std::array<std::vector<double>, 3> taken;
  for (int round = -2; round < kRounds; ++round) {  // the first rounds create events and load the kernel
    for (int turn = 0; turn < 3; ++turn) {
      const Kind kind = static_cast<Kind>((turn + round + 3) % 3);
      const std::uint64_t begin = host_ns();
      {
        takt::Scope batch(takt::Batch);
        step(stream, events, pieces, kind);
      }
      stream.finish();  // the queue must not hold more records than one step has: they would be skipped
      if (round >= 0) { taken[kind].push_back(static_cast<double>(host_ns() - begin)); }
    }
  }
  const double without = percentile(taken[neither], 0.5);
  const double by_events = percentile(taken[bare], 0.5) / without - 1;
  const double by_regions = percentile(taken[regions], 0.5) / without - 1;
  const double beside = (1 + by_regions) / (1 + by_events) - 1;
  const std::string what = takt::detail::format("{} region(s) in a step of {}", pieces, micro(without));
  if (pieces <= 10) {
    say("G10", what + ", beside one with none", "at most 0.5 % more", percent(by_regions), by_regions <= 0.005);
  } else {
    report("G10", what + ", beside one with none", percent(by_regions));
  }
  report("G10", what + ": by as many pairs of bare cuEventRecord", percent(by_events));
  say("G10", what + ", beside these", "at most 0.5 % more", percent(beside), beside <= 0.005);
}

}  // namespace

void steps(int max) {
  for (int pieces = 1; pieces <= max; pieces *= 10) { compare(pieces); }
  takt::complete(std::chrono::seconds(10));
  const Spans spans = spans_of(Piece);
  say("G10", "spans of all these regions that are missing", "0",
      takt::detail::format("{}", spans.entered - spans.timed), spans.entered == spans.timed);
}

}  // namespace gpu_check
