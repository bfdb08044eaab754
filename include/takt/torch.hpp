// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Compiled by the program with its own libtorch (1.13 or later), so that libtakt is tied to none. Link takt::torch and
// that libtorch. docs/torch.md tells what the regions are.
#include <takt/detail/torch_observer.hpp>
#include <takt/error.hpp>
#include <takt/key.hpp>
#include <takt/scope.hpp>
#include <takt/stream.hpp>

#include <ATen/record_function.h>

// The headers that a libtorch for GPUs has beside those that each one has.
#if __has_include(<c10/hip/impl/hip_cmake_macros.h>)
#include <takt/backends/hip.hpp>

#include <c10/hip/HIPStream.h>
#elif __has_include(<c10/cuda/impl/cuda_cmake_macros.h>)
#include <takt/backends/cuda.hpp>

#include <c10/cuda/CUDAStream.h>
#endif

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE

/// The stream on which libtorch puts the work of the calling thread, for a Scope: `takt::Scope s(takt::Forward,
/// takt::torch_stream())`. Where libtorch is built for no GPU, or finds none, it is no stream, and a region has host
/// time alone. Libtorch's stream 0 is the legacy one, however this translation unit is compiled. Never throws. Any
/// thread. Asks libtorch for the device, which initialises CUDA or HIP: not in a process that forks before it uses it.
inline StreamRef torch_stream() noexcept {
#if __has_include(<c10/hip/impl/hip_cmake_macros.h>)
  try {
    if (c10::hip::device_count() > 0) {
      return StreamTraits<ihipStream_t*>::ref(c10::hip::getCurrentHIPStream().stream(), detail::LegacyStreams{});
    }
  } catch (...) {  // libtorch has said why at the first use of the device
  }
#elif __has_include(<c10/cuda/impl/cuda_cmake_macros.h>)
  try {
    if (c10::cuda::device_count() > 0) {
      return StreamTraits<CUstream_st*>::ref(c10::cuda::getCurrentCUDAStream().stream(), detail::LegacyStreams{});
    }
  } catch (...) {  // libtorch has said why at the first use of the device
  }
#endif
  return {};
}

/// What TorchOps samples.
struct TorchOpsOptions {
  std::uint32_t every = 50;  ///< one step in so many of all threads that use it, the first one included; 1 or more
  unsigned depth = 1;        ///< operators inside each other that are regions; 1: those that the program calls itself
  /// That are told apart in the process, 1 024 at most; more are "(further operators)". Of several TorchOps the one
  /// with the most decides.
  std::uint32_t names = 256;
};

/// The calls of one collective of c10d in sampled steps, by the name that its process group gives it; by that of
/// libtorch's dispatcher, such as "c10d::allreduce_", where the group gives none. Each call counts once, at any depth.
struct TorchCollective {
  std::string name;  ///< such as "nccl:all_reduce"
  std::uint64_t calls = 0;
  std::uint64_t input_bytes = 0;  ///< of the tensors that libtorch tells, on this rank
  /// Calls whose bytes libtorch did not tell: of a tensor without, of a process group that tells nothing ("c10d::"),
  /// and to a program that is compiled without NDEBUG where libtorch was compiled with it.
  std::uint64_t without_bytes = 0;
};

#if TAKT_ENABLED

/// Operators of libtorch as regions, in one step of `every`, inside the region that is open where they begin:
///
///     takt::TorchOps ops;
///     for (...) {
///       takt::Scope batch(takt::Batch);
///       const takt::TorchOps::Step step(ops);
///       ...
///     }
///
/// Where autograd works on threads of its own, its nodes are inside a region Backward there. Other steps cost nothing.
/// Any number in a process; any thread. Threads that train beside each other have one each: `every` counts the steps of
/// all threads together, and threads that take turns may get very different shares of the samples.
class TorchOps {
 public:
  /// \throws takt::Error where an option is 0.
  explicit TorchOps(const TorchOpsOptions& options = {}) : options_(options) {
    if (options.every == 0 || options.depth == 0 || options.names == 0) {
      throw Error("takt: TorchOpsOptions: every, depth and names are 1 or more");
    }
    detail::torch_names.allow(options.names);
  }
  TorchOps(const TorchOps&) = delete;
  TorchOps& operator=(const TorchOps&) = delete;

  /// One step, from here to the end of the block. Inside another one, also of a thread whose state libtorch has given
  /// to this one, it does nothing. Never throws; where libtorch takes no observer, or 256 steps are sampled at the
  /// time, it is not sampled, and counts as missed. May outlive the TorchOps. On the thread that trains; ends on the
  /// thread on which it began.
  class [[nodiscard]] Step {
   public:
    [[nodiscard]] explicit Step(TorchOps& ops) noexcept {
      const std::uint64_t number = ops.steps_.fetch_add(1, std::memory_order_relaxed);  // orders nothing
      if (number % ops.options_.every == 0 && enabled() && !detail::is_torch_observed()) { begin(ops.options_); }
    }
    ~Step() noexcept {
      if (sampled_) { end(); }
    }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;
    static void* operator new(std::size_t) = delete;

    /// Whether operators are regions in this step.
    bool sampled() const noexcept { return sampled_; }

   private:
    void begin(const TorchOpsOptions& options) noexcept {
      step_ = detail::torch_steps.take();
      if (step_ == nullptr) {
        detail::torch_missed.fetch_add(1, std::memory_order_relaxed);
        return;
      }
      try {
        using at::RecordScope;
        at::RecordFunctionCallback functions(detail::begin_torch, detail::end_torch);
        functions.scopes({RecordScope::FUNCTION, RecordScope::BACKWARD_FUNCTION});
        functions_ = at::addThreadLocalCallback(functions);
        at::RecordFunctionCallback scopes(detail::begin_torch, detail::end_torch);
        scopes.scopes({RecordScope::USER_SCOPE}).needsInputs(true);  // costs only these what it costs
        scopes_ = at::addThreadLocalCallback(scopes);
      } catch (...) {
        detail::torch_missed.fetch_add(1, std::memory_order_relaxed);
        end();
        return;
      }
      step_->publish(functions_, options.depth, detail::TorchThread::here());
      sampled_ = true;
    }
    void end() noexcept {
      step_->end();
      remove();
    }
    void remove() noexcept {
      for (const at::CallbackHandle handle : {functions_, scopes_}) {
        try {
          if (handle != at::INVALID_CALLBACK_HANDLE) { at::removeCallback(handle); }
        } catch (...) {  // the program has removed all: it is gone
        }
      }
    }

    at::CallbackHandle functions_ = at::INVALID_CALLBACK_HANDLE;
    at::CallbackHandle scopes_ = at::INVALID_CALLBACK_HANDLE;
    detail::TorchStep* step_ = nullptr;
    bool sampled_ = false;
  };

  /// The collectives of all sampled steps of the process so far. Any thread.
  static std::vector<TorchCollective> collectives() {
    std::vector<TorchCollective> all;
    detail::torch_names.for_each([&](const detail::TorchName& name) {
      const std::uint64_t calls = name.calls.load(std::memory_order_relaxed);
      if (calls == 0) { return; }
      const char* const text = name.key.load(std::memory_order_relaxed)->name();
      all.push_back({text, calls, name.input_bytes.load(std::memory_order_relaxed),
                     name.without_bytes.load(std::memory_order_relaxed)});
    });
    return all;
  }
  /// Operators without memory for their region, and steps that should have been sampled, in the process. Any thread.
  static std::uint64_t missed() noexcept { return detail::torch_missed.load(std::memory_order_relaxed); }

 private:
  const TorchOpsOptions options_;
  std::atomic<std::uint64_t> steps_{0};
};

TAKT_END_NAMESPACE

#else

TAKT_END_NAMESPACE

TAKT_BEGIN_OFF_NAMESPACE

/// Compiled out: observes nothing.
class TorchOps {
 public:
  explicit TorchOps(const TorchOpsOptions& = {}) noexcept {}
  ~TorchOps() noexcept {}
  TorchOps(const TorchOps&) = delete;
  TorchOps& operator=(const TorchOps&) = delete;
  class [[nodiscard]] Step {
   public:
    [[nodiscard]] explicit Step(TorchOps&) noexcept {}
    ~Step() noexcept {}
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;
    bool sampled() const noexcept { return false; }
  };
  static std::vector<TorchCollective> collectives() { return {}; }
  static std::uint64_t missed() noexcept { return 0; }
};

TAKT_END_OFF_NAMESPACE

#endif
