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

/// Returns options for a Session without files, table and threads: it works only in poll() and close().
inline takt::SessionOptions by_hand() {
  takt::SessionOptions options;
  options.files = false;
  options.table = false;
  options.background = false;
  return options;
}

/// Returns the index of the path that path_name() gives, or kNowhere.
inline std::uint32_t find_path(const takt::Snapshot& snapshot, const std::string& name) {
  for (std::uint32_t path = 0; path < snapshot.paths.size(); ++path) {
    if (snapshot.path_name(path) == name) { return path; }
  }
  return kNowhere;
}

/// Returns the calls of the path, or 0 if it does not exist.
inline std::uint64_t calls_of(const takt::Snapshot& snapshot, const std::string& name) {
  const std::uint32_t path = find_path(snapshot, name);
  return path == kNowhere ? 0 : snapshot.paths[path].host.n();
}

/// Returns the stats of the first path of that name at any depth; empty if it does not exist.
inline takt::PathStats path_called(const takt::Snapshot& snapshot, const std::string& name) {
  for (const takt::PathStats& each : snapshot.paths) {
    if (each.name == name) { return each; }
  }
  return {};
}

/// Returns all data dropped for one reason, at all paths.
inline std::uint64_t losses_of(const takt::Snapshot& snapshot, const std::string& what) {
  std::uint64_t count = 0;
  for (const takt::Loss& loss : snapshot.losses) { count += loss.what == what ? loss.count : 0; }
  return count;
}

/// Returns the rows of one Batch path, in export order.
inline std::vector<takt::Row> rows_of(const takt::MemoryExporter& memory, const std::string& batch) {
  const takt::Snapshot last = memory.last();
  const std::uint32_t path = find_path(last, batch);
  std::vector<takt::Row> rows;
  for (const takt::Row& row : memory.rows()) {
    if (row.series < last.series.size() && last.series[row.series].path == path) { rows.push_back(row); }
  }
  return rows;
}

/// Returns the cell of a path in a row, or nullptr.
inline const takt::Cell* cell_of(const takt::Row& row, std::uint32_t path) {
  for (const takt::Cell& cell : row.cells) {
    if (cell.path == path) { return &cell; }
  }
  return nullptr;
}

/// Returns the values logged under one name.
inline std::vector<takt::Metric> metrics_of(const takt::MemoryExporter& memory, const std::string& name) {
  std::vector<takt::Metric> found;
  for (const takt::Metric& metric : memory.metrics()) {
    if (metric.name == name) { found.push_back(metric); }
  }
  return found;
}

}  // namespace takt_test
