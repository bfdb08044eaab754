// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <chrono>

TAKT_BEGIN_NAMESPACE

struct Snapshot;

/// What an exporter did with a snapshot.
enum class ExportResult {
  ok,     ///< taken: rows, metrics and spans of this snapshot are not shown again
  retry,  ///< not now: the same, and newer ones, are shown again at the next period
  drop,   ///< cannot be taken, ever: counted as lost to this exporter, not shown again
};

/// Takes finished values somewhere. Session calls it on a thread of its own, never on a training thread (without
/// background threads: in poll() and close()); one thread at a time. It may block: that delays no other exporter.
/// (Those that the Session itself has, for the terminal and the run directory, share one thread.) std::bad_alloc
/// counts as
/// `retry`, and other exceptions as `drop`. docs/exporters.md tells how to write one, and
/// takt/testing/exporter_conformance.hpp proves it.
class Exporter {
 public:
  virtual ~Exporter() = default;
  /// A short stable name for messages, such as "json". Any thread.
  virtual const char* name() const noexcept = 0;
  /// Called about once a period, and a last time with snapshot.finished. The snapshot is valid during the call.
  virtual ExportResult export_snapshot(const Snapshot& snapshot) = 0;
  /// Sends what is held back. Returns false if that took longer than `deadline`.
  virtual bool flush(std::chrono::milliseconds deadline) {
    (void)deadline;
    return true;
  }
  /// The last call. Returns false if not all could be delivered by `deadline`.
  virtual bool shutdown(std::chrono::milliseconds deadline) { return flush(deadline); }
  /// The first call: what is known when the exporter is added, without rows and metrics. For what has to be there
  /// however early the process is killed. Whoever adds the exporter waits for it, a second at most: write files, and
  /// ask no server.
  virtual void begin(const Snapshot& snapshot) { (void)snapshot; }

 protected:
  Exporter() = default;
  Exporter(const Exporter&) = default;
  Exporter(Exporter&&) = default;
  Exporter& operator=(const Exporter&) = default;
  Exporter& operator=(Exporter&&) = default;
};

TAKT_END_NAMESPACE
