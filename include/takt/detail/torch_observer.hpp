// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/hot.hpp>
#include <takt/key.hpp>
#include <takt/scope.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/SequenceNumber.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Data shared by all calls of an operator of that name.
struct TorchName {
  std::atomic<std::uint64_t> hash{0};           ///< 0: free
  std::atomic<const Key*> key{nullptr};         ///< nullptr: being created
  std::atomic<std::uint64_t> calls{0};          ///< calls of a collective
  std::atomic<std::uint64_t> input_bytes{0};    ///< input bytes of a collective
  std::atomic<std::uint64_t> without_bytes{0};  ///< calls without bytes
};

inline bool starts_with(std::string_view text, std::string_view with) noexcept {
  return text.substr(0, with.size()) == with;
}

/// Prefix that autograd's engine adds to the name of an evaluated node.
inline constexpr std::string_view kTorchEvaluates = "autograd::engine::evaluate_function: ";

/// Removes `mark` and a number after it from the end of the name, unless the result is empty.
inline std::string_view without_number(std::string_view name, std::string_view mark) noexcept {
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  if (digits == name.size() || digits <= mark.size()) { return name; }
  const std::size_t end = digits - mark.size();
  return name.substr(end, mark.size()) == mark ? name.substr(0, end) : name;
}

/// Removes the part of a name that differs from call to call, such as the 12 of "ProfilerStep#12".
inline std::string_view torch_name_of(std::string_view name) noexcept {
  if (starts_with(name, kTorchEvaluates)) { name.remove_prefix(kTorchEvaluates.size()); }
  return without_number(without_number(name, ", seq = "), "#");  // the formats of libtorch's profiler
}

/// Returns true for a name from a c10d process group.
inline bool is_collective(std::string_view name) noexcept {
  return starts_with(name, "nccl:") || starts_with(name, "gloo:") || starts_with(name, "mpi:") ||
         starts_with(name, "ucc:");
}

/// Returns true for a name that libtorch's dispatcher passes to a process group.
inline bool is_dispatched_collective(std::string_view name) noexcept { return starts_with(name, "c10d::"); }

/// Operators by name, of all threads. Never destroyed: libtorch threads may still be inside an operator at exit.
class TorchNames {
 public:
  static constexpr std::uint32_t kMax = 1024;

  /// Raises the limit; never lowers it.
  void allow(std::uint32_t max) noexcept {
    max = max < kMax ? max : kMax;
    std::uint32_t before = max_.load(std::memory_order_relaxed);  // orders nothing
    while (before < max && !max_.compare_exchange_weak(before, max, std::memory_order_relaxed)) {}
  }

  /// Returns nullptr beyond the limit. Any thread.
  TorchName* find(std::string_view name) noexcept {
    std::uint64_t hash = 14695981039346656037U;
    for (const char c : name) { hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U; }
    hash += hash == 0 ? 1U : 0U;
    for (std::size_t at = hash % kSlots;; at = (at + 1) % kSlots) {
      std::uint64_t there = name_[at].hash.load(std::memory_order_relaxed);  // the key has its own memory order
      if (there == 0 && !take(name_[at], hash, there)) { return nullptr; }
      if (there == hash) { return &name_[at]; }
    }
  }

  /// Returns the key of `name`, created at its first call, which takes a lock. Any thread.
  static const Key& key_of(TorchName* entry, std::string_view name, Kind kind) noexcept {
    static constexpr const char* kFurther = "(further operators)";
    if (entry == nullptr) {
      static const Key& further = takt::key(kFurther, Kind::compute);
      return further;
    }
    const Key* known = entry->key.load(std::memory_order_acquire);  // pairs with the release below
    if (known != nullptr) { return *known; }
    const Key* const made = make_key(name, kind);
    if (made == nullptr) { return key_of(nullptr, name, kind); }
    entry->key.store(made, std::memory_order_release);  // another thread may store the same
    return *made;
  }

  template <class Use>
  void for_each(Use use) const {
    for (const TorchName& name : name_) {
      if (name.key.load(std::memory_order_acquire) != nullptr) { use(name); }  // pairs with key_of()
    }
  }

 private:
  /// Returns nullptr if out of memory.
  static const Key* make_key(std::string_view name, Kind kind) noexcept {
    try {
      return &takt::key(std::string(name).c_str(), kind);  // shortens a long name, keeping it unique
    } catch (...) { return nullptr; }
  }

  static constexpr std::size_t kSlots = std::size_t{2} * kMax;

  /// Claims a free slot for `hash`, unless another thread was first: `there` is then its hash. Returns false if too
  /// many.
  bool take(TorchName& name, std::uint64_t hash, std::uint64_t& there) noexcept {
    if (count_.fetch_add(1, std::memory_order_relaxed) < max_.load(std::memory_order_relaxed)) {
      if (name.hash.compare_exchange_strong(there, hash, std::memory_order_relaxed)) {
        there = hash;
        return true;
      }
      count_.fetch_sub(1, std::memory_order_relaxed);
      return true;
    }
    count_.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }

  std::array<TorchName, kSlots> name_{};
  std::atomic<std::uint32_t> count_{0};
  std::atomic<std::uint32_t> max_{0};
};
inline TorchNames torch_names;

// For takt/torch.hpp: the sampled steps of the process, and their open regions on each thread.

/// Operators without memory for their region, and steps that should have been sampled, in the process.
inline std::atomic<std::uint64_t> torch_missed{0};

/// Number and time of some operators.
struct TorchSum {
  void add(std::uint64_t count, std::uint64_t time_ns) noexcept {  // orders nothing
    calls.fetch_add(count, std::memory_order_relaxed);
    ns.fetch_add(time_ns, std::memory_order_relaxed);
  }
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> ns{0};
};

/// Outermost operators of all ended sampled steps of the process, by phase.
struct TorchSums {
  std::atomic<std::uint64_t> steps{0};
  TorchSum forward, backward, optimizer, other;
};
inline TorchSums torch_sums;

/// A sampled step in progress, for all threads with its observer.
struct TorchStep {
  static constexpr at::CallbackHandle kTaken = ~at::CallbackHandle{0};

  void publish(at::CallbackHandle observer, std::uint32_t max, const void* thread) noexcept {
    depth.store(max, std::memory_order_relaxed);  // ordered by the handle
    nodes.store(0, std::memory_order_relaxed);
    owner.store(thread, std::memory_order_relaxed);
    handle.store(observer, std::memory_order_release);  // pairs with TorchSteps::find()
  }
  void end() noexcept { handle.store(0, std::memory_order_relaxed); }

  std::atomic<at::CallbackHandle> handle{0};  ///< observer handle, never reused by libtorch; 0: free
  std::atomic<std::uint32_t> depth{1};
  std::atomic<const void*> owner{nullptr};      ///< TorchThread on which it started
  mutable std::atomic<std::uint32_t> nodes{0};  ///< nodes of autograd so far, on all threads
};

/// Never destroyed: libtorch threads may be inside an operator at exit.
class TorchSteps {
 public:
  static constexpr std::size_t kMax = 256;

  /// Returns a free slot, owned by the caller until end(); nullptr if none. Any thread.
  TorchStep* take() noexcept {
    for (TorchStep& step : step_) {
      at::CallbackHandle free = 0;
      if (step.handle.compare_exchange_strong(free, TorchStep::kTaken, std::memory_order_relaxed)) { return &step; }
    }
    return nullptr;
  }
  /// Returns nullptr if the step has ended for good. Any thread.
  const TorchStep* find(at::CallbackHandle handle) const noexcept {
    for (const TorchStep& step : step_) {
      if (step.handle.load(std::memory_order_acquire) == handle) { return &step; }  // pairs with publish()
    }
    return nullptr;
  }

 private:
  std::array<TorchStep, kMax> step_{};
};
inline TorchSteps torch_steps;

/// Open regions of one step on one thread. Shared with the operators there, which may end on any thread and later.
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
  std::atomic<std::uint64_t> collectives{0};  ///< number reported by process groups
  std::atomic<std::uint32_t> functions{0};    ///< open regions that are no user scopes
  // Operators without gradients since the node of autograd with this number, which may be the step's last.
  std::uint32_t last_node = 0;
  std::uint64_t since_calls = 0;
  std::uint64_t since_ns = 0;
  const Key* evaluated = nullptr;  ///< the autograd node being evaluated
};

/// State of one thread.
class TorchThread {
 public:
  TorchThread() = default;
  ~TorchThread() { over() = true; }
  TorchThread(const TorchThread&) = delete;
  TorchThread& operator=(const TorchThread&) = delete;

  /// Returns nullptr at the end of the thread, when its variables are destroyed.
  static TorchThread* here() noexcept {
    static thread_local TorchThread thread;
    return over() ? nullptr : &thread;
  }
  /// Returns the open regions of that observer's step; nullptr if it has ended, or if out of memory, which counts as
  /// missed.
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

  std::vector<std::shared_ptr<TorchOpen>> open_;  ///< one, unless libtorch nests states
  at::CallbackHandle ended_ = 0;
};

// For takt/torch.hpp: callbacks for the start and end of each operator of a sampled step.

/// One operator, from its start to its end.
struct TorchRegion final : at::ObserverContext {
  explicit TorchRegion(std::shared_ptr<TorchOpen> where) noexcept : open(std::move(where)) {}

  const std::shared_ptr<TorchOpen> open;
  Region around = 0;  ///< Backward, on an autograd thread
  Region region = 0;
  bool counts = false;              ///< counts as an open region
  bool evaluates = false;           ///< a node of autograd
  bool function = false;            ///< no user scope
  bool outermost = false;           ///< the outermost of these
  std::uint64_t sequence = 0;       ///< number of the next node that this thread adds to a graph, at its start
  const Key* before = nullptr;      ///< previously evaluated node
  const Key* async = nullptr;       ///< its key, if it is not an open region because others may start before it ends
  TorchName* dispatched = nullptr;  ///< a collective that a process group may report inside
  std::uint64_t collectives = 0;    ///< number reported at its start
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
    // The tensor has no bytes to count, or this program lacks NDEBUG and libtorch, built with it, reports none.
    bytes = 0;
    entry->without_bytes.fetch_add(1, std::memory_order_relaxed);
  }
  entry->calls.fetch_add(1, std::memory_order_relaxed);  // orders nothing, like all here
  entry->input_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

/// Returns the observer that libtorch gave this thread, which may be of its own step; 0: none.
inline at::CallbackHandle torch_observer() noexcept;

/// Returns the open regions here of the observed step; nullptr if none is observed.
inline const std::shared_ptr<TorchOpen>* torch_open() noexcept {
  TorchThread* const thread = TorchThread::here();
  const at::CallbackHandle observer = thread == nullptr ? 0 : torch_observer();
  return observer == 0 ? nullptr : thread->find(observer);
}

/// An operator as libtorch reports it.
struct TorchCall {
  explicit TorchCall(const at::RecordFunction& function) noexcept
      : given(function.name() == nullptr ? "" : function.name()),
        name(torch_name_of(given)),
        scope(function.scope()),
        dispatched(scope == at::RecordScope::FUNCTION && is_dispatched_collective(name)),
        reported(scope == at::RecordScope::USER_SCOPE && function.isAsync() && is_collective(name)) {}
  bool is_collective_call() const noexcept { return dispatched || reported; }
  bool evaluates() const noexcept { return name.data() != given || scope == at::RecordScope::BACKWARD_FUNCTION; }
  Kind kind() const noexcept {
    if (is_collective_call()) { return Kind::comm; }
    return scope == at::RecordScope::USER_SCOPE ? Kind::other : Kind::compute;
  }

  const char* const given;
  const std::string_view name;
  const at::RecordScope scope;
  const bool dispatched;  ///< a collective, from the dispatcher
  const bool reported;    ///< a collective, from its process group
};

inline void begin_torch_region(TorchRegion& mine, const TorchCall& call, const Key& key) noexcept {
  TorchOpen& open = *mine.open;
  const std::uint32_t around = open.regions.fetch_add(1, std::memory_order_relaxed);
  mine.counts = true;
  mine.evaluates = call.evaluates();
  mine.function = mine.evaluates || call.scope != at::RecordScope::USER_SCOPE;
  if (mine.function && open.functions.fetch_add(1, std::memory_order_relaxed) == 0) {
    mine.outermost = true;
    mine.sequence = at::sequence_number::peek();
    mine.begin = std::chrono::steady_clock::now();
  }
  if (mine.evaluates) { open.step.nodes.fetch_add(1, std::memory_order_relaxed); }
  if (mine.evaluates) {
    if (!open.trains && around == 0) { mine.around = begin_region(Backward); }
    mine.before = open.evaluated;
    open.evaluated = &key;
  }
  mine.region = begin_region(key);
}

inline std::unique_ptr<at::ObserverContext> begin_torch(const at::RecordFunction& function) noexcept {
  const std::shared_ptr<TorchOpen>* const found = torch_open();
  if (found == nullptr) { return nullptr; }  // late call for a step that has ended
  TorchOpen& open = **found;
  const TorchCall call(function);
  const bool deep = open.regions.load(std::memory_order_relaxed) >= open.depth;
  if (deep && !call.is_collective_call()) { return nullptr; }
  TorchName* const entry = torch_names.find(call.name);
  const Key& key = TorchNames::key_of(entry, call.name, call.kind());
  if (call.scope == at::RecordScope::BACKWARD_FUNCTION && open.evaluated == &key) { return nullptr; }
  if (call.reported) {
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

/// Owner: adds the operators since the node `open.last_node` to the phase that they now belong to.
inline void settle_torch_phase(TorchOpen& open, TorchSum& phase) noexcept {
  phase.add(std::exchange(open.since_calls, 0), std::exchange(open.since_ns, 0));
}

/// Adds an outermost operator to its phase.
/// \param here it ends on the thread on which it started.
inline void add_torch_phase(TorchOpen& open, const TorchRegion& region, bool here) noexcept {
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - region.begin;
  const auto ns = static_cast<std::uint64_t>(took.count());
  if (region.evaluates) { return torch_sums.backward.add(1, ns); }
  if (!here) { return torch_sums.other.add(1, ns); }
  if (at::sequence_number::peek() != region.sequence) { return torch_sums.forward.add(1, ns); }
  const std::uint32_t nodes = open.step.nodes.load(std::memory_order_relaxed);
  if (!open.trains || nodes == 0 || c10::GradMode::is_enabled()) { return torch_sums.other.add(1, ns); }
  if (nodes != open.last_node) { settle_torch_phase(open, torch_sums.other); }
  open.last_node = nodes;
  ++open.since_calls;
  open.since_ns += ns;
}

/// Training thread, at the end of its step.
inline void end_torch_phases(at::CallbackHandle observer) noexcept {
  TorchThread* const thread = TorchThread::here();
  const std::shared_ptr<TorchOpen>* const open = thread == nullptr ? nullptr : thread->find(observer);
  if (open != nullptr) {
    const bool last = (*open)->last_node == (*open)->step.nodes.load(std::memory_order_relaxed);
    settle_torch_phase(**open, last ? torch_sums.optimizer : torch_sums.other);
  }
  torch_sums.steps.fetch_add(1, std::memory_order_relaxed);
}

/// Any thread.
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
  const bool here = function.threadId() == at::RecordFunction::currentThreadId();
  if (mine.outermost) { add_torch_phase(open, mine, here); }
  end_region(mine.region);
  end_region(mine.around);
  if (mine.evaluates && here) { open.evaluated = mine.before; }
  if (mine.function) { open.functions.fetch_sub(1, std::memory_order_relaxed); }
  open.regions.fetch_sub(1, std::memory_order_relaxed);
}

inline at::CallbackHandle torch_observer() noexcept {
  for (const at::RecordFunctionCallbacksEntry& entry : at::get_record_function_tls_().sorted_tls_callbacks_) {
    if (entry.callback_.start() == begin_torch) { return entry.handle_; }  // the start callback of the step's two
  }
  return 0;
}

/// Returns true if a step in progress is observed here. Removes the observers of an ended step, inherited with a saved
/// state: they report each operator again.
inline bool is_torch_observed() noexcept {
  if (torch_open() != nullptr) { return true; }
  try {
    for (at::CallbackHandle old = torch_observer(); old != 0; old = torch_observer()) { at::removeCallback(old); }
  } catch (...) {  // libtorch is out of memory: the step is sampled anyway
  }
  return false;
}

}  // namespace detail
TAKT_END_NAMESPACE
