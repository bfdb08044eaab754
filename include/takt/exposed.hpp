// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/key.hpp>
#include <takt/snapshot.hpp>

#include <cstdint>
#include <limits>
#include <string_view>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE

/// For how long, at most, streams stood still until something else was done: the stream spans of regions of Kind::wait,
/// the outermost where they nest. A span holds what lies between two events without work, too, and the time in which
/// a stream had nothing to do because the host had not come so far. Of several streams that wait at once, each counts;
/// so of several devices, which only on() keeps apart. A value; a snapshot may be read on any thread.
struct Exposed {
  static constexpr std::int64_t kAbsent = -1;  ///< no region waited for this, or no span of one is known

  /// What a region of Kind::wait waits for.
  enum class For : std::uint8_t {
    nothing,  ///< it is of another kind, or lies in another wait, which counts
    comm,     ///< CommWait, or a wait below a region of Kind::comm
    io,       ///< IOWait, or a wait below a region of Kind::io
    other
  };

  std::int64_t comm_ns = kAbsent;
  std::int64_t io_ns = kAbsent;
  std::int64_t other_ns = kAbsent;

  bool any() const noexcept { return comm_ns != kAbsent || io_ns != kAbsent || other_ns != kAbsent; }

  /// \param path index into Snapshot::paths; others wait for nothing.
  static For what(const Snapshot& snapshot, std::uint32_t path) {
    return what([&](std::string_view& name, Kind& kind) {
      if (path >= snapshot.paths.size()) { return false; }
      const PathStats& here = snapshot.paths[path];
      name = here.name;
      kind = here.kind;
      path = here.parent;
      return true;
    });
  }
  /// The same of a region that is kept in another way.
  /// \param next (std::string_view& name, Kind& kind): the region, then what it lies in, from the inside; false: no
  /// more.
  template <class Next>
  static For what(Next next) {
    std::string_view name;
    Kind kind = Kind::other;
    if (!next(name, kind) || kind != Kind::wait) { return For::nothing; }
    For result = name == CommWait.name() ? For::comm : name == IOWait.name() ? For::io : For::other;
    while (next(name, kind)) {
      if (kind == Kind::wait) { return For::nothing; }
      if (result == For::other && kind == Kind::comm) { result = For::comm; }
      if (result == For::other && kind == Kind::io) { result = For::io; }
    }
    return result;
  }

  /// Of one step, all devices together.
  static Exposed of(const Snapshot& snapshot, const Row& row) {
    Exposed exposed;
    for (const Cell& cell : row.cells) {
      if (cell.device_ns >= 0) { exposed.add(what(snapshot, cell.path), cell.device_ns); }
    }
    return exposed;
  }
  /// Of the whole run so far, warm-up and regions of other threads included.
  static Exposed of(const Snapshot& snapshot) {
    Exposed exposed;
    for (std::uint32_t path = 0; path < snapshot.paths.size(); ++path) {
      const Summary& device = snapshot.paths[path].device;
      if (device.n() != 0) { exposed.add(what(snapshot, path), static_cast<std::int64_t>(device.total_ns())); }
    }
    return exposed;
  }

  /// Of one device: in one step (an element of Row::overlaps), or in all (TimeLineInfo::overlap). Only with tracing on.
  static Exposed on(const Overlap& device) noexcept {
    return {device.comm_exposed_ns, device.io_exposed_ns, device.other_exposed_ns};
  }

 private:
  void add(For what, std::int64_t ns) noexcept {
    if (what == For::nothing) { return; }
    std::int64_t& sum = what == For::comm ? comm_ns : what == For::io ? io_ns : other_ns;
    if (sum == kAbsent) { sum = 0; }
    // A journal that somebody else wrote may hold any span.
    if (__builtin_add_overflow(sum, ns, &sum)) { sum = std::numeric_limits<std::int64_t>::max(); }
  }
};

TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
