// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "journal/journal_format.hpp"
#include "journal/journal_records.hpp"

#include <takt/snapshot.hpp>

#include <cstdint>
#include <map>
#include <unordered_set>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// State of samples in a journal's frames. Each use() returns false for invalid contents. Not thread-safe.
class SampledState {
 public:
  bool use(SensorsRecord& record);
  bool use(SampledRecord& record);
  bool use_samples(const Frame& frame);
  /// Ends an export: sequence numbers that repeat later are new samples.
  void end_export() noexcept { sequences_.clear(); }

  /// Replaces sensors and energies by the newest ones, and appends new samples.
  void move_into(Snapshot& snapshot);
  /// Removes and returns the new samples.
  std::vector<Sample> take() noexcept { return std::exchange(samples_, {}); }
  void put(std::vector<Sample> samples) noexcept { samples_ = std::move(samples); }

 private:
  bool is_sound(const SampledRecord& record) const;

  std::vector<Sensor> sensors_;
  std::vector<Unsampled> unsampled_;
  std::vector<StepEnergy> steps_;
  std::vector<RegionEnergy> regions_;
  std::vector<Sample> samples_;  // new samples
  std::unordered_set<std::uint64_t> sequences_;
};

/// The accumulated state of a journal's frames. Referenced objects whose frames were lost get the name "(lost)", so
/// that every index in the snapshot is valid. Not thread-safe.
class JournalState {
 public:
  enum class Answer { taken, unknown, unreadable };

  /// Applies one frame.
  /// \param seen_bytes bytes of the journal up to the frame's end; limits the number of paths, threads and series.
  Answer apply(const Frame& frame, std::uint64_t seen_bytes = 0);
  /// Resets the state before another journal.
  void clear();

  /// Replaces `snapshot` by the newest state; new rows, metrics and samples are appended to its own.
  void move_into(Snapshot& snapshot);

  /// Releases rows that wait for device values, in their current state, after all others. Returns true if there were
  /// any.
  bool release_early();

  bool ended() const noexcept { return ended_; }
  std::int64_t last_time_unix_ns() const noexcept { return last_time_unix_ns_; }
  std::uint64_t states() const noexcept { return states_; }
  /// Returns the steps per series that earlier Sessions of the process had counted before the run. Missing entries are
  /// 0.
  const std::vector<std::uint64_t>& earlier_steps() const noexcept { return earlier_steps_; }

 private:
  using Sequences = std::unordered_set<std::uint64_t>;

  template <class Record, bool (JournalState::*Into)(Record&)>
  bool take(const Frame& frame);

  bool use(RunInfo& run);
  bool use(MachineInfo& machine);
  bool use(ClockInfo& clock);
  bool use(PathRecord& record);
  bool use(ThreadRecord& record);
  bool use(SeriesRecord& record);
  bool use_param(NoteRecord& note);
  bool use_tag(NoteRecord& note);
  bool use(TotalsRecord& record);
  bool use(LossesRecord& record);
  bool use(OpenRecord& record);
  bool use(Row& row);
  bool use_rows(const Frame& frame);
  bool use_metrics(const Frame& frame);
  bool use_samples(const Frame& frame);
  bool use(EarlyRecord& record);
  bool use(RowAmendment& amendment);
  bool use(DevicesRecord& record);
  bool use(TimeLinesRecord& record);
  bool use(GroupsRecord& record);
  bool use(SensorsRecord& record);
  bool use(SampledRecord& record);
  bool use(ClockReadingsRecord& record);
  bool use(RegionMemoriesRecord& record);
  bool use(Metric& metric);
  bool use(GapRecord& gap);
  bool use(PeriodRecord& period);
  bool use(Uncaught& uncaught);
  bool use(EndRecord& end);

  bool has_path(std::uint32_t index);
  bool has_thread(std::uint32_t index);
  bool has_series(std::uint32_t index);
  bool has_all_of(const Row& row);
  void add(Row&& row);

  Snapshot state_;
  std::vector<Row> rows_;  // new rows
  std::vector<Metric> metrics_;
  std::map<std::uint64_t, Row> early_;  // waiting rows, by their early numbers
  std::uint64_t next_row_ = 0;          // number after the last row
  // Numbers seen in this export: after one cut off by a full disk, the next one repeats its rows.
  Sequences row_sequences_;
  Sequences metric_sequences_;
  SampledState sampled_;
  GapRecord gap_;
  bool ended_ = false;
  std::int64_t last_time_unix_ns_ = 0;
  std::uint64_t states_ = 0;
  std::vector<std::uint64_t> earlier_steps_;
  std::uint64_t max_indices_ = 0;  // limit for paths, threads and series, from the bytes seen so far
};

}  // namespace detail
TAKT_END_NAMESPACE
