// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/key.hpp>
#include <takt/stream.hpp>

#include <cstdint>
#include <exception>

#if TAKT_ENABLED

TAKT_BEGIN_NAMESPACE
namespace detail {
class GraphState;

/// Returns the number of exceptions in flight on this thread.
TAKT_ALWAYS_INLINE int exceptions_on_their_way() noexcept {
#ifdef __cpp_exceptions
  return std::uncaught_exceptions();
#else
  return 0;
#endif
}
}  // namespace detail

/// The regions inside one graph that is captured from streams and replayed:
///
///     takt::GraphRegions regions;
///     cudaStreamBeginCapture(stream, mode);
///     { takt::GraphRegion r(regions, takt::Forward, stream);  forward(stream); }
///     cudaStreamEndCapture(stream, &graph);
///     ...
///     { takt::GraphReplay replay(regions, stream);  cudaGraphLaunch(executable, stream); }
///
/// A region adds two event nodes to the graph, which each replay records again. It has no host time. Its stream span is
/// read only if exactly one replay can have written it: after that replay has finished and before the next one is
/// announced. Other replays count as graph_samples_missed. At most 64 regions; docs/gpu.md has the details.
///
/// Must outlive the last launch of the graph; announce every launch with a GraphReplay. Use one for each captured graph
/// and its one executable: two executables, or a graph that is a child twice, write the same events. Not for the body
/// of a conditional node or a graph for device launch: these take no event nodes, and capture or instantiation fails.
/// TAKT_DISABLE=1 adds nothing to a graph. Experimental: checked on one H100. One thread at a time, as for the graph.
class TAKT_EXPORT GraphRegions {
 public:
  GraphRegions() noexcept;
  /// Releases the events if the last replay is known to have finished; otherwise leaks them.
  ~GraphRegions();
  GraphRegions(const GraphRegions&) = delete;
  GraphRegions& operator=(const GraphRegions&) = delete;

 private:
  friend class GraphRegion;
  friend class GraphReplay;
  unsigned begin(const Key& key, StreamRef stream) noexcept;
  void end(unsigned region) noexcept;
  void launching(const void* executable) noexcept;
  void launched(StreamRef stream, bool known) noexcept;

  detail::GraphState* state_;  // nullptr: out of memory
};

/// A region of a graph, from here to the end of the block, while `stream` is being captured. Regions nest. If events
/// cannot be added to the graph (stream not being captured, HIP, a driver before CUDA 11.1), that is counted and the
/// graph is unchanged. Never throws or waits. Use it on the capturing thread.
class [[nodiscard]] GraphRegion {
 public:
  [[nodiscard]] GraphRegion(GraphRegions& regions, const Key& key, detail::StreamArgument stream) noexcept
      : regions_(regions), region_(regions.begin(key, stream.ref)) {}
  ~GraphRegion() noexcept { regions_.end(region_); }
  GraphRegion(const GraphRegion&) = delete;
  GraphRegion& operator=(const GraphRegion&) = delete;

 private:
  GraphRegions& regions_;
  const unsigned region_;
};

/// Announces one launch of the graph on `stream`, inside its block. The graph's regions appear inside the region that
/// is open on this thread. If the graph is instantiated more than once, pass `executable`, the cudaGraphExec_t: from
/// the second executable on, no replay has a time and all count as graph_samples_missed. Costs one event on `stream`,
/// after the graph. If an exception leaves the block, the launch is uncertain and counts as graph_samples_missed. Never
/// throws or waits. One at a time per graph; any thread.
class [[nodiscard]] GraphReplay {
 public:
  [[nodiscard]] GraphReplay(GraphRegions& regions, detail::StreamArgument stream,
                            const void* executable = nullptr) noexcept
      : regions_(regions), stream_(stream.ref) {
    regions_.launching(executable);
  }
  ~GraphReplay() noexcept {
    if (!failed_) { regions_.launched(stream_, detail::exceptions_on_their_way() <= exceptions_); }
  }
  GraphReplay(const GraphReplay&) = delete;
  GraphReplay& operator=(const GraphReplay&) = delete;

  /// Reports a failed launch: no replay follows. Without this call, the previous replay's times are read again.
  void failed() noexcept { failed_ = true; }

 private:
  GraphRegions& regions_;
  const StreamRef stream_;
  const int exceptions_ = detail::exceptions_on_their_way();
  bool failed_ = false;
};

TAKT_END_NAMESPACE

#else

TAKT_BEGIN_OFF_NAMESPACE

/// Compiled out: does nothing and adds nothing to a graph.
class GraphRegions {
 public:
  GraphRegions() noexcept {}
  ~GraphRegions() noexcept {}
  GraphRegions(const GraphRegions&) = delete;
  GraphRegions& operator=(const GraphRegions&) = delete;
};
class [[nodiscard]] GraphRegion {
 public:
  template <class S>
  [[nodiscard]] GraphRegion(GraphRegions&, const Key&, const S&) noexcept {}
  ~GraphRegion() noexcept {}
  GraphRegion(const GraphRegion&) = delete;
  GraphRegion& operator=(const GraphRegion&) = delete;
};
class [[nodiscard]] GraphReplay {
 public:
  template <class S>
  [[nodiscard]] GraphReplay(GraphRegions&, const S&, const void* = nullptr) noexcept {}
  ~GraphReplay() noexcept {}
  GraphReplay(const GraphReplay&) = delete;
  GraphReplay& operator=(const GraphReplay&) = delete;
  void failed() noexcept {}
};

TAKT_END_OFF_NAMESPACE

#endif
