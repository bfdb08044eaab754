// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Returns a name as a CSV field by RFC 4180: printable, because such files are also viewed on terminals. A name with a
/// separator is quoted, with doubled quotes. Any thread.
std::string csv_field(const std::string& name);

/// Writes the lines of steps.csv. Names are quoted once, not per line. The snapshot must outlive it. Not thread-safe.
class CsvRows {
 public:
  static std::string_view head() noexcept;

  explicit CsvRows(const Snapshot& snapshot);
  /// Returns the lines of one row, each with `prefix`.
  std::string of(const Row& row, std::string_view prefix = "") const;

 private:
  std::string columns_of_row(const Row& row) const;
  std::string_view path(std::uint32_t index) const;

  const Snapshot& snapshot_;
  std::vector<std::string> paths_;
};

}  // namespace detail
TAKT_END_NAMESPACE
