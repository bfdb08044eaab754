// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Checks of Takt on a GPU. gpu_check <name> [argument] runs one of them, in a process of its own; gpu_check.py runs all.
#include "device/gpu_check.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>

namespace gpu_check {
namespace {

constexpr int kNoDevice = 77;

void line(const std::string& number, const std::string& what, const std::string& expected, const std::string& measured,
          const char* verdict) {
  std::printf("%s\t%s\t%s\t%s\t%s\n", number.c_str(), what.c_str(), expected.c_str(), measured.c_str(), verdict);
  std::fflush(stdout);
}

std::string version(int number) { return fmt::format("{}.{}", number / 1000, number % 1000 / 10); }

/// Why there is no device.
std::string why(cudaError_t error, int driver) {
  if (driver == 0) { return "there is no driver: libcuda.so.1 cannot be loaded"; }
  if (error == cudaErrorInsufficientDriver) {
    return fmt::format("the driver is one of CUDA {}, and these checks were built with CUDA {}", version(driver),
                       version(CUDART_VERSION));
  }
  return error == cudaSuccess ? "the driver has no device" : cudaGetErrorName(error);
}

/// Which machine this is: what the figures hold for.
int device() {
  int count = 0;
  int driver = 0;
  int runtime = 0;
  REQUIRE_CUDA(cudaDriverGetVersion(&driver));
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess || count == 0) {
    std::puts(why(error, driver).c_str());
    return kNoDevice;
  }
  cudaDeviceProp properties{};
  REQUIRE_CUDA(cudaGetDeviceProperties(&properties, 0));
  REQUIRE_CUDA(cudaRuntimeGetVersion(&runtime));
  fmt::print("device\t{}, compute capability {}.{}\n", properties.name, properties.major, properties.minor);
  fmt::print("CUDA of the driver\t{}\n", version(driver));
  fmt::print("CUDA runtime\t{}\n", version(runtime));
  return 0;
}

int run(const std::string& name, const char* argument) {
  if (name == "device") { return device(); }
  if (name == "faults") { return faults(argument); }
  REQUIRE_CUDA(cudaFree(nullptr));  // the context
  if (name == "cost") {
    cost();
  } else if (name == "spans") {
    spans<takt::CudaBackend>("G{}");
  } else if (name == "hip_spans") {
    spans<takt::HipBackend>("G{} HIP");
  } else if (name == "default_streams") {
    default_streams();
  } else if (name == "captures") {
    captures();
  } else if (name == "cost_of_regions") {
    cost_of_regions(std::atoi(argument));
  } else if (name == "stuck") {
    stuck();
  } else if (name == "depth") {
    depth();
  } else if (name == "soak") {
    soak(std::atol(argument));
  } else {
    std::fprintf(stderr, "gpu_check: there is no check '%s'\n", name.c_str());
    return 2;
  }
  return 0;
}

}  // namespace

void say(const std::string& number, const std::string& what, const std::string& expected, const std::string& measured,
         bool right) {
  line(number, what, expected, measured, right ? "pass" : "fail");
}
void tell(const std::string& number, const std::string& what, const std::string& measured) {
  line(number, what, "", measured, "info");
}

void require(cudaError_t error, const char* call) {
  if (error == cudaSuccess) { return; }
  line("", call, "cudaSuccess", cudaGetErrorName(error), "fail");
  std::_Exit(1);
}

long driver_calls(const char* part) {
  using Count = long(const char*);
  auto* const count = reinterpret_cast<Count*>(::dlsym(RTLD_DEFAULT, "count_calls"));
  return count == nullptr ? -1 : count(part);
}

Spans spans_of(const takt::Key& key) {
  Spans spans;
  for (const takt::PathStats& path : takt::snapshot().paths) {
    if (path.name != key.name()) { continue; }
    spans.entered += path.host.n();
    spans.timed += path.device.n();
    spans.pending += path.device_pending;
    spans.lost += path.device_lost;
    spans.total_ns += path.device.stats().total_ns;
  }
  return spans;
}

std::uint64_t losses(const std::string& what) {
  std::uint64_t count = 0;
  for (const takt::Loss& loss : takt::snapshot().losses) {
    if (loss.what == what) { count += loss.count; }
  }
  return count;
}

}  // namespace gpu_check

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: %s <check> [argument]\n", arguments[0]);
    return 2;
  }
  return gpu_check::run(arguments[1], count > 2 ? arguments[2] : "");
}
