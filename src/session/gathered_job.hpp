// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/job.hpp>
#include <takt/snapshot.hpp>

#include "ranks/gathered_ranks.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Data handed over by all ranks, and the figures of the job. The figures are computed on demand, so that the training
/// thread that reduces does not wait for them. Any thread.
class GatheredJob {
 public:
  /// \param first snapshot of rank 0 at that time.
  GatheredJob(GatheredRanks part, std::shared_ptr<const Snapshot> first, std::uint32_t world_size)
      : part_(std::move(part)), first_(std::move(first)), world_size_(world_size) {}
  virtual ~GatheredJob() = default;
  GatheredJob(const GatheredJob&) = delete;
  GatheredJob& operator=(const GatheredJob&) = delete;

  /// Returns nullptr if the data is invalid; that is reported once. Virtual, so that programs without reduce() do not
  /// contain this code.
  virtual std::shared_ptr<const Job> figures();

 private:
  std::shared_ptr<const Job> make() const;

  std::mutex making_;
  bool made_ = false;
  std::shared_ptr<const Job> job_;
  // Inputs, kept until the figures are computed.
  GatheredRanks part_;
  std::shared_ptr<const Snapshot> first_;
  std::uint32_t world_size_;
};

}  // namespace detail
TAKT_END_NAMESPACE
