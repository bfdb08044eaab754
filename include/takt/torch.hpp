// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Compiled by the program with its own libtorch (1.13 or later), so that libtakt depends on none. Link takt::torch and
// that libtorch. docs/torch.md describes the regions.
#include <takt/detail/library_version.hpp>
#include <takt/detail/torch_observer.hpp>
#include <takt/error.hpp>
#include <takt/key.hpp>
#include <takt/scope.hpp>
#include <takt/stream.hpp>

#include <ATen/record_function.h>

#if __has_include(<torch/version.h>)
#include <torch/version.h>
#endif

// Headers that only a libtorch for GPUs has.
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

/// Returns the stream on which libtorch puts the calling thread's work, for a Scope: `takt::Scope s(takt::Forward,
/// takt::torch_stream())`. If libtorch is built for no GPU or finds none, the result is no stream and the region has
/// only host time. Libtorch's stream 0 is the legacy one, regardless of how this translation unit is compiled. Never
/// throws. Any thread. Queries libtorch for the device, which initializes CUDA or HIP: do not call it before a fork.
inline StreamRef torch_stream() noexcept {
#if __has_include(<c10/hip/impl/hip_cmake_macros.h>)
  try {
    if (c10::hip::device_count() > 0) {
      return StreamTraits<ihipStream_t*>::ref(c10::hip::getCurrentHIPStream().stream(), detail::LegacyStreams{});
    }
  } catch (...) {  // libtorch reported the reason at the first use of the device
  }
#elif __has_include(<c10/cuda/impl/cuda_cmake_macros.h>)
  try {
    if (c10::cuda::device_count() > 0) {
      return StreamTraits<CUstream_st*>::ref(c10::cuda::getCurrentCUDAStream().stream(), detail::LegacyStreams{});
    }
  } catch (...) {  // libtorch reported the reason at the first use of the device
  }
#endif
  return {};
}

/// Options of TorchOps.
struct TorchOpsOptions {
  std::uint32_t every = 50;  ///< samples one step in this many of all threads, starting with the first (>= 1)
  unsigned depth = 1;        ///< maximum nesting of operators as regions; 1: only those that the program calls itself
  /// Maximum number of distinct operator names in the process (<= 1,024); the rest are "(further operators)". The
  /// largest value of all TorchOps applies.
  std::uint32_t names = 256;
};

/// Calls of one c10d collective in sampled steps, under the name from its process group or, if that gives none, from
/// libtorch's dispatcher, such as "c10d::allreduce_". Each call counts once, at any depth.
struct TorchCollective {
  std::string name;  ///< such as "nccl:all_reduce"
  std::uint64_t calls = 0;
  std::uint64_t input_bytes = 0;  ///< bytes of the input tensors on this rank that libtorch reports
  /// Calls without bytes from libtorch: tensors without bytes, process groups that report none ("c10d::"), and programs
  /// compiled without NDEBUG for a libtorch compiled with it.
  std::uint64_t without_bytes = 0;
};

/// Outermost operators of one phase: their number, and the sum of their host times.
struct TorchOperators {
  std::uint64_t calls = 0;
  std::uint64_t ns = 0;
};

/// Outermost operators of sampled steps by phase, as libtorch itself shows it.
struct TorchPhases {
  std::uint64_t steps = 0;   ///< sampled steps that have ended
  TorchOperators forward;    ///< those that added nodes to autograd's graph
  TorchOperators backward;   ///< nodes of autograd, on all its threads
  TorchOperators optimizer;  ///< at most: those on the training thread, without gradients, after the step's last node
  TorchOperators other;      ///< the rest
};

#if TAKT_ENABLED

/// Times libtorch operators as regions, in one step of `every`, inside the region that is open at their start:
///
///     takt::TorchOps ops;
///     for (...) {
///       takt::Scope batch(takt::Batch);
///       const takt::TorchOps::Step step(ops);
///       ...
///     }
///
/// On autograd's own threads, its nodes are inside a region Backward. Other steps cost nothing. Any number in a
/// process; any thread. Give each of several training threads its own TorchOps: `every` counts the steps of all threads
/// together, so threads that take turns may get very different shares of the samples.
class TorchOps {
 public:
  /// \throws takt::Error if an option is 0.
  explicit TorchOps(const TorchOpsOptions& options = {}) : options_(options) {
    if (options.every == 0 || options.depth == 0 || options.names == 0) {
      throw Error("takt: TorchOpsOptions: every, depth and names are 1 or more");
    }
    detail::torch_names.allow(options.names);
#ifdef TORCH_VERSION
    static detail::LibraryVersion version{"libtorch", TORCH_VERSION};
    static const bool added = (detail::add_library_version(version), true);
    (void)added;
#endif
  }
  TorchOps(const TorchOps&) = delete;
  TorchOps& operator=(const TorchOps&) = delete;

  /// One step, from here to the end of the block. Does nothing inside another one, including one of a thread whose
  /// state libtorch passed to this thread. Never throws. If libtorch accepts no observer, or 256 steps are being
  /// sampled, the step is not sampled and counts as missed. May outlive the TorchOps. Use it on the training thread; it
  /// must end on the thread on which it started.
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

    /// Returns true if operators are regions in this step.
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
        scopes.scopes({RecordScope::USER_SCOPE}).needsInputs(true);  // only these callbacks pay for inputs
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
      if (sampled_) { detail::end_torch_phases(functions_); }
      step_->end();
      remove();
    }
    void remove() noexcept {
      for (const at::CallbackHandle handle : {functions_, scopes_}) {
        try {
          if (handle != at::INVALID_CALLBACK_HANDLE) { at::removeCallback(handle); }
        } catch (...) {  // the program has removed all callbacks, this one too
        }
      }
    }

    at::CallbackHandle functions_ = at::INVALID_CALLBACK_HANDLE;
    at::CallbackHandle scopes_ = at::INVALID_CALLBACK_HANDLE;
    detail::TorchStep* step_ = nullptr;
    bool sampled_ = false;
  };

  /// Returns the collectives of all sampled steps of the process so far. Any thread.
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
  /// Returns the operators of all sampled steps of the process so far, by phase. Any thread.
  static TorchPhases phases() noexcept {
    const auto sum_of = [](const detail::TorchSum& sum) noexcept {
      return TorchOperators{sum.calls.load(std::memory_order_relaxed), sum.ns.load(std::memory_order_relaxed)};
    };
    const detail::TorchSums& sums = detail::torch_sums;
    return {sums.steps.load(std::memory_order_relaxed), sum_of(sums.forward), sum_of(sums.backward),
            sum_of(sums.optimizer), sum_of(sums.other)};
  }
  /// Returns the number of operators without memory for their region, and of steps that should have been sampled, in
  /// the process. Any thread.
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
  static TorchPhases phases() noexcept { return {}; }
  static std::uint64_t missed() noexcept { return 0; }
};

TAKT_END_OFF_NAMESPACE

#endif
