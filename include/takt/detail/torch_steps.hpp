// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// For takt/torch.hpp: the sampled steps of the process, and what is open in them on each thread.
#include <takt/key.hpp>

#include <ATen/record_function.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Operators without memory for their region, and steps that should have been sampled, in the process.
inline std::atomic<std::uint64_t> torch_missed{0};

/// A sampled step while it goes on, for all threads that have its observer.
struct TorchStep {
  static constexpr at::CallbackHandle kTaken = ~at::CallbackHandle{0};

  void publish(at::CallbackHandle observer, std::uint32_t most, const void* thread) noexcept {
    depth.store(most, std::memory_order_relaxed);  // ordered by the handle
    owner.store(thread, std::memory_order_relaxed);
    handle.store(observer, std::memory_order_release);  // pairs with TorchSteps::find()
  }
  void end() noexcept { handle.store(0, std::memory_order_relaxed); }

  std::atomic<at::CallbackHandle> handle{0};  ///< of its observer, which libtorch gives once; 0: free
  std::atomic<std::uint32_t> depth{1};
  std::atomic<const void*> owner{nullptr};  ///< the TorchThread on which it began
};

/// Never destroyed, as threads of libtorch may be inside of an operator when the program ends.
class TorchSteps {
 public:
  static constexpr std::size_t kMost = 256;

  /// A free one, which is the caller's until its end(). nullptr: there is none. Any thread.
  TorchStep* take() noexcept {
    for (TorchStep& step : step_) {
      at::CallbackHandle free = 0;
      if (step.handle.compare_exchange_strong(free, TorchStep::kTaken, std::memory_order_relaxed)) { return &step; }
    }
    return nullptr;
  }
  /// nullptr: it has ended, for ever. Any thread.
  const TorchStep* find(at::CallbackHandle handle) const noexcept {
    for (const TorchStep& step : step_) {
      if (step.handle.load(std::memory_order_acquire) == handle) { return &step; }  // pairs with publish()
    }
    return nullptr;
  }

 private:
  std::array<TorchStep, kMost> step_{};
};
inline TorchSteps torch_steps;

/// What is open in one step on one thread. Shared with the operators there, which may end on any thread and later.
struct TorchOpen {
  TorchOpen(const TorchStep& whose, at::CallbackHandle observer, const void* thread) noexcept
      : step(whose),
        handle(observer),
        depth(whose.depth.load(std::memory_order_relaxed)),
        trains(whose.owner.load(std::memory_order_relaxed) == thread) {}
  bool goes_on() const noexcept { return step.handle.load(std::memory_order_relaxed) == handle; }

  const TorchStep& step;
  const at::CallbackHandle handle;
  const std::uint32_t depth;
  const bool trains;  ///< the step is that of this thread
  std::atomic<std::uint32_t> regions{0};
  std::atomic<std::uint64_t> collectives{0};  ///< that process groups have told
  const Key* evaluated = nullptr;             ///< the node of autograd's that is being evaluated
};

/// Of one thread.
class TorchThread {
 public:
  TorchThread() = default;
  ~TorchThread() { over() = true; }
  TorchThread(const TorchThread&) = delete;
  TorchThread& operator=(const TorchThread&) = delete;

  /// nullptr: at the end of the thread, when its variables are gone.
  static TorchThread* here() noexcept {
    static thread_local TorchThread thread;
    return over() ? nullptr : &thread;
  }
  /// What is open in the step of that observer; nullptr: it has ended, or there is no memory, which counts as missed.
  const std::shared_ptr<TorchOpen>* find(at::CallbackHandle handle) noexcept {
    if (handle == ended_) { return nullptr; }
    for (const std::shared_ptr<TorchOpen>& open : open_) {
      if (open->handle == handle) { return open->goes_on() ? &open : nullptr; }
    }
    const TorchStep* const step = torch_steps.find(handle);
    if (step == nullptr) {
      ended_ = handle;
      return nullptr;
    }
    try {
      const auto has_ended = [](const std::shared_ptr<TorchOpen>& open) { return !open->goes_on(); };
      open_.erase(std::remove_if(open_.begin(), open_.end(), has_ended), open_.end());
      open_.push_back(std::make_shared<TorchOpen>(*step, handle, this));
      return &open_.back();
    } catch (...) {
      torch_missed.fetch_add(1, std::memory_order_relaxed);
      return nullptr;
    }
  }

 private:
  static bool& over() noexcept {
    static thread_local bool over = false;
    return over;
  }

  std::vector<std::shared_ptr<TorchOpen>> open_;  ///< one, but where libtorch puts one state inside another
  at::CallbackHandle ended_ = 0;
};

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
