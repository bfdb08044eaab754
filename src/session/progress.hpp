// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Writes how far a run is: on a terminal a line over itself each second, elsewhere a line each minute; and a line at
/// the end of each Epoch. A reader that takes nothing never blocks it: then lines are left out. Not thread-safe.
class Progress {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// \param file descriptor to write to; not owned.
  Progress(int file, bool terminal, std::size_t columns) noexcept
      : file_(file), terminal_(terminal), columns_(columns) {}

  /// Takes what was recorded since the last call, and writes if it is time to. \throws std::bad_alloc
  /// \param snapshot with the Epochs so far; its own rows and metrics are not read.
  void add(const Snapshot& snapshot, const std::vector<Row>& rows, const std::vector<Metric>& metrics, Time now);
  /// Removes the line from a terminal.
  void finish() noexcept;

 private:
  static constexpr std::size_t kMaxMetrics = 4;

  std::string line(const Snapshot& snapshot, const std::string& unit);
  bool write(const std::string& text) noexcept;

  int file_;
  bool terminal_;
  std::size_t columns_;
  bool has_line_ = false;
  Time next_{};
  std::size_t epochs_ = 0;  // of which there was a line
  std::int64_t step_ = -1;
  std::int64_t from_ns_ = -1;  // end of the last step of the line before
  std::int64_t to_ns_ = -1;
  double items_ = 0;  // since then
  double steps_ = 0;
  std::vector<std::pair<std::string, double>> metrics_;
};

}  // namespace detail
TAKT_END_NAMESPACE
