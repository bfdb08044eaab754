// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporters/memory.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace takt_test {

inline constexpr std::uint32_t kNowhere = 0xFFFFFFFF;

/// A Session without files, table and threads: what happens, happens in poll() and close().
inline takt::SessionOptions by_hand() {
  takt::SessionOptions options;
  options.files = false;
  options.table = false;
  options.background = false;
  return options;
}

/// Index of the path that path_name() gives, kNowhere if there is none.
inline std::uint32_t find_path(const takt::Snapshot& snapshot, const std::string& name) {
  for (std::uint32_t path = 0; path < snapshot.paths.size(); ++path) {
    if (snapshot.path_name(path) == name) { return path; }
  }
  return kNowhere;
}

/// Calls of the path, 0 if there is none.
inline std::uint64_t calls_of(const takt::Snapshot& snapshot, const std::string& name) {
  const std::uint32_t path = find_path(snapshot, name);
  return path == kNowhere ? 0 : snapshot.paths[path].host.n();
}

/// What the first path of that name tells, wherever it lies; nothing if there is none.
inline takt::PathStats path_called(const takt::Snapshot& snapshot, const std::string& name) {
  for (const takt::PathStats& each : snapshot.paths) {
    if (each.name == name) { return each; }
  }
  return {};
}

/// All that was lost for one reason, in whichever place.
inline std::uint64_t losses_of(const takt::Snapshot& snapshot, const std::string& what) {
  std::uint64_t count = 0;
  for (const takt::Loss& loss : snapshot.losses) { count += loss.what == what ? loss.count : 0; }
  return count;
}

/// The rows of one Batch path, in the order in which they were shown.
inline std::vector<takt::Row> rows_of(const takt::MemoryExporter& memory, const std::string& batch) {
  const takt::Snapshot last = memory.last();
  const std::uint32_t path = find_path(last, batch);
  std::vector<takt::Row> rows;
  for (const takt::Row& row : memory.rows()) {
    if (row.series < last.series.size() && last.series[row.series].path == path) { rows.push_back(row); }
  }
  return rows;
}

/// The cell of a path in a row; nullptr if it has none.
inline const takt::Cell* cell_of(const takt::Row& row, std::uint32_t path) {
  for (const takt::Cell& cell : row.cells) {
    if (cell.path == path) { return &cell; }
  }
  return nullptr;
}

/// The values logged under one name.
inline std::vector<takt::Metric> metrics_of(const takt::MemoryExporter& memory, const std::string& name) {
  std::vector<takt::Metric> found;
  for (const takt::Metric& metric : memory.metrics()) {
    if (metric.name == name) { found.push_back(metric); }
  }
  return found;
}

}  // namespace takt_test
