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

/// What the frames of a journal say of samples. Each use() returns whether that can be. One thread at a time.
class SampledState {
 public:
  bool use(SensorsRecord& record);
  bool use(SampledRecord& record);
  bool use_samples(const Frame& frame);
  /// From here on a number that comes again is another sample.
  void end_export() noexcept { sequences_.clear(); }

  /// Meters and energies become the newest ones; new samples are added.
  void move_into(Snapshot& snapshot);
  /// The new samples, which are here no more.
  std::vector<Sample> take() noexcept { return std::exchange(samples_, {}); }
  void put(std::vector<Sample> samples) noexcept { samples_ = std::move(samples); }

 private:
  bool is_sound(const SampledRecord& record) const;

  std::vector<Sensor> sensors_;
  std::vector<Unsampled> unsampled_;
  std::vector<StepEnergy> steps_;
  std::vector<RegionEnergy> regions_;
  std::vector<Sample> samples_;  // new ones
  std::unordered_set<std::uint64_t> sequences_;
};

/// What the frames of a journal add up to. What a frame refers to and no frame has told of, because that was lost, gets
/// the name "(lost)", so that every index in the snapshot leads somewhere. One thread at a time.
class JournalState {
 public:
  enum class Answer { taken, unknown, unreadable };

  /// Takes one frame.
  /// \param seen_bytes of the journal up to its end: as many paths, threads and series as these can tell of, there may
  /// be.
  Answer apply(const Frame& frame, std::uint64_t seen_bytes = 0);
  /// Forgets everything: what follows is another journal.
  void clear();

  /// `snapshot` becomes the newest state, but for rows, metrics and samples, which are added to those that it has.
  void move_into(Snapshot& snapshot);

  /// Rows that wait for device values leave as they stand, behind all others. Returns whether there were any.
  bool release_early();

  bool ended() const noexcept { return ended_; }
  std::int64_t last_time_unix_ns() const noexcept { return last_time_unix_ns_; }
  std::uint64_t states() const noexcept { return states_; }
  /// Of each series, by number, what earlier Sessions of the process had counted as the run began; short: nothing of
  /// the others.
  const std::vector<std::uint64_t>& earlier_steps() const noexcept { return earlier_steps_; }

 private:
  using Sequences = std::unordered_set<std::uint64_t>;

  template <class Record, bool (JournalState::*Into)(Record&)>
  bool take(const Frame& frame);

  bool use(RunInfo& run);
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
  std::vector<Row> rows_;  // new ones
  std::vector<Metric> metrics_;
  std::map<std::uint64_t, Row> early_;  // that wait, by their numbers
  std::uint64_t next_row_ = 0;          // behind the last one
  // Of this export: one that was cut off by a full disk is followed by one with the same rows in it.
  Sequences row_sequences_;
  Sequences metric_sequences_;
  SampledState sampled_;
  GapRecord gap_;
  bool ended_ = false;
  std::int64_t last_time_unix_ns_ = 0;
  std::uint64_t states_ = 0;
  std::vector<std::uint64_t> earlier_steps_;
  std::uint64_t max_indices_ = 0;  // of paths, threads and series, by what was seen so far
};

}  // namespace detail
TAKT_END_NAMESPACE
