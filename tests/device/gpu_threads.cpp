// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Regions on several threads. G9: their rate compared with that of bare records. G14: threads without a context of the
// device.
#include "cuda_api.hpp"
#include "device/gpu_check.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <thread>

namespace gpu_check {
namespace {

constexpr int kThreads = 8;
constexpr int kStreams = 8;  // per thread
constexpr takt::Key OnThreads{"OnThreads", takt::Kind::compute};
constexpr takt::Key NoContext{"NoContext", takt::Kind::compute};

template <class Run>
void on_threads(Run run) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) { threads.emplace_back(run); }
  for (std::thread& thread : threads) { thread.join(); }
}

/// Returns the rate per second over all threads; `make_each` returns each thread's action on a stream.
template <class MakeEach>
double rate(int count, MakeEach make_each) {
  const std::uint64_t begin = host_ns();
  on_threads([&] {
    std::vector<std::unique_ptr<Stream>> streams;
    for (int stream = 0; stream < kStreams; ++stream) { streams.push_back(std::make_unique<Stream>()); }
    const auto each = make_each();
    for (int n = 0; n < count / kThreads; ++n) {
      each(*streams[static_cast<std::size_t>(n % kStreams)]);
      if (n % 512 == 511) {
        for (const auto& stream : streams) { stream->poll(); }
      }
    }
    for (const auto& stream : streams) { stream->poll(); }
  });
  return count / (static_cast<double>(host_ns() - begin) / 1e9);
}

CUctx_st* current_context() {
  CUctx_st* context = nullptr;
  takt::detail::CudaDriver::get().context_current(&context);
  return context;
}

}  // namespace

void threads(int regions) {
  const auto bare = rate(regions, [] {
    return [events = std::make_shared<Events>(2048)](cudaStream_t stream) {
      for (int record = 0; record < 2; ++record) {
        takt::detail::CudaDriver::get().event_record(events->next(), stream);
      }
    };
  });
  const auto ours = rate(regions, [] { return [](cudaStream_t stream) { takt::Scope s(OnThreads, stream); }; });
  takt::complete(std::chrono::seconds(10));
  const Spans spans = spans_of(OnThreads);
  report("G9", "8 threads with 8 streams each, pairs of bare cuEventRecord a second together",
         takt::detail::format("{:.0f}", bare));
  report("G9", "the same with regions", takt::detail::format("{:.0f}", ours));
  const std::string without =
      takt::detail::format("{} lost, {} pending, {} skipped", spans.lost, spans.pending, losses("device_skipped"));
  say("G9", "the same, regions without a span", "0", without, spans.entered != 0 && spans.entered == spans.timed);
}

void no_context() {
  constexpr int kRegions = 100;  // per thread
  const Stream stream;
  std::atomic<int> with_context{0};
  on_threads([&] {
    if (current_context() != nullptr) { ++with_context; }
    for (int region = 0; region < kRegions; ++region) { takt::Scope s(NoContext, static_cast<cudaStream_t>(stream)); }
    if (current_context() != nullptr) { ++with_context; }
  });
  stream.finish();
  takt::complete(std::chrono::seconds(10));
  const Spans spans = spans_of(NoContext);
  say("G14", "regions on 8 threads that never had a context: spans that came in",
      takt::detail::format("{}", kThreads * kRegions), takt::detail::format("{}", spans.timed),
      spans.timed == kThreads * kRegions);
  say("G14", "contexts that these threads have before or afterwards", "0",
      takt::detail::format("{}", with_context.load()), with_context == 0);
}

}  // namespace gpu_check
