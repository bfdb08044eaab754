// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/backends/event.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace takt_test {

struct FakeStream;

struct FakeEvent {
  std::int64_t at_ns = 0;
  bool recorded = false;
  bool queued = false;        // recorded, and its stream has not come so far
  bool captured = false;      // recorded last while its stream was being captured
  std::uint64_t context = 0;  // free for a driver that knows several
};

struct FakeContext {
  bool gone = false;
};

/// A queue in order, on a time line of its own that work moves on.
struct FakeStream {
  FakeContext* context = nullptr;
  bool is_legacy = false;
  std::int64_t now_ns = 0;
  struct Item {
    std::int64_t work_ns = 0;
    FakeEvent* event = nullptr;
  };
  std::deque<Item> queue;
  bool capturing = false;
  bool capture_valid = true;
  bool capture_global = true;
  std::thread::id capturer;
};

/// A device driver without a device: streams stand still until the test moves them. It knows what a driver would punish, and
/// notes every such misuse. Any thread.
class FakeDriver {
 public:
  enum class Call { enter, create, record, query, elapsed };
  using Status = takt::EventStatus;

  FakeStream* stream(FakeContext* context = nullptr) {
    const std::lock_guard<std::mutex> lock(mutex_);
    streams_.push_back(std::make_unique<FakeStream>());
    streams_.back()->context = context == nullptr ? &context_ : context;
    return streams_.back().get();
  }

  // What an application does.
  void work(FakeStream* stream, std::chrono::nanoseconds length) {
    const std::lock_guard<std::mutex> lock(mutex_);
    stream->queue.push_back({length.count(), nullptr});
    if (!held_) { run_locked(*stream, ~std::size_t{0}); }
  }
  void begin_capture(FakeStream* stream, bool global = true) {
    const std::lock_guard<std::mutex> lock(mutex_);
    stream->capturing = true;
    stream->capture_valid = true;
    stream->capture_global = global;
    stream->capturer = std::this_thread::get_id();
  }
  /// Whether the capture was still valid.
  bool end_capture(FakeStream* stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    stream->capturing = false;
    return stream->capture_valid;
  }

  // What the test does with the device.
  /// From now on streams stand still until run() (true), or work at once (false).
  void hold(bool on) {
    const std::lock_guard<std::mutex> lock(mutex_);
    held_ = on;
    if (on) { return; }
    for (auto& each : streams_) { run_locked(*each, ~std::size_t{0}); }
  }
  void run(FakeStream* stream, std::size_t items) {
    const std::lock_guard<std::mutex> lock(mutex_);
    run_locked(*stream, items);
  }
  void finish() {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto& each : streams_) { run_locked(*each, ~std::size_t{0}); }
  }
  /// The next calls of this kind answer so, `times` times.
  void script(Call call, Status status, int times = 1) {
    const std::lock_guard<std::mutex> lock(mutex_);
    script_[call] = {status, times};
  }
  void pass(std::chrono::nanoseconds time) {
    const std::lock_guard<std::mutex> lock(mutex_);
    host_ns_ += static_cast<std::uint64_t>(time.count());
  }
  std::size_t queued(FakeStream* stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return stream->queue.size();
  }
  FakeContext& context() noexcept { return context_; }

  std::uint64_t calls(Call call) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return calls_[call];
  }
  std::vector<std::string> misuses() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return misuses_;
  }
  /// Threads whose capture mode is not what it was.
  int unbalanced() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return relaxed_;
  }

  // What FakeApi calls.
  Status enter(FakeStream* stream, takt::EventContextId& id) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Status status = Status::done;
    if (answered(Call::enter, status)) { return status; }
    if (stream->capturing) { return Status::capturing; }
    if (stream->is_legacy && any_capture()) { return Status::capturing; }
    if (stream->context->gone) { return Status::no_context; }
    id = {stream->context, 1};
    return Status::done;
  }
  Status create(FakeEvent*& event) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Status status = Status::done;
    if (answered(Call::create, status)) { return status; }
    if (any_capture() && !is_relaxed()) { misuse("create during a capture"); }
    events_.push_back(std::make_unique<FakeEvent>());
    event = events_.back().get();
    return Status::done;
  }
  Status record(FakeEvent* event, FakeStream* stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Status status = Status::done;
    if (answered(Call::record, status)) { return status; }
    if (event->queued) { misuse("record of an event that stands in a queue"); }
    if (stream->capturing) { misuse("record on a stream that is being captured"); }
    event->captured = stream->capturing;
    event->recorded = true;
    event->queued = true;
    stream->queue.push_back({0, event});
    if (!held_) { run_locked(*stream, ~std::size_t{0}); }
    return Status::done;
  }
  Status query(FakeEvent* event) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Status status = Status::done;
    if (answered(Call::query, status)) { return status; }
    if (event->captured) { misuse("query of a captured event"); }
    if (!event->recorded) { misuse("query of an event that was never recorded"); }
    if (harms_capture()) { return Status::capturing; }
    return event->queued ? Status::not_ready : Status::done;
  }
  Status elapsed(FakeEvent* begin, FakeEvent* end, float& ms) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Status status = Status::done;
    if (answered(Call::elapsed, status)) { return status; }
    if (!begin->recorded || !end->recorded) { misuse("elapsed of an event that was never recorded"); }
    if (begin->queued || end->queued) { return Status::not_ready; }
    ms = static_cast<float>(static_cast<double>(end->at_ns - begin->at_ns) * 1e-6);
    return Status::done;
  }
  std::uint64_t now_ns() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return host_ns_;
  }
  void relax(int by) {
    const std::lock_guard<std::mutex> lock(mutex_);
    relaxed_ += by;
    depth_[std::this_thread::get_id()] += by;
  }

 private:
  void run_locked(FakeStream& stream, std::size_t items) {
    for (; items != 0 && !stream.queue.empty(); --items) {
      const FakeStream::Item item = stream.queue.front();
      stream.queue.pop_front();
      stream.now_ns += item.work_ns;
      if (item.event == nullptr) { continue; }
      item.event->at_ns = stream.now_ns;
      item.event->queued = false;
    }
  }
  bool answered(Call call, Status& status) {
    ++calls_[call];
    const auto scripted = script_.find(call);
    if (scripted == script_.end() || scripted->second.times == 0) { return false; }
    --scripted->second.times;
    status = scripted->second.status;
    return true;
  }
  bool any_capture() const {
    for (const auto& each : streams_) {
      if (each->capturing) { return true; }
    }
    return false;
  }
  bool is_relaxed() { return depth_[std::this_thread::get_id()] > 0; }
  /// A question to any event ends captures of this thread, and global ones of others, unless this thread is relaxed.
  bool harms_capture() {
    if (is_relaxed()) { return false; }
    bool harms = false;
    for (auto& each : streams_) {
      if (!each->capturing || !(each->capture_global || each->capturer == std::this_thread::get_id())) { continue; }
      each->capture_valid = false;
      misuse("query during a capture");
      harms = true;
    }
    return harms;
  }
  void misuse(const char* what) { misuses_.push_back(what); }

  struct Scripted {
    Status status = Status::done;
    int times = 0;
  };
  std::mutex mutex_;
  bool held_ = false;
  int relaxed_ = 0;
  std::uint64_t host_ns_ = 1;
  FakeContext context_;
  std::vector<std::unique_ptr<FakeStream>> streams_;
  std::deque<std::unique_ptr<FakeEvent>> events_;
  std::map<Call, Scripted> script_;
  std::map<Call, std::uint64_t> calls_;
  std::map<std::thread::id, int> depth_;
  std::vector<std::string> misuses_;
};

/// The Api of a FakeDriver, one for each Tag: tests have a device of their own.
template <class Tag>
struct FakeApi {
  using Stream = FakeStream*;
  using Event = FakeEvent*;
  static constexpr const char* name = "fake";

  static FakeDriver& driver() {
    static auto* const driver = new FakeDriver;  // never destroyed, like the device that calls it
    return *driver;
  }
  static inline const char* missing = nullptr;
  static inline thread_local bool error_pending = false;

  static const char* unavailable() noexcept { return missing; }
  static const char* caveat() noexcept { return nullptr; }
  static const char* fault() noexcept { return "the fake device is broken"; }
  static bool may_call() noexcept { return !error_pending; }
  static std::uintptr_t order_of(Stream stream) noexcept { return reinterpret_cast<std::uintptr_t>(stream); }
  static takt::EventStatus enter(Stream stream, takt::EventContextId& id) noexcept {
    return driver().enter(stream, id);
  }
  static takt::EventStatus create(const takt::EventContextId&, Event& event) noexcept { return driver().create(event); }
  static takt::EventStatus record(Event event, Stream stream) noexcept { return driver().record(event, stream); }
  static takt::EventStatus query(Event event) noexcept { return driver().query(event); }
  static takt::EventStatus elapsed(Event begin, Event end, float& ms) noexcept {
    return driver().elapsed(begin, end, ms);
  }
  static std::uint64_t now_ns() noexcept { return driver().now_ns(); }
  struct Relaxed {
    Relaxed() { driver().relax(1); }
    ~Relaxed() { driver().relax(-1); }
  };
};

}  // namespace takt_test
