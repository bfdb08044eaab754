// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "base/file.hpp"
#include "cli/aligned_ranks.hpp"
#include "report/counter_tracks.hpp"

#include <cstdint>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// One time line of several ranks: a process for each, all by one clock. The file appears when it is whole. Journals go
/// through it in parts. One thread at a time.
class JobTrace {
 public:
  /// \throws takt::Error where the file cannot be written, as all of these do.
  explicit JobTrace(const std::string& file);

  void write(const AlignedRanks& run);
  std::uint64_t slices() const noexcept { return slices_; }

 private:
  void add_rank(const AlignedRank& each);
  void add_steps(const AlignedRank& each, const Snapshot& snapshot);
  void add_samples(const AlignedRank& each, const Snapshot& snapshot, detail::CounterTracks& tracks);
  void add_end(const AlignedRank& each, const Snapshot& snapshot);
  void add_slice(const AlignedRank& each, std::int64_t begin_ns, std::int64_t length_ns, const ThreadInfo& thread,
                 const std::string& name, Kind kind);
  void add(const std::string& event);
  void must(bool written);

  detail::WholeFile file_;
  std::int64_t origin_ns_ = 0;  // when the first of them began, by the common clock
  std::uint64_t slices_ = 0;
  bool is_first_ = true;
};

}  // namespace cli
TAKT_END_NAMESPACE
