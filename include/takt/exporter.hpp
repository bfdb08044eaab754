// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <chrono>

TAKT_BEGIN_NAMESPACE

struct Snapshot;

/// Result of passing a snapshot to an exporter.
enum class ExportResult {
  ok,     ///< taken: rows, metrics and spans of this snapshot are not shown again
  retry,  ///< not now: they are shown again, with newer ones, at the next period
  drop,   ///< can never be taken: counted as dropped by this exporter, not shown again
};

/// Sends finished values somewhere. Session calls each exporter on its own thread, never on a training thread (without
/// background threads: in poll() and close()); one thread at a time. It may block without delaying other exporters. The
/// Session's own exporters, for the terminal and the run directory, share one thread. std::bad_alloc counts as `retry`,
/// other exceptions as `drop`. docs/exporters.md explains how to write one; takt/testing/exporter_conformance.hpp tests
/// it.
class Exporter {
 public:
  virtual ~Exporter() = default;
  /// Returns a short, stable name for messages, such as "json". Any thread.
  virtual const char* name() const noexcept = 0;
  /// Exports a snapshot. Called about once per period, and a last time with snapshot.finished. The snapshot is valid
  /// during the call.
  virtual ExportResult export_snapshot(const Snapshot& snapshot) = 0;
  /// Sends buffered data. Returns false if that took longer than `deadline`.
  virtual bool flush(std::chrono::milliseconds deadline) {
    (void)deadline;
    return true;
  }
  /// Ends the exporter; the last call. Returns false if some data could not be delivered by `deadline`.
  virtual bool shutdown(std::chrono::milliseconds deadline) { return flush(deadline); }
  /// Receives what is known when the exporter is added, without rows and metrics; the first call. Write here what must
  /// survive an early kill. Session::add() waits for it, at most one second: write files, but contact no server.
  virtual void begin(const Snapshot& snapshot) { (void)snapshot; }

 protected:
  Exporter() = default;
  Exporter(const Exporter&) = default;
  Exporter(Exporter&&) = default;
  Exporter& operator=(const Exporter&) = default;
  Exporter& operator=(Exporter&&) = default;
};

TAKT_END_NAMESPACE
