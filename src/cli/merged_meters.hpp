// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// What several ranks have sampled. A device, the processors and the machine are there once, however many ranks have
/// sampled them: by the rank that did so for longest. A value; one thread at a time.
class MergedMeters {
 public:
  /// \param label of the rank, such as "rank 3".
  /// \param first_series index of its first series in the sum.
  void add(const Snapshot& rank, const std::string& label, std::uint32_t first_series);
  void move_into(Snapshot& sum);

 private:
  struct Owned {
    Meter meter;
    std::size_t rank = 0;  // whose figures these are
  };
  template <class Energy>
  using OfRanks = std::vector<std::pair<std::size_t, Energy>>;

  std::uint32_t add_meter(const Meter& meter, const Snapshot& rank, const std::string& label);

  std::size_t ranks_ = 0;
  std::vector<Owned> meters_;
  std::map<std::pair<Meter::Kind, std::string>, std::uint32_t> places_;
  OfRanks<StepEnergy> steps_;
  OfRanks<RegionEnergy> regions_;
  std::set<std::pair<std::string, std::string>> unsampled_;
};

}  // namespace cli
TAKT_END_NAMESPACE
