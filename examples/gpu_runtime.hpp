// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The CUDA or HIP runtime, depending on the compiler: their functions differ by a prefix. GPU(Malloc) is cudaMalloc or
// hipMalloc.

#include <cstddef>
#include <cstdio>
#include <cstdlib>

#ifdef __HIP__
#include <hip/hip_runtime.h>
#define GPU(name) hip##name
#else
#include <cuda_runtime.h>
#define GPU(name) cuda##name
#endif

#ifndef GPU_LAUNCH  // Takt's tests define their own, for a fake device
#define GPU_LAUNCH(kernel, blocks, threads, stream, ...) kernel<<<blocks, threads, 0, stream>>>(__VA_ARGS__)
#endif

namespace gpu {

/// Ends the program if a runtime call failed.
inline void check(GPU(Error_t) error, const char* call) {
  if (error == GPU(Success)) { return; }
  std::fprintf(stderr, "%s: %s\n", call, GPU(GetErrorString)(error));
  std::exit(1);
}
#define GPU_CHECK(call) ::gpu::check(call, #call)

inline bool has_device() {
  int count = 0;
  return GPU(GetDeviceCount)(&count) == GPU(Success) && count > 0;
}

#ifdef __HIP__
inline GPU(Error_t) allocate_host(void** memory, std::size_t bytes) { return hipHostMalloc(memory, bytes, 0); }
inline GPU(Error_t) free_host(void* memory) { return hipHostFree(memory); }
#else
inline GPU(Error_t) allocate_host(void** memory, std::size_t bytes) { return cudaMallocHost(memory, bytes); }
inline GPU(Error_t) free_host(void* memory) { return cudaFreeHost(memory); }
#endif

/// Memory for `count` values of T: on the device, or pinned on the host. Owns it.
template <class T>
class Array {
 public:
  enum class Place { device, host };
  Array(std::size_t count, Place place) : count_(count), place_(place) {
    void* memory = nullptr;
    if (place == Place::device) {
      GPU_CHECK(GPU(Malloc)(&memory, bytes()));
    } else {
      GPU_CHECK(allocate_host(&memory, bytes()));
    }
    data_ = static_cast<T*>(memory);
  }
  ~Array() {
    if (place_ == Place::device) {
      GPU_CHECK(GPU(Free)(data_));
    } else {
      GPU_CHECK(free_host(data_));
    }
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  T* data() const { return data_; }
  std::size_t size() const { return count_; }
  std::size_t bytes() const { return count_ * sizeof(T); }

 private:
  std::size_t count_;
  Place place_;
  T* data_ = nullptr;
};

/// A stream that does not wait for other streams. Owns it.
class Stream {
 public:
  Stream() { GPU_CHECK(GPU(StreamCreateWithFlags)(&stream_, GPU(StreamNonBlocking))); }
  ~Stream() { GPU_CHECK(GPU(StreamDestroy)(stream_)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator GPU(Stream_t)() const { return stream_; }  // NOLINT(google-explicit-constructor)

 private:
  GPU(Stream_t) stream_ = nullptr;
};

/// Orders work of streams and of the host, without timing. Owns it.
class Event {
 public:
  Event() { GPU_CHECK(GPU(EventCreateWithFlags)(&event_, GPU(EventDisableTiming))); }
  ~Event() { GPU_CHECK(GPU(EventDestroy)(event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator GPU(Event_t)() const { return event_; }  // NOLINT(google-explicit-constructor)

 private:
  GPU(Event_t) event_ = nullptr;
};

}  // namespace gpu
