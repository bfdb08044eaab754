// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporter.hpp>
#include <takt/snapshot.hpp>

#include "process/collector.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

using Time = std::chrono::steady_clock::time_point;

/// Feeds one exporter: keeps what it has not acknowledged (8 MiB at the most, then the oldest goes, counted) and calls
/// it, on a thread of its own or on the caller's. What the exporter throws stays in here.
class ExportWorker {
 public:
  static constexpr std::chrono::milliseconds kPause{20};  ///< between two tries at the end
  static constexpr std::size_t kMaxBacklog = 8U << 20U;   ///< bytes

  explicit ExportWorker(std::unique_ptr<Exporter> exporter) : exporter_(std::move(exporter)) {}

  const char* name() const noexcept { return exporter_->name(); }

  /// What the exporter is to begin with, before all else. Before any other thread knows it.
  void open(std::shared_ptr<const Snapshot> opening) noexcept { opening_ = std::move(opening); }
  /// Has the exporter begin, unless it has; when this returns it has. Any thread.
  void begin_once() noexcept;
  /// Waits until it has begun; false if it has not by `deadline`. Any thread.
  bool wait_started(Time deadline) noexcept;
  /// Sees to it that the next offer() needs no memory. Throws std::bad_alloc where there is none. One thread at a time
  /// with that.
  void make_space();
  /// Gives new values; returns at once. Any thread, after make_space().
  void offer(const std::shared_ptr<const Snapshot>& snapshot, const std::shared_ptr<const Drained>& drained) noexcept;
  /// The last snapshot has been offered; everything is to be done by `deadline`.
  void finish_by(Time deadline) noexcept;
  /// Shows the exporter what was offered, if anything was; after the last snapshot, shuts it down, unless it asks to
  /// see the same again and there is time: then call again. One thread at a time.
  void run_once() noexcept;
  /// run_once() until it is finished. Call it on a thread that may wait.
  void run() noexcept;
  /// Waits until the exporter has finished; false if it has not by `deadline`. Any thread.
  bool wait(Time deadline) noexcept;
  /// It has finished, and taken everything of the end. Any thread.
  bool delivered() noexcept;

  /// Rows, metrics and spans that it will not get. Any thread.
  std::uint64_t lost();

  bool started = false;  ///< has a thread of its own; the Session's to use

 private:
  using Drains = std::vector<std::shared_ptr<const Drained>>;
  bool show_or_wait(Drains& shown) noexcept;
  ExportResult show(const Snapshot& offered, const Drains& shown);
  bool answered(ExportResult result, const Drains& shown) noexcept;
  void shut_down(Time deadline) noexcept;
  void trim() noexcept;

  std::unique_ptr<Exporter> exporter_;
  std::mutex beginning_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<const Snapshot> opening_;  // to begin with; none once it has
  std::shared_ptr<const Snapshot> snapshot_;
  Drains backlog_;
  std::size_t backlog_bytes_ = 0;
  std::uint64_t lost_ = 0;
  bool started_ = false;      // begin() of the exporter has come back
  bool last_ = false;         // the last snapshot has been offered
  bool fresh_ = false;        // something has been offered since the exporter was last called
  bool asked_again_ = false;  // by the last answer
  bool dropped_ = false;      // likewise
  bool done_ = false;
  bool delivered_ = false;
  Time deadline_;
};

}  // namespace detail
TAKT_END_NAMESPACE
