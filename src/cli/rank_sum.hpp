// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "cli/merged_meters.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// The totals of several ranks of one run, path by path. Its rank is -1 and its world size how many were added up. Wall
/// time and the time that no region covers are those of the rank that has most of it; threads, series, time lines and
/// losses are named by rank. Paths, and what there is once, are in the order of the ranks that were added. One thread
/// at a time.
class RankSum {
 public:
  void add(const Snapshot& rank);
  /// The sum; of one rank that one as it is. Nothing is left here.
  Snapshot take();

 private:
  void merge(const Snapshot& rank);
  void add_run(const Snapshot& rank);
  void add_process(const ProcessTimes& process);
  void add_device(const DeviceInfo& device, const std::string& label);
  std::uint32_t add_path(const PathStats& path, const std::vector<std::uint32_t>& paths);

  Snapshot sum_;
  MergedMeters meters_;
  int merged_ = 0;
  std::optional<Snapshot> only_;  // until there is a second one
  std::set<std::tuple<std::string, std::string, std::string>> devices_;
  std::map<std::tuple<std::uint32_t, std::string, Kind>, std::uint32_t> places_;
};

}  // namespace cli
TAKT_END_NAMESPACE
