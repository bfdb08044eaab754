// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "tensorboard/tensorboard_events.hpp"

#include "base/crc32c.hpp"

#include <cmath>
#include <limits>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

// Fields of Event, Summary, Summary.Value and HistogramProto.
enum Event : std::uint32_t { kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5 };
enum Value : std::uint32_t { kValue = 1, kTag = 1, kSimpleValue = 2, kHistogram = 5 };
enum Bins : std::uint32_t { kMin = 1, kMax = 2, kNumber = 3, kSum = 4, kSquares = 5, kLimits = 6, kCounts = 7 };

std::string little_endian(std::uint64_t value, unsigned bytes) {
  std::string text;
  for (unsigned at = 0; at < bytes; ++at) { text += static_cast<char>((value >> (8U * at)) & 0xFFU); }
  return text;
}

/// Rotated, and off by a constant: a checksum of data that hold checksums would be a weak one.
std::string checksum(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return little_endian(((crc >> 15U) | (crc << 17U)) + 0xA282EAD8U, 4);
}

double in_seconds(double ns) { return ns / 1e9; }
double lowest_s(unsigned bucket) { return in_seconds(static_cast<double>(Histogram::lowest_ns(bucket))); }

Protobuf event_of(double wall_time_s, std::int64_t step, const Protobuf& value) {
  const Protobuf summary = Protobuf().message(kValue, value);
  return Protobuf().real(kWallTime, wall_time_s).number(kStep, step).message(kSummary, summary);
}

}  // namespace

std::string tfrecord(std::string_view record) {
  const std::string length = little_endian(record.size(), 8);
  return (length + checksum(length)).append(record) + checksum(record);
}

Protobuf version_event(double wall_time_s) {
  return Protobuf().real(kWallTime, wall_time_s).text(kFileVersion, "brain.Event:2");
}

Protobuf scalar_event(double wall_time_s, std::int64_t step, const std::string& tag, double value) {
  const bool is_beyond = std::isfinite(value) && std::abs(value) > std::numeric_limits<float>::max();
  const double shown = is_beyond ? std::copysign(std::numeric_limits<double>::infinity(), value) : value;
  return event_of(wall_time_s, step, Protobuf().text(kTag, tag).real32(kSimpleValue, static_cast<float>(shown)));
}

Protobuf histogram_event(double wall_time_s, std::int64_t step, const std::string& tag, const Summary& durations) {
  // The upper ends of buckets, each of which begins where the one before ends, and the first at the minimum.
  std::vector<double> limits;
  std::vector<double> counts;
  durations.histogram().each([&](unsigned bucket, std::uint64_t count) {
    if (!limits.empty() && limits.back() < lowest_s(bucket)) {
      limits.push_back(lowest_s(bucket));
      counts.push_back(0);
    }
    limits.push_back(lowest_s(bucket + 1));
    counts.push_back(static_cast<double>(count));
  });
  const Protobuf bins = Protobuf()
                            .real(kMin, in_seconds(static_cast<double>(durations.min_ns())))
                            .real(kMax, in_seconds(static_cast<double>(durations.max_ns())))
                            .real(kNumber, static_cast<double>(durations.measured_n()))
                            .real(kSum, in_seconds(static_cast<double>(durations.measured_total_ns())))
                            .real(kSquares, static_cast<double>(durations.sum_of_squares()) / 1e18)
                            .reals(kLimits, limits)
                            .reals(kCounts, counts);
  return event_of(wall_time_s, step, Protobuf().text(kTag, tag).message(kHistogram, bins));
}

}  // namespace detail
TAKT_END_NAMESPACE
