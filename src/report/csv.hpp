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

/// A name as a field of CSV by RFC 4180: printable, as such files are also looked at on terminals; one with a separator
/// in it is quoted, and its quotes are doubled. Any thread.
std::string csv_field(const std::string& name);

/// The lines of steps.csv. Names are quoted once, not once a line. The snapshot has to outlive it. One thread at a
/// time.
class CsvRows {
 public:
  static std::string_view head() noexcept;

  explicit CsvRows(const Snapshot& snapshot);
  /// The lines of one row, each with `prefix` in front.
  std::string of(const Row& row, std::string_view prefix = "") const;

 private:
  std::string columns_of_row(const Row& row) const;
  std::string_view path(std::uint32_t index) const;

  const Snapshot& snapshot_;
  std::vector<std::string> paths_;
};

}  // namespace detail
TAKT_END_NAMESPACE
