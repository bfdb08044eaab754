// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// G17: a green context, which has a part of a device's units, is not a device of its own.
#include "device/gpu_check.hpp"

#include <cuda.h>

#include <dlfcn.h>

namespace gpu_check {
namespace {

#if CUDA_VERSION >= 12050

constexpr int kSteps = 20;
constexpr std::uint64_t kComputing = 2'000'000;  // ns
constexpr std::uint64_t kHidden = 500'000;

/// The driver's functions for green contexts, since CUDA 12.4.
class GreenDriver {
 public:
  bool is_complete() const { return sms_ && split_ && describe_ && create_ && create_stream_; }
  /// Returns a stream of a new green context with some units of the first device; nullptr and the reason in `why` on
  /// failure.
  cudaStream_t stream(std::string& why) const {
    CUdevResource all{};
    CUdevResource some{};
    CUdevResource rest{};
    unsigned groups = 1;
    CUdevResourceDesc description = nullptr;
    CUgreenCtx context = nullptr;
    CUstream stream = nullptr;
    const auto done = [&why](CUresult error, const char* call) {
      if (error != CUDA_SUCCESS) { why = takt::detail::format("{} said {}", call, static_cast<int>(error)); }
      return error == CUDA_SUCCESS;
    };
    constexpr unsigned kUnits = 16;
    const bool made = done(sms_(0, &all, CU_DEV_RESOURCE_TYPE_SM), "cuDeviceGetDevResource") &&
                      done(split_(&some, &groups, &all, &rest, 0, kUnits), "cuDevSmResourceSplitByCount") &&
                      done(describe_(&description, &some, 1), "cuDevResourceGenerateDesc") &&
                      done(create_(&context, description, 0, CU_GREEN_CTX_DEFAULT_STREAM), "cuGreenCtxCreate") &&
                      done(create_stream_(&stream, context, CU_STREAM_NON_BLOCKING, 0), "cuGreenCtxStreamCreate");
    return made ? stream : nullptr;
  }

 private:
  template <class Function>
  static Function* find(Function*, const char* name) {
    void* const library = ::dlopen("libcuda.so.1", RTLD_NOW);
    return reinterpret_cast<Function*>(library == nullptr ? nullptr : ::dlsym(library, name));
  }
  decltype(&cuDeviceGetDevResource) sms_ = find(sms_, "cuDeviceGetDevResource");
  decltype(&cuDevSmResourceSplitByCount) split_ = find(split_, "cuDevSmResourceSplitByCount");
  decltype(&cuDevResourceGenerateDesc) describe_ = find(describe_, "cuDevResourceGenerateDesc");
  decltype(&cuGreenCtxCreate) create_ = find(create_, "cuGreenCtxCreate");
  decltype(&cuGreenCtxStreamCreate) create_stream_ = find(create_stream_, "cuGreenCtxStreamCreate");
};

/// Communication on one stream, started and ended while the other one computes.
void hide(const Stream& computing, cudaStream_t green) {
  takt::Scope batch(takt::Batch, static_cast<cudaStream_t>(computing));
  {
    takt::Scope s(takt::Forward, static_cast<cudaStream_t>(computing));
    spin(computing, kComputing);
  }
  {
    takt::Scope s(takt::Comm, green);
    spin(green, kHidden);
  }
  cudaError_t error = cudaErrorNotReady;
  while (error == cudaErrorNotReady) { error = cudaStreamQuery(green); }
  REQUIRE_CUDA(error);
  computing.poll();
}

void one_device(cudaStream_t green) {
  takt::SessionOptions options = takt::SessionOptions::from_env();
  options.trace = true;
  takt::Session session("green", options);
  const Stream computing;
  spin(computing, 1000);  // loads the kernel
  spin(green, 1000);
  computing.poll();
  for (int step = 0; step < kSteps; ++step) { hide(computing, green); }
  takt::complete(std::chrono::seconds(10));
  session.poll();  // places them on the time line
  const takt::Snapshot snapshot = session.snapshot();
  say("G17", "devices of one with a green context", "1", takt::detail::format("{}", snapshot.time_lines.size()),
      snapshot.time_lines.size() == 1);
  const Spans spans = spans_of(takt::Key(takt::Comm));
  say("G17", "regions on its stream that have a span", takt::detail::format("{}", kSteps),
      takt::detail::format("{}", spans.timed), spans.timed == kSteps);
  std::uint64_t inside = 0;
  for (const takt::TimeLineInfo& line : snapshot.time_lines) { inside += line.overlap.undecided; }
  say("G17", "communications on its stream that lie inside computing on another one", "nine tenths or more",
      takt::detail::format("{} of {}", inside, kSteps), 10 * inside >= 9 * kSteps);
}

void with_driver() {
  const GreenDriver driver;
  if (!driver.is_complete()) {
    return leave_out("G17", "green contexts", "the driver has none: they came with CUDA 12.4");
  }
  std::string why;
  const cudaStream_t green = driver.stream(why);
  if (green == nullptr) { return leave_out("G17", "green contexts", why); }
  one_device(green);
}

#else

void with_driver() { leave_out("G17", "green contexts", "built with a CUDA before 12.5"); }

#endif

}  // namespace

void green_contexts() { with_driver(); }

}  // namespace gpu_check
