// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Measures the driver calls that the design depends on, and G9: the cost of regions compared with them.
#include "cuda_api.hpp"
#include "device/gpu_check.hpp"

namespace gpu_check {
namespace {

constexpr int kTimes = 20'000;
constexpr int kPairs = 100;  // with a gate, these are in the stream's queue, below Takt's limit for it
constexpr int kRounds = 160;
constexpr takt::Key Region{"Region", takt::Kind::compute};

const takt::detail::CudaDriver& driver() { return takt::detail::CudaDriver::get(); }

/// Returns the time of one clock read, which is part of all durations.
double clock_ns() {
  auto taken = durations(kTimes, [] {});
  return percentile(taken, 0.5);
}
std::string distribution(std::vector<double> taken) {
  const double clock = clock_ns();
  const double median = percentile(taken, 0.5);
  return takt::detail::format("median {}, 99 % below {}", micro(median - clock),
                              micro(percentile(taken, 0.99) - clock));
}
template <class Action>
void report_cost(const char* what, Action action) {
  report("cost", what, distribution(durations(kTimes, action)));
}

/// Checks if "not ready" becomes an error that the application reads later.
void last_errors(cudaStream_t stream) {
  Events events(2);
  cudaEvent_t begin = events.next();
  cudaEvent_t end = events.next();
  float ms = 0;
  REQUIRE_CUDA(cudaEventRecord(begin, stream));
  REQUIRE_CUDA(cudaStreamSynchronize(stream));
  const Gate closed(stream);
  REQUIRE_CUDA(cudaEventRecord(end, stream));
  auto busy = durations(kTimes, [&] { driver().event_query(end); });
  report("cost", "cuEventQuery, not ready", distribution(busy));
  const bool asked = driver().event_query(end) == 600 && driver().event_elapsed(&ms, begin, end) == 600;
  const cudaError_t after = cudaPeekAtLastError();
  say("cost", "last error of the runtime after the driver's \"not ready\"", "cudaSuccess", cudaGetErrorName(after),
      asked && after == cudaSuccess);
  cudaEventQuery(end);
  report("cost", "the same after cudaEventQuery", cudaGetErrorName(cudaGetLastError()));
  cudaEventElapsedTime(&ms, begin, end);
  report("cost", "the same after cudaEventElapsedTime", cudaGetErrorName(cudaGetLastError()));
}

/// One region, or its minimum: two bare records.
void region(cudaStream_t stream) { takt::Scope s(Region, stream); }
void bare(Events& events, cudaStream_t stream) {
  driver().event_record(events.next(), stream);
  driver().event_record(events.next(), stream);
}

/// G9, behind a gate: no results arrive, so starting and ending are measured without resolving.
void apart() {
  const Stream stream;
  Events events(2 * kPairs);
  std::vector<double> regions;
  std::vector<double> bares;
  std::vector<double> resolved;
  const auto append = [](std::vector<double>& all, std::vector<double> some) {
    all.insert(all.end(), some.begin(), some.end());
  };
  for (int round = 0; round < kRounds; ++round) {
    {
      const Gate closed(stream);
      append(bares, durations(kPairs, [&] { bare(events, stream); }));
    }
    stream.finish();
    {
      const Gate closed(stream);
      append(regions, durations(kPairs, [&] { region(stream); }));
    }
    stream.finish();
    if (round == 0) { regions.clear(); }  // the first round created events
    const std::uint64_t begin = host_ns();
    takt::complete(std::chrono::seconds(10));
    resolved.push_back(static_cast<double>(host_ns() - begin) / kPairs);
  }
  const double clock = clock_ns();
  const double ours = percentile(regions, 0.5) - clock;
  const double theirs = percentile(bares, 0.5) - clock;
  const double resolving = percentile(resolved, 0.5);
  report("G9", "two bare cuEventRecord", distribution(bares));
  report("G9", "begin and end of a region", distribution(regions));
  say("G9", "the same, median", "at most 3 us", micro(ours), ours <= 3000);
  say("G9", "beside two bare cuEventRecord, medians", "at most 1.2 times",
      takt::detail::format("{:.3f} times", ours / theirs), ours <= 1.2 * theirs);
  say("G9", "resolving, a pair", "at most 1 us", micro(resolving), resolving <= 1000);
}

/// Regions in sequence on a stream that keeps up; the application waits for it regularly.
template <class Each>
double flowing(int count, const Stream& stream, Each each) {
  const std::uint64_t begin = host_ns();
  for (int n = 0; n < count; ++n) {
    each();
    if (n % 256 == 255) { stream.finish(); }
  }
  return static_cast<double>(host_ns() - begin) / count;
}

void rates(int regions) {
  const Stream stream;
  Events events(512);
  report("G9", takt::detail::format("{} empty regions in a row, each", regions),
         micro(flowing(regions, stream, [&] { region(stream); })));
  takt::complete(std::chrono::seconds(10));
  const Spans spans = spans_of(Region);
  say("G9", "spans of all regions so far that are missing", "0",
      takt::detail::format("{}", spans.entered - spans.timed), spans.entered == spans.timed);
  report("G9", "two bare cuEventRecord in a row, each", micro(flowing(regions, stream, [&] { bare(events, stream); })));
  report("G9", "regions by every(100), each", micro(flowing(regions, stream, [&] {
           takt::Scope s(Region, static_cast<cudaStream_t>(stream), takt::every(100));
         })));
  takt::set_enabled(false);
  report("G9", "regions while switched off, each", micro(flowing(regions, stream, [&] { region(stream); })));
  takt::set_enabled(true);
}

}  // namespace

void cost() {
  const Stream stream;
  Events events(512);
  Events untimed(512, cudaEventDisableTiming);
  CUctx_st* context = nullptr;
  unsigned long long id = 0;
  int capture = 0;
  int mode = 2;
  float ms = 0;
  report("cost", "a reading of the host's clock, taken off below", micro(clock_ns()));
  report_cost("cuEventRecord", [&] { driver().event_record(events.next(), stream); });
  report_cost("cuEventRecord of an event without timing", [&] { driver().event_record(untimed.next(), stream); });
  stream.finish();
  report_cost("cuStreamIsCapturing", [&] { driver().stream_is_capturing(stream, &capture); });
  report_cost("cuStreamGetCtx", [&] { driver().stream_context(stream, &context); });
  report_cost("cuCtxGetId", [&] { driver().context_id(context, &id); });
  report_cost("cuThreadExchangeStreamCaptureMode, there and back", [&] {
    driver().exchange_capture_mode(&mode);
    driver().exchange_capture_mode(&mode);
  });
  cudaEvent_t begin = events.next();
  cudaEvent_t end = events.next();
  report_cost("cuEventQuery, ready", [&] { driver().event_query(end); });
  report_cost("cuEventElapsedTime", [&] { driver().event_elapsed(&ms, begin, end); });
  last_errors(stream);
  stream.finish();
}

void cost_of_regions(int regions) {
  apart();
  rates(regions);
  threads(regions);
}

}  // namespace gpu_check
