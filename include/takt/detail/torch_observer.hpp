// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// For takt/torch.hpp: what libtorch calls at the begin and the end of each operator of a sampled step.
#include <takt/detail/hot.hpp>
#include <takt/detail/torch_names.hpp>
#include <takt/detail/torch_steps.hpp>
#include <takt/scope.hpp>

#include <ATen/record_function.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// One operator, between its begin and its end.
struct TorchRegion final : at::ObserverContext {
  explicit TorchRegion(std::shared_ptr<TorchOpen> where) noexcept : open(std::move(where)) {}

  const std::shared_ptr<TorchOpen> open;
  Region around = 0;  ///< Backward, on a thread of autograd's
  Region region = 0;
  bool counts = false;              ///< as one of those that are open
  bool evaluates = false;           ///< a node of autograd's
  const Key* before = nullptr;      ///< the node that was being evaluated
  const Key* async = nullptr;       ///< its key, where it is no open region, as others may begin before it ends
  TorchName* dispatched = nullptr;  ///< a collective that a process group may tell of inside
  std::uint64_t collectives = 0;    ///< that were told at its begin
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

/// Of the step whose observer libtorch has given to this thread, whose own it may be; 0: none.
inline at::CallbackHandle torch_observer() noexcept;

/// What is open here in the step that is observed, nullptr if none is.
inline const std::shared_ptr<TorchOpen>* torch_open() noexcept {
  TorchThread* const thread = TorchThread::here();
  const at::CallbackHandle observer = thread == nullptr ? 0 : torch_observer();
  return observer == 0 ? nullptr : thread->find(observer);
}

/// An operator as libtorch tells of it.
struct TorchCall {
  explicit TorchCall(const at::RecordFunction& function) noexcept
      : given(function.name() == nullptr ? "" : function.name()),
        name(torch_name_of(given)),
        scope(function.scope()),
        dispatched(scope == at::RecordScope::FUNCTION && is_dispatched_collective(name)),
        told(scope == at::RecordScope::USER_SCOPE && function.isAsync() && is_collective(name)) {}
  bool is_collective_call() const noexcept { return dispatched || told; }
  bool evaluates() const noexcept { return name.data() != given || scope == at::RecordScope::BACKWARD_FUNCTION; }
  Kind kind() const noexcept {
    if (is_collective_call()) { return Kind::comm; }
    return scope == at::RecordScope::USER_SCOPE ? Kind::other : Kind::compute;
  }

  const char* const given;
  const std::string_view name;
  const at::RecordScope scope;
  const bool dispatched;  ///< a collective, by the dispatcher
  const bool told;        ///< a collective, by its process group
};

inline void begin_torch_region(TorchRegion& mine, const TorchCall& call, const Key& key) noexcept {
  TorchOpen& open = *mine.open;
  const std::uint32_t around = open.regions.fetch_add(1, std::memory_order_relaxed);
  mine.counts = true;
  mine.evaluates = call.evaluates();
  if (mine.evaluates) {
    if (!open.trains && around == 0) { mine.around = begin_region(Backward); }
    mine.before = open.evaluated;
    open.evaluated = &key;
  }
  mine.region = begin_region(key);
}

inline std::unique_ptr<at::ObserverContext> begin_torch(const at::RecordFunction& function) noexcept {
  const std::shared_ptr<TorchOpen>* const found = torch_open();
  if (found == nullptr) { return nullptr; }  // an echo of a step that has ended
  TorchOpen& open = **found;
  const TorchCall call(function);
  const bool deep = open.regions.load(std::memory_order_relaxed) >= open.depth;
  if (deep && !call.is_collective_call()) { return nullptr; }
  TorchName* const entry = torch_names.find(call.name);
  const Key& key = TorchNames::key_of(entry, call.name, call.kind());
  if (call.scope == at::RecordScope::BACKWARD_FUNCTION && open.evaluated == &key) { return nullptr; }
  if (call.told) {
    count_collective(entry, function);
    open.collectives.fetch_add(1, std::memory_order_relaxed);
    if (deep) { return nullptr; }
  }
  std::unique_ptr<TorchRegion> mine(new (std::nothrow) TorchRegion(*found));
  if (mine == nullptr) {
    torch_missed.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  if (call.dispatched) {
    mine->dispatched = entry;
    mine->collectives = open.collectives.load(std::memory_order_relaxed);
  }
  if (deep) { return mine; }
  if (function.isAsync()) {
    mine->async = &key;
    mine->begin = std::chrono::steady_clock::now();
  } else {
    begin_torch_region(*mine, call, key);
  }
  return mine;
}

/// On any thread.
inline void end_torch(const at::RecordFunction& function, at::ObserverContext* context) noexcept {
  if (context == nullptr) { return; }
  const TorchRegion& mine = static_cast<const TorchRegion&>(*context);
  TorchOpen& open = *mine.open;
  if (mine.dispatched != nullptr && open.collectives.load(std::memory_order_relaxed) == mine.collectives) {
    mine.dispatched->calls.fetch_add(1, std::memory_order_relaxed);
    mine.dispatched->without_bytes.fetch_add(1, std::memory_order_relaxed);
  }
  if (mine.async != nullptr) {
    const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - mine.begin;
    record_ns(*mine.async, static_cast<std::uint64_t>(took.count()));
  }
  if (!mine.counts) { return; }
  end_region(mine.region);
  end_region(mine.around);
  if (mine.evaluates && function.threadId() == at::RecordFunction::currentThreadId()) { open.evaluated = mine.before; }
  open.regions.fetch_sub(1, std::memory_order_relaxed);
}

inline at::CallbackHandle torch_observer() noexcept {
  for (const at::RecordFunctionCallbacksEntry& entry : at::get_record_function_tls_().sorted_tls_callbacks_) {
    if (entry.callback_.start() == begin_torch) { return entry.handle_; }  // the lower one of the two of a step
  }
  return 0;
}

/// Whether a step that goes on is observed here. Observers of one that has ended, which came with a state that was
/// taken in it, are removed: they would tell of each operator once more.
inline bool is_torch_observed() noexcept {
  if (torch_open() != nullptr) { return true; }
  try {
    for (at::CallbackHandle old = torch_observer(); old != 0; old = torch_observer()) { at::removeCallback(old); }
  } catch (...) {  // libtorch has no memory for it: the step is sampled nevertheless
  }
  return false;
}

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
