// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/counter.hpp>
#include <takt/detail/not_cancelled.hpp>
#include <takt/summary.hpp>

#include <cstdint>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Adds `from` to `sum`, as it stands between two updates. The thread that writes it counts `version`, which is odd
/// during an update. Where one update does not end for some 20 ms its writer is taken for gone, left behind by a fork
/// or stopped below the caller's signal handler; then a part of that update may be in the sum.
inline void merge_whole(const Counter& version, const Summary& from, Summary& sum) noexcept {
  constexpr unsigned kTries = 300;
  std::uint64_t last = 0;
  for (unsigned same = 0; same < kTries;) {
    const std::uint64_t before = version.get();
    const Summary copy = from;  // NOLINT(performance-unnecessary-copy-initialization): another thread may write `from`
    if ((before & 1U) == 0 && version.get() == before) { return sum.merge(copy); }
    same = before == last ? same + 1 : 0;
    last = before;
    rest();  // the writer needs some nanoseconds, or its turn on this core
  }
  sum.merge(from);
}

/// What a Timer keeps of one key beside the tree: the most recent durations, and for backends whose results come later,
/// their summary. One thread writes at a time; any may read.
struct TimedKey {
  static constexpr std::uint32_t kRecent = 1024;

  std::uint64_t hash = 0;
  char name[201] = "?";  ///< of the first region; constant once published
  TimedKey* next = nullptr;
  Counter version;  // odd while being written
  Summary results;
  Summary without_path;  ///< the host's time of calls that found no path in the tree
  Counter count;         // durations so far
  Relaxed<std::int64_t> recent[kRecent];

  void add(std::uint64_t ns, bool summarise) noexcept {
    const std::uint64_t at = begin_write();
    if (summarise) { add_to(results, ns); }
    recent[count.own() % kRecent].set(static_cast<std::int64_t>(ns));
    count.add(1);
    version.set(at + 2);
  }
  void add_without_path(std::uint64_t ns) noexcept {
    const std::uint64_t at = begin_write();
    add_to(without_path, ns);
    version.set(at + 2);
  }
  /// Any thread.
  void merge_into(Summary& sum) const noexcept { merge_whole(version, results, sum); }

 private:
  std::uint64_t begin_write() noexcept {
    const std::uint64_t at = version.own() & ~std::uint64_t{1};  // odd: a fork has left its writer behind
    version.set(at + 1);
    return at;
  }
  static void add_to(Summary& summary, std::uint64_t ns) noexcept {
    if (summary.n() == 0) {
      summary.add_first(ns);
    } else {
      summary.add(ns);
    }
  }
};

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
