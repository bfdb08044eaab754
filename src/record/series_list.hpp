// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/tree.hpp>
#include <takt/snapshot.hpp>

#include "record/step_series.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The series of steps of all threads, those of threads that have ended included. Its lock is held for moments. Any
/// thread.
class SeriesList {
 public:
  static constexpr std::size_t kMost = 1024;
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  /// The path of the process at which a node of any tree stands.
  using PathOf = std::function<std::uint32_t(const Node*)>;

  /// The number of a new series; kNone where there is no room.
  /// \param batch in `tree`, which outlives the series.
  std::uint32_t add(std::uint32_t thread, const Tree& tree, const Node& batch, const StepSeries& series) noexcept;
  /// What each series of `tree` has come to; they may be destroyed then.
  void finish(const Tree& tree, const PathOf& path_of);
  /// All, in the order of their numbers.
  void read(std::vector<Series>& out, const PathOf& path_of);
  /// Whether there is one.
  bool has_any() const noexcept { return has_any_.load(std::memory_order_relaxed); }

 private:
  struct Slot {
    const Tree* tree = nullptr;
    const Node* batch = nullptr;
    const StepSeries* live = nullptr;  // nullptr once `value` is final
    Series value;
  };
  static void read_live(Slot& slot, const PathOf& path_of);

  std::mutex mutex_;
  std::vector<Slot> slots_;
  std::atomic<bool> has_any_{false};
};

}  // namespace detail
TAKT_END_NAMESPACE
