// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Checks of Takt on a GPU. gpu_check <name> [argument] runs one of them in its own process; gpu_check.py runs all.
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

std::string version(int number) { return takt::detail::format("{}.{}", number / 1000, number % 1000 / 10); }

/// Returns the reason why no device is available.
std::string why(cudaError_t error, int driver) {
  if (driver == 0) { return "there is no driver: libcuda.so.1 cannot be loaded"; }
  if (error == cudaErrorInsufficientDriver) {
    return takt::detail::format("the driver is one of CUDA {}, and these checks were built with CUDA {}",
                                version(driver), version(CUDART_VERSION));
  }
  return error == cudaSuccess ? "the driver has no device" : cudaGetErrorName(error);
}

/// Prints the machine that the results are valid for.
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
  takt::detail::print(stdout, "device\t{}, compute capability {}.{}\n", properties.name, properties.major,
                      properties.minor);
  takt::detail::print(stdout, "CUDA of the driver\t{}\n", version(driver));
  takt::detail::print(stdout, "CUDA runtime\t{}\n", version(runtime));
  return 0;
}

struct Named {
  const char* name;
  void (*check)(const char* argument);
};
constexpr Named kChecks[] = {{"cost", [](const char*) { cost(); }},
                             {"spans", [](const char*) { spans<takt::CudaBackend>("G{}"); }},
                             {"hip_spans", [](const char*) { spans<takt::HipBackend>("G{} HIP"); }},
                             {"default_streams", [](const char*) { default_streams(); }},
                             {"captures", [](const char*) { captures(); }},
                             {"cost_of_regions", [](const char* regions) { cost_of_regions(std::atoi(regions)); }},
                             {"steps", [](const char* max) { steps(std::atoi(max)); }},
                             {"threads",
                              [](const char* regions) {
                                const takt::Session session("threads");
                                threads(std::atoi(regions));
                              }},
                             {"no_context", [](const char*) { no_context(); }},
                             {"green_contexts", [](const char*) { green_contexts(); }},
                             {"clock", [](const char* seconds) { clock(std::atoi(seconds)); }},
                             {"stuck", [](const char*) { stuck(); }},
                             {"depth", [](const char*) { depth(); }},
                             {"soak", [](const char* regions) { soak(std::atol(regions)); }}};

int run(const std::string& name, const char* argument) {
  if (name == "device") { return device(); }
  if (name == "faults") { return errors(argument); }
  for (const Named& each : kChecks) {
    if (name != each.name) { continue; }
    REQUIRE_CUDA(cudaFree(nullptr));  // creates the context
    each.check(argument);
    return 0;
  }
  std::fprintf(stderr, "gpu_check: there is no check '%s'\n", name.c_str());
  return 2;
}

}  // namespace

void say(const std::string& number, const std::string& what, const std::string& expected, const std::string& measured,
         bool right) {
  line(number, what, expected, measured, right ? "pass" : "fail");
}
void report(const std::string& number, const std::string& what, const std::string& measured) {
  line(number, what, "", measured, "info");
}

void leave_out(const std::string& number, const std::string& what, const std::string& why) {
  line(number, what, "", why, "skip");
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
