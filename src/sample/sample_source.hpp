// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/sample.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What a source reads of one of its meters.
struct Reading {
  std::uint32_t meter = 0;  ///< among those of the source
  std::int64_t time_ns = 0;
  std::vector<std::int64_t> values;  ///< as in Sample; empty: none, and `lost` says why there will be none
  std::string lost;
};

/// Where samples come from. One thread at a time, on which it may wait for a driver for as long as that takes.
class SampleSource {
 public:
  using NowNs = std::function<std::int64_t()>;  ///< since the start of the run

  virtual ~SampleSource() = default;
  SampleSource(const SampleSource&) = delete;
  SampleSource& operator=(const SampleSource&) = delete;

  /// What it samples, for people: "NVIDIA GPUs".
  virtual const char* what() const noexcept = 0;
  /// Finds what there is: appends meters, and what is not there, with the reason. Once, before read().
  virtual void open(std::vector<Meter>& meters, std::vector<Unsampled>& unsampled) = 0;
  /// Appends a reading of each meter that is due. One that is lost comes once more, without values, and never again.
  virtual void read(const NowNs& now, std::vector<Reading>& readings) = 0;

 protected:
  SampleSource() = default;
};

}  // namespace detail
TAKT_END_NAMESPACE
