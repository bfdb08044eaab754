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

/// What checks on a GPU have in common. Each prints lines of five fields with tabs between: number, what, expected,
/// measured, and
/// pass, fail, info or skip; gpu_check.py makes the table of them.
namespace gpu_check {

void say(const std::string& number, const std::string& what, const std::string& expected, const std::string& measured,
         bool right);
/// Something to be published that nothing is expected of.
void report(const std::string& number, const std::string& what, const std::string& measured);

/// Something that cannot be asked here.
void leave_out(const std::string& number, const std::string& what, const std::string& why);

/// Ends the program with a failed line where a call of CUDA failed.
void require(cudaError_t error, const char* call);
#define REQUIRE_CUDA(call) ::gpu_check::require(call, #call)

inline std::uint64_t host_ns() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}
/// Keeps the processor busy: the device gets nothing from this thread.
inline void idle_ns(std::uint64_t ns) {
  for (const std::uint64_t begin = host_ns(); host_ns() - begin < ns;) {}
}
inline std::string micro(double ns) { return takt::detail::format("{:.3f} us", ns / 1e3); }

/// The value that a share of the others is below; sorts.
inline double percentile(std::vector<double>& values, double share) {
  if (values.empty()) { return 0; }
  std::sort(values.begin(), values.end());
  const auto last = static_cast<double>(values.size() - 1);
  return values[static_cast<std::size_t>(share * last)];
}
/// What an action takes on the host, `times` times, each in ns.
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

/// A stream that waits for no other. Owns it.
class Stream {
 public:
  explicit Stream(unsigned flags = cudaStreamNonBlocking) { REQUIRE_CUDA(cudaStreamCreateWithFlags(&stream_, flags)); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const noexcept { return stream_; }  // NOLINT(google-explicit-constructor)
  void finish() const { REQUIRE_CUDA(cudaStreamSynchronize(stream_)); }
  /// The same by asking alone.
  void poll() const {
    cudaError_t error = cudaErrorNotReady;
    while (error == cudaErrorNotReady) { error = cudaStreamQuery(stream_); }
    REQUIRE_CUDA(error);
  }

 private:
  cudaStream_t stream_ = nullptr;
};

/// Events of the application's own, used in turn. Owns them.
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

/// Memory of the host that the device can write to. Owns it.
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

/// Holds a stream, so that work can be queued behind it and then runs without pauses.
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

/// A stream as each Backend takes it; HIP's on CUDA (hip_on_cuda.cpp) are CUDA's own.
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

/// Calls so far, of this process, of the driver's functions whose names hold `part`; -1 where count_calls is not
/// preloaded.
long driver_calls(const char* part);

/// Over all places of a key: what became of its spans.
struct Spans {
  std::uint64_t entered = 0;
  std::uint64_t timed = 0;
  std::uint64_t pending = 0;
  std::uint64_t lost = 0;
  std::uint64_t total_ns = 0;
};
Spans spans_of(const takt::Key& key);
/// Counted as this loss, over all places.
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
