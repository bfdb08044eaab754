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

/// How many exceptions are on their way on this thread.
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
/// A region puts two event nodes into the graph, which each replay records again. It has no host time; its stream span
/// is taken from a replay only where nothing but that replay can have written it: once it has finished, and before the
/// next one is announced. Other replays count as graph_samples_missed. At most 64 regions; docs/gpu.md tells the rest.
///
/// Has to live until the graph is not launched any more; every launch has to be announced by a GraphReplay. One for
/// each captured graph and its one executable: two executables, or a graph that is a child twice, write the same
/// events. Not in the body of a conditional node nor in a graph for device launch: these take no event nodes, and the
/// capture or instantiation fails. TAKT_DISABLE=1 adds nothing to a graph. Experimental: checked on one H100. One
/// thread at a time, as for the graph.
class TAKT_EXPORT GraphRegions {
 public:
  GraphRegions() noexcept;
  /// The events go back once the last replay is known to have finished; else they are left behind.
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

  detail::GraphState* state_;  // nullptr: no memory
};

/// A region of a graph, from here to the end of the block, while `stream` is being captured. Regions nest. Where events
/// cannot be put into the graph (stream not being captured, HIP, a driver before CUDA 11.1) that is counted, and the
/// graph is as without it. Never throws or waits. On the thread that captures.
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

/// Stands around one launch of the graph on `stream`: its regions appear inside the region that is open on this thread.
/// Where the same graph has been instantiated more than once, it needs `executable`, the cudaGraphExec_t: from the
/// second one on no replay has a time, and all count as graph_samples_missed.
/// Costs one event on `stream`, behind the graph. Where an exception leaves the block nobody knows whether the graph
/// was launched: that counts as graph_samples_missed. Never throws or waits. One at a time for one graph; any thread.
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

  /// The launch was refused: there is no replay. Otherwise the times of the one before would be read once more.
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

/// Compiled out: does nothing, and adds nothing to a graph.
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
