// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>
#include <vector>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE

/// One column of a row.
struct Cell {
  static constexpr std::uint32_t kOther = 0xFFFFFFFF;
  static constexpr std::int64_t kAbsent = -1;

  std::uint32_t path = kOther;  ///< index into Snapshot::paths; kOther: all paths beyond the 64th together
  std::uint32_t calls = 0;
  std::int64_t host_ns = 0;          ///< total of the calls in this step
  std::int64_t device_ns = kAbsent;  ///< total stream span, kAbsent where there is none or it was lost
};

/// Sums over the stream spans of one step on one device, or of many steps. A span holds all work of its region, and
/// idle time as well, so that each sum is an upper bound. Only with tracing on.
struct Overlap {
  std::uint32_t time_line = 0;  ///< index into Snapshot::time_lines
  std::int64_t span_ns = 0;     ///< from the first begin to the last end
  std::int64_t compute_ns = 0;  ///< under spans of Kind::compute, what regions of other kinds inside them took left out
  std::int64_t comm_ns = 0;     ///< under spans of Kind::comm
  std::int64_t io_ns = 0;       ///< under spans of Kind::io
  std::uint64_t undecided = 0;  ///< communications inside one compute span: hidden or waited for, spans cannot tell
  // At most, where regions of Kind::wait tell: for what streams of this device waited. kAbsent: there are none.
  static constexpr std::int64_t kAbsent = -1;
  std::int64_t comm_exposed_ns = kAbsent;
  std::int64_t io_exposed_ns = kAbsent;
  std::int64_t other_exposed_ns = kAbsent;
};

/// One step: an outermost Batch of one thread. An exporter sees a row once, when all its device values are known, or
/// after 1 024 later rows, or at shutdown.
struct Row {
  std::uint64_t sequence = 0;   ///< number of this row in the process, from 0, without a break but for declared losses
  std::uint32_t series = 0;     ///< index into Snapshot::series
  std::int64_t step = 0;        ///< counts from 0 in each series; Session::step() sets it
  std::int64_t begin_ns = 0;    ///< since the start of the run
  std::int64_t host_ns = 0;     ///< length of the Batch
  std::int64_t period_ns = -1;  ///< since the end of the Batch before; -1: none, or left out of throughput
  std::int64_t items = 0;
  bool warmup = false;
  bool complete = true;  ///< false: device values are missing
  std::vector<Cell> cells;
  /// One a device; empty without tracing, and where a stream span has no place or is missing.
  std::vector<Overlap> overlaps;
  std::uint64_t early = 0;  ///< its number in Snapshot::early, from 1; 0: it was not there
};

TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
