// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "device/gpu_kernels.hpp"

#include <takt/backends/cuda.hpp>
#include <takt/backends/hip.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include "base/format.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

/// Helpers for checks on a GPU. Each check prints lines of five tab-separated fields: number, name, expected, measured,
/// and pass, fail, info or skip. gpu_check.py collects them in a table.
namespace gpu_check {

void say(const std::string& number, const std::string& what, const std::string& expected, const std::string& measured,
         bool right);
/// Reports a measurement for information only, without an expected value.
void report(const std::string& number, const std::string& what, const std::string& measured);

/// Reports a check that cannot run on this machine.
void leave_out(const std::string& number, const std::string& what, const std::string& why);

/// Ends the program with a failed line if a CUDA call failed.
void require(cudaError_t error, const char* call);
#define REQUIRE_CUDA(call) ::gpu_check::require(call, #call)

inline std::uint64_t host_ns() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}
/// Keeps the processor busy while this thread gives the device no work.
inline void idle_ns(std::uint64_t ns) {
  for (const std::uint64_t begin = host_ns(); host_ns() - begin < ns;) {}
}
inline std::string micro(double ns) { return takt::detail::format("{:.3f} us", ns / 1e3); }

/// Returns the percentile for `share`. Sorts `values`.
inline double percentile(std::vector<double>& values, double share) {
  if (values.empty()) { return 0; }
  std::sort(values.begin(), values.end());
  const auto last = static_cast<double>(values.size() - 1);
  return values[static_cast<std::size_t>(share * last)];
}
/// Measures an action on the host `times` times; each result in ns.
template <class Action>
std::vector<double> durations(int times, Action action) {
  std::vector<double> taken;
  taken.reserve(static_cast<std::size_t>(times));
  for (int n = 0; n < times; ++n) {
    const std::uint64_t begin = host_ns();
    action();
    taken.push_back(static_cast<double>(host_ns() - begin));
  }
  return taken;
}

/// A stream that does not wait for others. Owns it.
class Stream {
 public:
  explicit Stream(unsigned flags = cudaStreamNonBlocking) { REQUIRE_CUDA(cudaStreamCreateWithFlags(&stream_, flags)); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const noexcept { return stream_; }  // NOLINT(google-explicit-constructor)
  void finish() const { REQUIRE_CUDA(cudaStreamSynchronize(stream_)); }
  /// Waits by polling only.
  void poll() const {
    cudaError_t error = cudaErrorNotReady;
    while (error == cudaErrorNotReady) { error = cudaStreamQuery(stream_); }
    REQUIRE_CUDA(error);
  }

 private:
  cudaStream_t stream_ = nullptr;
};

/// The application's events, used in turn. Owns them.
class Events {
 public:
  explicit Events(std::size_t count, unsigned flags = cudaEventDefault) : events_(count) {
    for (cudaEvent_t& event : events_) { REQUIRE_CUDA(cudaEventCreateWithFlags(&event, flags)); }
  }
  ~Events() {
    for (cudaEvent_t event : events_) { cudaEventDestroy(event); }
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  cudaEvent_t next() noexcept { return events_[at_++ % events_.size()]; }

 private:
  std::vector<cudaEvent_t> events_;
  std::size_t at_ = 0;
};

/// Host memory that the device can write to. Owns it.
template <class T>
class Pinned {
 public:
  explicit Pinned(std::size_t count) {
    void* memory = nullptr;
    REQUIRE_CUDA(cudaMallocHost(&memory, count * sizeof(T)));
    data_ = static_cast<T*>(memory);
    std::fill(data_, data_ + count, T{});
  }
  ~Pinned() { cudaFreeHost(data_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  T* data() const noexcept { return data_; }
  T& operator[](std::size_t index) const noexcept { return data_[index]; }

 private:
  T* data_ = nullptr;
};

/// Blocks a stream so that work can be queued behind it and then runs without pauses.
class Gate {
 public:
  explicit Gate(cudaStream_t stream) : open_(1) { gate(stream, open_.data()); }
  ~Gate() { open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  void open() noexcept { *static_cast<volatile int*>(open_.data()) = 1; }

 private:
  Pinned<int> open_;
};

/// Returns a stream in the type that each Backend takes; a HIP stream on CUDA (hip_on_cuda.cpp) is the CUDA stream
/// itself.
template <class B>
struct StreamOf;
template <>
struct StreamOf<takt::CudaBackend> {
  using Type = cudaStream_t;
  static Type get(cudaStream_t stream) noexcept { return stream; }
};
template <>
struct StreamOf<takt::HipBackend> {
  using Type = ihipStream_t*;
  static Type get(cudaStream_t stream) noexcept { return reinterpret_cast<Type>(stream); }
};
template <class B>
typename StreamOf<B>::Type stream_of(cudaStream_t stream) noexcept {
  return StreamOf<B>::get(stream);
}

/// Returns the number of this process's calls so far to driver functions whose names contain `part`; -1 if count_calls
/// is not preloaded.
long driver_calls(const char* part);

/// Span counts of a key, over all its paths.
struct Spans {
  std::uint64_t entered = 0;
  std::uint64_t timed = 0;
  std::uint64_t pending = 0;
  std::uint64_t lost = 0;
  std::uint64_t total_ns = 0;
};
Spans spans_of(const takt::Key& key);
/// Returns the count of this kind of dropped data, over all paths.
std::uint64_t losses(const std::string& what);

// The checks, one file each.
void cost();
void cost_of_regions(int regions);
template <class B>
void spans(const std::string& number_of);
void default_streams();
void steps(int max);
void threads(int regions);
void no_context();
void green_contexts();
void clock(int seconds);
void captures();
void soak(long regions);
void stuck();
void depth();
int errors(const std::string& which);

}  // namespace gpu_check
