// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// G12: an application's errors and exit as it sees them. gpu_check.py runs each case with Takt and without; the output
// must be the same.
#include "device/gpu_check.hpp"

#include <cstdio>
#include <cstdlib>

#include <sys/wait.h>
#include <unistd.h>

namespace gpu_check {
namespace {

constexpr takt::Key Region{"Region", takt::Kind::compute};

void regions(cudaStream_t stream, int count) {
  for (int region = 0; region < count; ++region) {
    takt::Scope batch(takt::Batch, stream);
    takt::Scope s(Region, stream);
    spin(stream, 1000);
  }
}
void print(const char* what, cudaError_t error) {
  std::printf("%s: %s\n", what, cudaGetErrorName(error));
  std::fflush(stdout);
}
cudaStream_t new_stream() {  // lives until the process ends
  cudaStream_t stream = nullptr;
  print("stream", cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

/// A kernel writes to an invalid address in the middle of the run.
void illegal_address() {
  const cudaStream_t stream = new_stream();
  regions(stream, 100);
  {
    takt::Scope s(Region, stream);
    error(stream);
  }
  print("synchronise", cudaStreamSynchronize(stream));
  regions(stream, 100);
  print("last error", cudaGetLastError());
  print("allocate", cudaFree(nullptr));
}

/// The program ends with a thousand spans pending.
void pending_at_exit() {
  int* open = nullptr;
  void* memory = nullptr;
  print("memory", cudaMallocHost(&memory, sizeof(int)));
  open = static_cast<int*>(memory);
  *open = 0;
  for (int each = 0; each < 4; ++each) {
    const cudaStream_t stream = new_stream();
    gate(stream, open);
    for (int region = 0; region < 250; ++region) { takt::Scope s(Region, stream); }
  }
  print("last error", cudaGetLastError());
}

/// The application resets the device, after complete() or while spans are pending.
void reset(bool complete) {
  regions(new_stream(), 100);
  if (complete) { takt::complete(std::chrono::seconds(5)); }
  print("reset", cudaDeviceReset());
  const cudaStream_t stream = new_stream();
  regions(stream, 100);
  print("synchronise", cudaStreamSynchronize(stream));
  print("last error", cudaGetLastError());
}

/// The child of a process that used the device has regions and does not use the device.
void child() {
  const cudaStream_t stream = new_stream();
  regions(stream, 100);
  print("synchronise", cudaStreamSynchronize(stream));
  const pid_t pid = ::fork();
  if (pid == 0) {
    for (int region = 0; region < 100; ++region) { takt::Scope s(Region, stream); }
    ::_exit(7);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  std::printf("child: %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  regions(stream, 100);
  print("synchronise", cudaStreamSynchronize(stream));
}

/// The application has a pending error while regions start, end and resolve.
void pending_error() {
  const cudaStream_t stream = new_stream();
  regions(stream, 100);
  print("no such device", cudaSetDevice(1 << 20));
  regions(stream, 100);
  print("synchronise", cudaStreamSynchronize(stream));
  takt::complete(std::chrono::seconds(5));
  print("peek", cudaPeekAtLastError());
  print("last error", cudaGetLastError());
  print("last error", cudaGetLastError());
}

/// Not an error: measures the overlap that a region between two kernels prevents (programmatic dependent launch).
void dependent_launch() {
  constexpr int kTimes = 100;
  constexpr std::uint64_t kLength = 50'000;
  const Stream stream;
  const auto pairs = [&](bool with_region) {
    const std::uint64_t begin = host_ns();
    for (int time = 0; time < kTimes; ++time) {
      primary(stream, kLength);
      if (with_region) { takt::Scope s(Region, static_cast<cudaStream_t>(stream)); }
      REQUIRE_CUDA(dependent(stream, kLength));
    }
    stream.finish();
    return static_cast<double>(host_ns() - begin) / kTimes;
  };
  pairs(false);
  pairs(true);
  report("G12", "two kernels of 50 us that may overlap (programmatic dependent launch)", micro(pairs(false)));
  report("G12", "the same with a region between them", micro(pairs(true)));
}

}  // namespace

int errors(const std::string& which) {
  if (which == "dependent_launch") {
    dependent_launch();
    return 0;
  }
  takt::Session session("faults");
  if (which == "illegal_address") {
    illegal_address();
  } else if (which == "pending_at_exit") {
    pending_at_exit();
  } else if (which == "reset") {
    reset(true);
  } else if (which == "reset_at_once") {
    reset(false);
  } else if (which == "child") {
    child();
  } else if (which == "pending_error") {
    pending_error();
  } else {
    std::fprintf(stderr, "gpu_check: there is no fault '%s'\n", which.c_str());
    return 2;
  }
  return 0;
}

}  // namespace gpu_check
