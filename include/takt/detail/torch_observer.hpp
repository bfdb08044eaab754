// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// For takt/torch.hpp: what libtorch calls at the begin and the end of each operator of a sampled step.
#include <takt/detail/hot.hpp>
#include <takt/detail/torch_names.hpp>
#include <takt/scope.hpp>

#include <ATen/record_function.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <new>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Of the process. Never destroyed, as the threads of autograd may be inside of an operator when a step ends.
struct TorchState {
  std::atomic<std::uint32_t> steps{0};  ///< sampled ones that are going on, one a thread
  std::atomic<std::uint32_t> depth{1};  ///< of the one that began last
  std::atomic<std::uint64_t> begun{0};  ///< sampled ones
  std::atomic<std::uint64_t> missed{0};
};
inline TorchState torch_state;

/// Of one thread.
struct TorchThread {
  bool steps = false;      ///< it has a sampled step, or else works for a thread that has one
  unsigned depth = 0;      ///< operators that are regions and open
  std::uint64_t step = 0;  ///< whose depth that is
  const Key* innermost = nullptr;
};
inline thread_local TorchThread torch_thread;

/// One operator, between its begin and its end.
struct TorchRegion final : at::ObserverContext {
  Region around = 0;  ///< Backward, on a thread of autograd's
  Region region = 0;
  unsigned depth = 0;  ///< of the thread before
  const Key* before = nullptr;
  const Key* async = nullptr;  ///< its key, where it is no open region, as other operators may begin before it ends
  std::chrono::steady_clock::time_point begin;
};

inline std::uint64_t bytes_of(const c10::IValue& value) {
  std::uint64_t bytes = 0;
  if (value.isTensor() && value.toTensor().defined()) {
    bytes = value.toTensor().nbytes();
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) { bytes += tensor.defined() ? tensor.nbytes() : 0; }
  }
  return bytes;
}

inline void count_collective(TorchName* entry, const at::RecordFunction& function) noexcept {
  if (entry == nullptr) { return; }
  std::uint64_t bytes = 0;
  try {
    for (const c10::IValue& value : function.inputs()) { bytes += bytes_of(value); }
  } catch (...) {
    // A tensor that has no bytes to count; or this is a program without NDEBUG, to which a libtorch with it tells none.
    bytes = 0;
    entry->without_bytes.fetch_add(1, std::memory_order_relaxed);
  }
  entry->calls.fetch_add(1, std::memory_order_relaxed);  // orders nothing, as all here
  entry->input_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

inline std::unique_ptr<at::ObserverContext> begin_torch(const at::RecordFunction& function) noexcept {
  if (torch_state.steps.load(std::memory_order_relaxed) == 0) { return nullptr; }  // an echo of a step that has ended
  TorchThread& here = torch_thread;
  const std::uint64_t step = torch_state.begun.load(std::memory_order_relaxed);  // a hint, as all of that state
  if (!here.steps && here.step != step) {
    here = TorchThread();
    here.step = step;
  }
  if (here.depth >= torch_state.depth.load(std::memory_order_relaxed)) { return nullptr; }
  const at::RecordScope scope = function.scope();
  const char* const given = function.name() == nullptr ? "" : function.name();
  const std::string_view name = torch_name_of(given);
  const bool collective = is_collective(name);
  const Kind kind = collective ? Kind::comm : scope == at::RecordScope::USER_SCOPE ? Kind::other : Kind::compute;
  TorchName* const entry = torch_names.find(name);
  const Key& key = TorchNames::key_of(entry, name, kind);
  if (scope == at::RecordScope::BACKWARD_FUNCTION && here.innermost == &key) { return nullptr; }  // of its evaluation
  std::unique_ptr<TorchRegion> mine(new (std::nothrow) TorchRegion);
  if (mine == nullptr) {
    torch_state.missed.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  if (collective) { count_collective(entry, function); }
  if (function.isAsync()) {
    mine->async = &key;
    mine->begin = std::chrono::steady_clock::now();
    return mine;
  }
  const bool evaluates = name.data() != given || scope == at::RecordScope::BACKWARD_FUNCTION;
  if (!here.steps && here.depth == 0 && evaluates) { mine->around = begin_region(Backward); }
  mine->depth = here.depth++;
  mine->before = here.innermost;
  here.innermost = &key;
  mine->region = begin_region(key);
  return mine;
}

/// On any thread.
inline void end_torch(const at::RecordFunction& function, at::ObserverContext* context) noexcept {
  if (context == nullptr) { return; }
  const TorchRegion& mine = static_cast<const TorchRegion&>(*context);
  if (mine.async != nullptr) {
    const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - mine.begin;
    record_ns(*mine.async, static_cast<std::uint64_t>(took.count()));
    return;
  }
  end_region(mine.region);
  end_region(mine.around);
  if (function.threadId() != at::RecordFunction::currentThreadId()) { return; }
  torch_thread.depth = mine.depth;  // also of operators inside that have moved to another thread
  torch_thread.innermost = mine.before;
}

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
