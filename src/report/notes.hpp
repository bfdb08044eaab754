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

/// Appends what is to be said below the table of each Batch path, of all threads and ranks together: its rate and how
/// well that is known, what lies between its Batches, what is left out. A statement a line, printable. Any thread.
void add_throughputs(const Snapshot& snapshot, std::vector<std::string>& lines);

/// What stands below the table, a statement a line, unwrapped: rates, then what the figures contain and what they do
/// not. What a finding tells already is left out. Printable. Any thread.
struct Notes {
  std::vector<std::string> rates;
  std::vector<std::string> caveats;
};
Notes notes_of(const Snapshot& snapshot);

/// Whether it is of several ranks together.
inline bool is_job(const Snapshot& snapshot) noexcept { return snapshot.run.rank < 0; }

/// The name of a path for people: printable, at most `columns`, cut at the start. Any thread.
std::string path_label(const Snapshot& snapshot, std::uint32_t path, std::size_t columns = 60);

/// The name of a thread for people: printable, at most 40 columns. Any thread.
std::string thread_label(const Snapshot& snapshot, std::uint32_t thread);
std::string thread_label(const std::string& name);
/// "thread loader" of "loader", and "thread 1" of a thread of that name, which nobody has named. Any thread.
inline std::string on_thread(const std::string& label) {
  return label.rfind("thread ", 0) == 0 ? label : "thread " + label;
}
inline const char* plural(std::uint64_t n) noexcept { return n == 1 ? "" : "s"; }

/// Returns the plural of what items() counts, as Session::unit() says; else "samples". Printable. Any thread.
std::string item_unit(const Snapshot& snapshot);

/// What is a smaller share of a figure than this is not worth a line below the table.
inline constexpr double kWorthALine = 0.1;

}  // namespace detail
TAKT_END_NAMESPACE
