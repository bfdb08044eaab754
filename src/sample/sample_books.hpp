// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/sample.hpp>
#include <takt/snapshot.hpp>

#include "sample/energy_books.hpp"
#include "sample/meter_books.hpp"
#include "sample/sample_queue.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What the samples of a run come to: its meters with their figures, the energy of steps and regions, and the newest
/// samples. One thread at a time.
class SampleBooks {
 public:
  /// \param interval_ns between two samples.
  /// \param most_recent samples that are kept for between().
  SampleBooks(std::int64_t interval_ns, std::size_t most_recent);

  /// Takes what threads have left; its samples get their numbers. Returns the meters that are lost from now on.
  std::vector<std::uint32_t> take(SampleQueue::News& news);
  /// What was recorded meanwhile. \param traced spans are there, and Batches are among them.
  void add(const std::vector<Row>& rows, const std::vector<Span>& spans, bool traced);
  /// Shares energy out. \param end nothing more will come.
  void settle(bool end);

  /// Fills in meters, and energies; of the snapshot it uses series and paths.
  void tell(Snapshot& snapshot) const;
  /// Appends what is counted as lost.
  void tell_losses(std::vector<Loss>& losses) const;
  const std::vector<Meter>& meters() const noexcept { return meters_; }

  /// The samples from the last before `begin_ns` to the first behind `end_ns` of each meter, as far back as they are
  /// kept.
  std::vector<Sample> between(std::int64_t begin_ns, std::int64_t end_ns) const;

 private:
  std::size_t most_recent_;
  std::vector<Meter> meters_;
  std::vector<Unsampled> unsampled_;
  std::vector<MeterBooks> books_;  // by meter
  EnergyBooks energy_;
  std::deque<Sample> recent_;
  std::uint64_t next_ = 0;
};

}  // namespace detail
TAKT_END_NAMESPACE
