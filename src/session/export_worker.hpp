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

/// Feeds one exporter. Keeps unacknowledged data (up to 8 MiB; older data is dropped and counted) and calls the
/// exporter on its own thread or on the caller's. Exceptions of the exporter do not escape.
class ExportWorker {
 public:
  static constexpr std::chrono::milliseconds kPause{20};  ///< between two attempts at the end
  static constexpr std::size_t kMaxBacklog = 8U << 20U;   ///< bytes

  explicit ExportWorker(std::unique_ptr<Exporter> exporter) : exporter_(std::move(exporter)) {}

  const char* name() const noexcept { return exporter_->name(); }

  /// Sets the snapshot for the exporter's begin(). Call it before the worker is shared with other threads.
  void open(std::shared_ptr<const Snapshot> opening) noexcept { opening_ = std::move(opening); }
  /// Calls begin() of the exporter unless that was done; it has returned when this returns. Any thread.
  void begin_once() noexcept;
  /// Waits for begin() to return; false if it has not by `deadline`. Any thread.
  bool wait_started(Time deadline) noexcept;
  /// Reserves memory for the next offer(). Throws std::bad_alloc if there is none. One thread at a time for both.
  void make_space();
  /// Offers new values and returns at once. Any thread, after make_space().
  void offer(const std::shared_ptr<const Snapshot>& snapshot, const std::shared_ptr<const Drained>& drained) noexcept;
  /// Marks the last offered snapshot as final; all work must end by `deadline`.
  void finish_by(Time deadline) noexcept;
  /// Shows the exporter the offered data, if any. After the last snapshot, shuts it down; if the exporter asks for a
  /// retry and time is left, call again. One thread at a time.
  void run_once() noexcept;
  /// Calls run_once() until the exporter has finished. Blocks.
  void run() noexcept;
  /// Waits until the exporter has finished; false if it has not by `deadline`. Any thread.
  bool wait(Time deadline) noexcept;
  /// Returns true if the exporter has finished and received all data. Any thread.
  bool delivered() noexcept;

  /// Number of rows, metrics and spans that the exporter will not get. Any thread.
  std::uint64_t lost();

  bool started = false;  ///< has its own thread; used by the Session

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
  std::shared_ptr<const Snapshot> opening_;  // for begin(); empty afterwards
  std::shared_ptr<const Snapshot> snapshot_;
  Drains backlog_;
  std::size_t backlog_bytes_ = 0;
  std::uint64_t lost_ = 0;
  bool started_ = false;      // the exporter's begin() has returned
  bool last_ = false;         // the last snapshot has been offered
  bool fresh_ = false;        // new data since the exporter's last call
  bool asked_again_ = false;  // the last answer was `retry`
  bool dropped_ = false;      // the last answer was `dropped`
  bool done_ = false;
  bool delivered_ = false;
  Time deadline_;
};

}  // namespace detail
TAKT_END_NAMESPACE
