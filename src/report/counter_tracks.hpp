// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A point of a curve on a time line.
struct CounterValue {
  std::string track;  ///< "cuda 0 power"
  const char* unit;   ///< "W"
  double value;
};

/// Makes curves of samples: what counts up is told as how fast it does. One thread at a time.
class CounterTracks {
 public:
  /// Of the next sample of its meter; without a meter, none.
  std::vector<CounterValue> values(const Snapshot& snapshot, const Sample& sample);

 private:
  std::map<std::uint32_t, Sample> last_;  // by meter
};

}  // namespace detail
TAKT_END_NAMESPACE
