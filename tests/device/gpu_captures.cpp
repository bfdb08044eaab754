// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// G8: a capture that contains regions, while another thread has its own, equals the capture without Takt.
#include "device/gpu_check.hpp"

#include <takt/graph.hpp>

#include <cmath>
#include <thread>

namespace gpu_check {
namespace {

constexpr int kCaptured = 100;   // regions in the capture, one kernel each
constexpr int kBeside = 10'000;  // regions of the other thread meanwhile
constexpr int kReplays = 100;
constexpr std::uint64_t kKernel = 10'000;  // ns
constexpr takt::Key Captured{"Captured", takt::Kind::compute};
constexpr takt::Key Beside{"Beside", takt::Kind::compute};
constexpr takt::Key InGraph{"InGraph", takt::Kind::compute};
constexpr takt::Key Replay{"Replay", takt::Kind::compute};

struct Capture {
  cudaError_t ended = cudaSuccess;  // result of ending the capture
  cudaError_t here = cudaSuccess;   // last errors that the application sees
  cudaError_t beside = cudaSuccess;
  std::size_t nodes = 0;
  cudaGraph_t graph = nullptr;
};

/// Runs regions on another thread.
cudaError_t regions_beside(cudaStream_t stream) {
  for (int region = 0; region < kBeside; ++region) {
    takt::Scope s(Beside, stream);
    if (region % 10 == 0) { spin(stream, 1000); }
  }
  return cudaGetLastError();
}

Capture capture(cudaStream_t stream, cudaStream_t other, bool with_takt) {
  takt::set_enabled(with_takt);
  Capture made;
  REQUIRE_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  std::thread thread([&] { made.beside = regions_beside(other); });
  for (int region = 0; region < kCaptured; ++region) {
    takt::Scope s(Captured, stream);
    spin(stream, kKernel);
  }
  thread.join();
  made.ended = cudaStreamEndCapture(stream, &made.graph);
  made.here = cudaGetLastError();
  if (made.graph != nullptr) { REQUIRE_CUDA(cudaGraphGetNodes(made.graph, nullptr, &made.nodes)); }
  takt::set_enabled(true);
  return made;
}

void replay(cudaGraph_t graph, cudaStream_t stream) {
  cudaGraphExec_t exec = nullptr;
  REQUIRE_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  for (int time = 0; time < kReplays; ++time) {
    takt::Scope s(Replay, stream);
    REQUIRE_CUDA(cudaGraphLaunch(exec, stream));
  }
  REQUIRE_CUDA(cudaStreamSynchronize(stream));
  takt::complete(std::chrono::seconds(10));
  const Spans spans = spans_of(Replay);
  const double mean = spans.timed == 0 ? 0 : static_cast<double>(spans.total_ns) / static_cast<double>(spans.timed);
  say("G8", takt::detail::format("{} replays of it, a region around each: spans, and their mean", kReplays),
      takt::detail::format("{} of at least 1 ms", kReplays), takt::detail::format("{} of {}", spans.timed, micro(mean)),
      spans.timed == kReplays && mean >= kCaptured * static_cast<double>(kKernel));
  REQUIRE_CUDA(cudaGraphExecDestroy(exec));
}

constexpr std::uint64_t kLength = 100'000;

/// Returns the time between two of the application's events in a graph, less the kernel's duration by its own clock;
/// mean, in ns.
double bare_graph(cudaStream_t stream) {
  const Pinned<Stamp> stamp(1);
  Events events(2);
  const cudaEvent_t begin = events.next();
  const cudaEvent_t end = events.next();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  REQUIRE_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  REQUIRE_CUDA(cudaEventRecordWithFlags(begin, stream, cudaEventRecordExternal));
  spin(stream, kLength, stamp.data());
  REQUIRE_CUDA(cudaEventRecordWithFlags(end, stream, cudaEventRecordExternal));
  REQUIRE_CUDA(cudaStreamEndCapture(stream, &graph));
  REQUIRE_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  double more = 0;
  for (int time = 0; time < kReplays; ++time) {
    float ms = 0;
    REQUIRE_CUDA(cudaGraphLaunch(exec, stream));
    REQUIRE_CUDA(cudaStreamSynchronize(stream));
    REQUIRE_CUDA(cudaEventElapsedTime(&ms, begin, end));
    more += static_cast<double>(ms) * 1e6 - static_cast<double>(stamp[0].end - stamp[0].begin);
  }
  REQUIRE_CUDA(cudaGraphExecDestroy(exec));
  return more / kReplays;
}

/// A region inside a graph adds two nodes, and one span per replay that finished before the next.
void graph_region(cudaStream_t stream) {
  const Pinned<Stamp> stamp(1);
  takt::GraphRegions regions;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  std::size_t nodes = 0;
  REQUIRE_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  {
    takt::GraphRegion region(regions, InGraph, stream);
    spin(stream, kLength, stamp.data());
  }
  REQUIRE_CUDA(cudaStreamEndCapture(stream, &graph));
  REQUIRE_CUDA(cudaGraphGetNodes(graph, nullptr, &nodes));
  REQUIRE_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  say("G8", "nodes of a graph with a kernel and a region inside", "3", takt::detail::format("{}", nodes), nodes == 3);
  idle_ns(30'000'000);
  double own = 0;
  for (int time = 0; time < kReplays; ++time) {
    {
      takt::GraphReplay replay(regions, stream);
      REQUIRE_CUDA(cudaGraphLaunch(exec, stream));
    }
    REQUIRE_CUDA(cudaStreamSynchronize(stream));
    own += static_cast<double>(stamp[0].end - stamp[0].begin);
  }
  takt::complete(std::chrono::seconds(10));
  const Spans spans = spans_of(InGraph);
  const double more = (static_cast<double>(spans.total_ns) - own) / kReplays;
  const double bare = bare_graph(stream);
  report("G8", "two bare event nodes around that kernel: their distance, less the kernel's own clock", micro(bare));
  say("G8", takt::detail::format("{} replays of it, one after the other: spans, less the kernel's own clock", kReplays),
      takt::detail::format("{}, within 2 us of that", kReplays),
      takt::detail::format("{}, {}", spans.timed, micro(more)),
      spans.timed == kReplays && std::abs(more - bare) <= 2000);
  say("G8", "replays that were missed", "0", takt::detail::format("{}", losses("graph_samples_missed")),
      losses("graph_samples_missed") == 0);
  REQUIRE_CUDA(cudaGraphExecDestroy(exec));
}

}  // namespace

void captures() {
  const Stream stream;
  const Stream other;
  for (cudaStream_t each : {static_cast<cudaStream_t>(stream), static_cast<cudaStream_t>(other)}) {
    takt::Scope s(takt::Other, each);  // before the capture: loads kernels and creates events
    spin(each, 1000);
    REQUIRE_CUDA(cudaStreamSynchronize(each));
  }
  const Capture without = capture(stream, other, false);
  REQUIRE_CUDA(cudaDeviceSynchronize());
  const Capture made = capture(stream, other, true);
  const auto names = [](const Capture& each) {
    return takt::detail::format("{}, {}, {}", cudaGetErrorName(each.ended), cudaGetErrorName(each.here),
                                cudaGetErrorName(each.beside));
  };
  say("G8", "end of a global capture, last errors of both threads", names(without), names(made),
      made.ended == cudaSuccess && made.here == without.here && made.beside == without.beside);
  say("G8", "nodes of the graph, as without Takt", takt::detail::format("{}", without.nodes),
      takt::detail::format("{}", made.nodes), made.nodes == without.nodes && made.nodes == kCaptured);
  say("G8", "regions in the capture that were skipped and counted", takt::detail::format("at least {}", kCaptured),
      takt::detail::format("{}", losses("skipped_capturing")), losses("skipped_capturing") >= kCaptured);
  REQUIRE_CUDA(cudaDeviceSynchronize());
  idle_ns(30'000'000);  // Takt does not poll for 20 ms after a capture
  if (made.graph != nullptr) { replay(made.graph, stream); }
  graph_region(stream);
}

}  // namespace gpu_check
