// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/summary.hpp>

#include "trackers/protobuf.hpp"

#include <cstdint>
#include <string>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {

// What an event file is made of: records of TFRecord, each with one message Event of TensorBoard's. All: any thread.

/// `record` with its length before it, and a checksum behind each of the two.
std::string tfrecord(std::string_view record);

/// The first message of a file.
Protobuf version_event(double wall_time_s);
/// A number, which becomes a float: that is what TensorBoard shows. Beyond its range it is infinite.
Protobuf scalar_event(double wall_time_s, std::int64_t step, const std::string& tag, double value);
/// The durations after warm-up, in seconds.
Protobuf histogram_event(double wall_time_s, std::int64_t step, const std::string& tag, const Summary& durations);

}  // namespace detail
TAKT_END_NAMESPACE
