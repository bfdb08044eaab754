// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Regions on CUDA streams. Builds without anything of CUDA, and times only the host if no driver is installed. For HIP,
// use <takt/backends/hip.hpp>, takt::HipBackend and takt::hip. In a real program, cudaStream_t replaces CUstream_st*.
#include <takt/backends/cuda.hpp>
#include <takt/graph.hpp>
#include <takt/takt.hpp>

#include <chrono>
#include <cstdio>

namespace {

// A real program launches its kernels here.
void forward(CUstream_st*) {}
void backward(CUstream_st*) {}
void all_reduce(CUstream_st*) {}
void begin_capture(CUstream_st*) {}                                // cudaStreamBeginCapture
void end_capture(CUstream_st*) {}                                  // cudaStreamEndCapture, cudaGraphInstantiate
void launch(CUstream_st*) {}                                       // cudaGraphLaunch
void wait_for(CUstream_st* /*stream*/, CUstream_st* /*other*/) {}  // cudaEventRecord, cudaStreamWaitEvent

// [snippet: stream-scopes]
void train_step(CUstream_st* stream) {
  takt::Scope batch(takt::Batch, stream);
  takt::Scope s(takt::Forward, stream);
  forward(stream);
  s.lap(takt::Backward);  // one event ends Forward and starts Backward
  backward(stream);
}
// [end]

// [snippet: graph-regions]
void capture(takt::GraphRegions& regions, CUstream_st* stream) {
  begin_capture(stream);
  {
    takt::GraphRegion r(regions, takt::Forward, stream);
    forward(stream);
  }
  {
    takt::GraphRegion r(regions, takt::Backward, stream);
    backward(stream);
  }
  end_capture(stream);
}

void replay_step(takt::GraphRegions& regions, CUstream_st* stream) {
  takt::Scope batch(takt::Batch, stream);
  takt::GraphReplay replay(regions, stream);  // only around the launch
  launch(stream);
}
// [end]

// [snippet: exposed-communication]
void backward_and_reduce(CUstream_st* stream, CUstream_st* side) {
  takt::Scope s(takt::Backward, stream);
  backward(stream);
  {
    takt::Scope comm(takt::Comm, side);
    all_reduce(side);
  }
  takt::Scope wait(takt::CommWait, stream);  // upper bound of the cost of communication
  wait_for(stream, side);
}
// [end]

}  // namespace

int main() {
  takt::Session session("streams");
  CUstream_st* const stream = nullptr;  // the default stream
  for (int step = 0; step < 20; ++step) {
    train_step(stream);
    backward_and_reduce(stream, stream);
  }

  takt::GraphRegions regions;  // lives as long as the graph
  capture(regions, stream);
  for (int step = 0; step < 20; ++step) { replay_step(regions, stream); }

  // [snippet: stream-timer]
  takt::Timer<takt::CudaBackend> timer(stream);
  timer.start(takt::Comm);
  all_reduce(stream);
  timer.end(takt::Comm);
  timer.complete(std::chrono::seconds(1));
  const takt::Stats comm = timer.stats(takt::Comm);
  // [end]
  std::printf("Comm on the stream: %.0f ns in %llu regions\n", comm.mean_ns, static_cast<unsigned long long>(comm.n));

  // [snippet: availability]
  for (const takt::DeviceInfo& device : session.snapshot().devices) {
    if (!device.unavailable.empty()) { std::printf("%s: %s\n", device.name.c_str(), device.unavailable.c_str()); }
  }
  // [end]
  return 0;
}
