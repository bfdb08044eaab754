// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Appends the lines below the table for each Batch path, over all threads and ranks: rate and its precision, time
/// between Batches, excluded periods. One printable statement per line. Any thread.
void add_throughputs(const Snapshot& snapshot, std::vector<std::string>& lines);

/// Lines below the table, one unwrapped statement per line: rates, then scope and limitations of the figures. Skips
/// what a finding already reports. Printable. Any thread.
struct Notes {
  std::vector<std::string> rates;
  std::vector<std::string> caveats;
};
Notes notes_of(const Snapshot& snapshot);

/// Returns the machine and the program in one line, without the host and the command; empty: unknown. Printable. Any
/// thread.
std::string machine_text(const Snapshot& snapshot);

/// Returns true for a snapshot of several ranks.
inline bool is_job(const Snapshot& snapshot) noexcept { return snapshot.run.rank < 0; }

/// Returns a path's name for people: printable, at most `columns`, cut at the start. Any thread.
std::string path_label(const Snapshot& snapshot, std::uint32_t path, std::size_t columns = 60);

/// Returns a thread's name for people: printable, at most 40 columns. Any thread.
std::string thread_label(const Snapshot& snapshot, std::uint32_t thread);
std::string thread_label(const std::string& name);
/// Returns "thread loader" for "loader", and "thread 1" for an unnamed thread. Any thread.
inline std::string on_thread(const std::string& label) {
  return label.rfind("thread ", 0) == 0 ? label : "thread " + label;
}
inline const char* plural(std::uint64_t n) noexcept { return n == 1 ? "" : "s"; }

/// Returns the plural unit of items(), as set by Session::unit(); "samples" by default. Printable. Any thread.
std::string item_unit(const Snapshot& snapshot);

/// Minimum share of a figure that is worth a line below the table.
inline constexpr double kWorthALine = 0.1;

}  // namespace detail
TAKT_END_NAMESPACE
