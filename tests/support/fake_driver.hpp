// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/backends/event.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace takt_test {

struct FakeStream;

struct FakeContext {
  bool gone = false;
  std::atomic<std::uint64_t> number{1};  // changes at each reset, possibly during a query on another thread
};

struct FakeEvent {
  std::int64_t at_ns = 0;
  bool recorded = false;
  bool queued = false;           // recorded, but not yet reached by its stream
  bool captured = false;         // last recorded while its stream was being captured
  bool in_graph = false;         // a node of a graph records it
  int owed = 0;                  // outstanding queries for its time, see FakeDriver::owe()
  FakeStream* stream = nullptr;  // last stream that it was recorded on
  const FakeContext* context = nullptr;
  std::uint64_t context_number = 0;
};

/// The result of a capture: work, and events that each replay records. As with real drivers, an event reports the
/// previous replay from the launch until the stream reaches it.
struct FakeGraph {
  struct Node {
    std::int64_t work_ns = 0;
    FakeEvent* event = nullptr;
  };
  std::vector<Node> nodes;
};

/// An in-order queue with its own time line, which work advances.
struct FakeStream {
  FakeContext* context = nullptr;
  bool is_legacy = false;
  bool is_gone = false;       // destroyed
  FakeEvent* last = nullptr;  // last event recorded on it
  std::int64_t now_ns = 0;
  struct Item {
    std::int64_t work_ns = 0;
    FakeEvent* event = nullptr;
    bool of_graph = false;
  };
  std::deque<Item> queue;
  std::size_t records = 0;  // in the queue
  bool capturing = false;
  bool capture_valid = true;
  bool capture_global = true;
  std::thread::id capturer;
  FakeGraph captured;
};

/// A device driver without a device: streams stop until the test runs them. It records every misuse that a real driver
/// would punish. Thread-safe.
class FakeDriver {
 public:
  enum class Call { enter, create, record, query, elapsed, alive, exchange, wait, look };
  using Status = takt::EventStatus;

  FakeStream* stream(FakeContext* context = nullptr) {
    const std::lock_guard<std::mutex> lock(mutex_);
    streams_.push_back(std::make_unique<FakeStream>());
    streams_.back()->context = context == nullptr ? &context_ : context;
    return streams_.back().get();
  }

  /// From now on acts as HIP since 6.2: a query of an event reads the stream that the event was last recorded on. If
  /// that stream is being captured, the capture becomes invalid in any mode. If it was destroyed, the query reads freed
  /// memory.
  void check_streams() {
    const std::lock_guard<std::mutex> lock(mutex_);
    checks_streams_ = true;
  }

  // Calls of the application. Queued work still runs after destroy().
  void destroy(FakeStream* stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    stream->is_gone = true;
    streams_.push_back(std::make_unique<FakeStream>());
    streams_.back()->now_ns = stream->now_ns;
    std::swap(streams_.back()->queue, stream->queue);
  }
  /// Makes a new stream at the address of a destroyed one.
  void make_again(FakeStream* stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    stream->is_gone = false;
    stream->now_ns = 0;
  }
  bool is_gone(FakeStream* stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return stream->is_gone;
  }
  void work(FakeStream* stream, std::chrono::nanoseconds length) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (stream->capturing) {
      stream->captured.nodes.push_back({length.count(), nullptr});
      return;
    }
    stream->queue.push_back({length.count(), nullptr, false});
    if (!held_) { run_locked(*stream, ~std::size_t{0}); }
  }
  void begin_capture(FakeStream* stream, bool global = true) {
    const std::lock_guard<std::mutex> lock(mutex_);
    stream->capturing = true;
    stream->capture_valid = true;
    stream->capture_global = global;
    stream->capturer = std::this_thread::get_id();
    stream->captured = FakeGraph();
  }
  /// Ends the capture; returns true if it was still valid.
  bool end_capture(FakeStream* stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    stream->capturing = false;
    return stream->capture_valid;
  }
  /// Makes a call that no capture allows.
  void break_capture(FakeStream* stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    stream->capture_valid = false;
  }
  bool is_capture_valid(FakeStream* stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return stream->capture_valid;
  }
  /// Returns the result of this stream's last capture.
  FakeGraph graph(FakeStream* stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return stream->captured;
  }
  void launch(const FakeGraph& graph, FakeStream* stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const FakeGraph::Node& node : graph.nodes) { stream->queue.push_back({node.work_ns, node.event, true}); }
    if (!held_) { run_locked(*stream, ~std::size_t{0}); }
  }
  /// Destroys a context with all its events, and replaces it by a new one.
  void reset(FakeContext& context) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++context.number;
  }

  // Control of the device by the test. hold(true) stops streams until run(); hold(false) makes work run at once.
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
  /// Makes the next `times` calls of this kind return `status`.
  void script(Call call, Status status, int times = 1) {
    const std::lock_guard<std::mutex> lock(mutex_);
    script_[call] = {status, times};
  }
  /// Makes every event that this thread records from now on require `queries` time queries before it is recorded again:
  /// one for a start or an end, two for both.
  static void owe(int queries) { owed_ = queries; }
  FakeEvent* last(FakeStream* stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return stream->last;
  }
  /// Cancels one required query, because its region was dropped.
  void forgive(FakeEvent* event) {
    const std::lock_guard<std::mutex> lock(mutex_);
    --event->owed;
  }
  void pass(std::chrono::nanoseconds time) {
    const std::lock_guard<std::mutex> lock(mutex_);
    host_ns_ += static_cast<std::uint64_t>(time.count());
  }
  /// Limits a stream's queue to `max` records. A further record, which would block the host, is a misuse.
  void hold_records(std::size_t max) {
    const std::lock_guard<std::mutex> lock(mutex_);
    max_records_ = max;
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
  /// Returns the longest interval queried so far.
  std::chrono::nanoseconds longest_elapsed() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::chrono::nanoseconds(longest_elapsed_ns_);
  }
  /// Returns the number of threads whose capture mode was not restored.
  int unbalanced() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return relaxed_;
  }

  /// Records a misuse that a layer in front of this driver detected.
  void note(const char* what) {
    const std::lock_guard<std::mutex> lock(mutex_);
    misuse(what);
  }

  // Called by FakeApi.
  Status enter(FakeStream* stream, takt::EventContextId& id) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Status status = Status::done;
    if (answered(Call::enter, status)) { return status; }
    if (stream->capturing) { return Status::capturing; }
    if (stream->is_legacy && any_capture()) { return Status::capturing; }
    if (stream->context->gone) { return Status::no_context; }
    id = {stream->context, stream->context->number};
    return Status::done;
  }
  Status check(FakeStream* stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Status status = Status::done;
    if (answered(Call::look, status)) { return status; }
    if (stream->is_gone) { return Status::stream_gone; }
    return stream->capturing ? Status::capturing : Status::done;
  }
  Status enter_capture(FakeStream* stream, takt::EventContextId& id) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Status status = Status::done;
    if (answered(Call::enter, status)) { return status; }
    if (!stream->capturing) { return Status::not_capturing; }
    id = {stream->context, stream->context->number};
    return Status::done;
  }
  Status alive(const takt::EventContextId& id) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Status status = Status::done;
    if (answered(Call::alive, status)) { return status; }
    const auto* context = static_cast<const FakeContext*>(id.handle);
    return context->gone || context->number != id.number ? Status::lost : Status::done;
  }
  Status create(const takt::EventContextId& id, FakeEvent*& event) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Status status = Status::done;
    if (answered(Call::create, status)) { return status; }
    if (any_capture() && !is_relaxed()) { misuse("create during a capture"); }
    events_.push_back(std::make_unique<FakeEvent>());
    event = events_.back().get();
    event->context = static_cast<const FakeContext*>(id.handle);
    event->context_number = id.number;
    return Status::done;
  }
  Status record(FakeEvent* event, FakeStream* stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Status status = Status::done;
    if (answered(Call::record, status)) { return status; }
    if (event->queued) { misuse("record of an event that is still queued"); }
    if (event->in_graph && in_flight(event)) { misuse("record of an event that a replay may write"); }
    if (event->owed != 0) { misuse("record of an event whose time has not been read"); }
    ask_about(event);
    event->in_graph = false;
    if (stream->capturing) { misuse("record on a stream that is being captured"); }
    if (stream->is_gone) { misuse("record on a destroyed stream"); }
    event->stream = stream;
    event->captured = stream->capturing;
    event->recorded = true;
    event->queued = true;
    event->owed = owed_;
    stream->last = event;
    if (++stream->records > max_records_) { misuse("a record that would have waited for room in the queue"); }
    stream->queue.push_back({0, event, false});
    if (!held_) { run_locked(*stream, ~std::size_t{0}); }
    return Status::done;
  }
  Status record_in_graph(FakeEvent* event, FakeStream* stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Status status = Status::done;
    if (answered(Call::record, status)) { return status; }
    if (event->queued) { misuse("record of an event that is still queued"); }
    if (!stream->capturing) { misuse("record into a graph of a stream that is not being captured"); }
    ask_about(event);
    event->in_graph = true;
    stream->captured.nodes.push_back({0, event});
    return Status::done;
  }
  Status query(FakeEvent* event) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Status status = Status::done;
    if (answered(Call::query, status)) { return status; }
    ask_about(event);
    if (event->captured) { misuse("query of a captured event"); }
    if (!event->recorded && !event->in_graph) { misuse("query of an event that was never recorded"); }
    if (harms_capture(event)) { return Status::capturing; }
    return event->queued ? Status::not_ready : Status::done;
  }
  Status elapsed(FakeEvent* begin, FakeEvent* end, float& ms) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Status status = Status::done;
    if (answered(Call::elapsed, status)) { return status; }
    ask_about(begin);
    ask_about(end);
    for (const FakeEvent* each : {begin, end}) {
      if (each->recorded) { continue; }
      if (!each->in_graph) { misuse("elapsed of an event that was never recorded"); }
      return Status::not_recorded;
    }
    if (checks_streams_ && is_stream_gone(end) && end->queued) { misuse("query that reads a destroyed stream"); }
    if (begin->queued || end->queued) { return Status::not_ready; }
    for (FakeEvent* each : {begin, end}) { each->owed -= each->owed == 0 ? 0 : 1; }
    ms = static_cast<float>(static_cast<double>(end->at_ns - begin->at_ns) * 1e-6);
    longest_elapsed_ns_ = std::max(longest_elapsed_ns_, std::abs(end->at_ns - begin->at_ns));
    return Status::done;
  }
  Status wait(FakeEvent* event) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Status status = Status::done;
    if (answered(Call::wait, status)) { return status; }
    ask_about(event);
    if (!waiting_allowed_) { misuse("an unexpected wait"); }
    if (harms_capture(event)) { return Status::capturing; }
    for (auto& each : streams_) {
      while (event->queued && !each->queue.empty() && stands_in(*each, event)) { run_locked(*each, 1); }
    }
    return Status::done;
  }
  void allow_waiting() {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_allowed_ = true;
  }
  std::uint64_t now_ns() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return host_ns_;
  }
  void relax(int by) {
    const std::lock_guard<std::mutex> lock(mutex_);
    relaxed_ += by;
    ++calls_[Call::exchange];
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
      item.event->recorded = true;
      if (item.of_graph) { continue; }
      item.event->queued = false;
      --stream.records;
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
  /// Harmless if a new stream has its address by now.
  static bool is_stream_gone(const FakeEvent* event) { return event->stream != nullptr && event->stream->is_gone; }
  /// A query of any event invalidates this thread's captures, and other threads' global captures, unless this thread is
  /// relaxed.
  bool harms_capture(const FakeEvent* event) {
    if (checks_streams_ && is_stream_gone(event)) { misuse("query that reads a destroyed stream"); }
    if (checks_streams_ && event->stream != nullptr && event->stream->capturing) {
      event->stream->capture_valid = false;
      misuse("query of an event whose stream is being captured");
      return true;
    }
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
  static bool stands_in(const FakeStream& stream, const FakeEvent* event) {
    for (const FakeStream::Item& item : stream.queue) {
      if (item.event == event) { return true; }
    }
    return false;
  }
  bool in_flight(const FakeEvent* event) const {
    for (const auto& each : streams_) {
      for (const FakeStream::Item& item : each->queue) {
        if (item.event == event && item.of_graph) { return true; }
      }
    }
    return false;
  }
  void ask_about(const FakeEvent* event) {
    if (event->context->gone || event->context->number != event->context_number) {
      misuse("call with an event of a destroyed context");
    }
  }
  void misuse(const char* what) {
    if (misuses_.size() < 20) { misuses_.push_back(what); }  // a test prints these
  }

  struct Scripted {
    Status status = Status::done;
    int times = 0;
  };
  static inline thread_local int owed_ = 0;
  std::mutex mutex_;
  bool held_ = false;
  bool checks_streams_ = false;
  bool waiting_allowed_ = false;
  std::size_t max_records_ =
      std::getenv("FAKE_RECORDS") == nullptr ? 1000 : std::strtoul(std::getenv("FAKE_RECORDS"), nullptr, 10);
  int relaxed_ = 0;
  std::int64_t longest_elapsed_ns_ = 0;
  std::uint64_t host_ns_ = 1;
  FakeContext context_;
  std::vector<std::unique_ptr<FakeStream>> streams_;
  std::deque<std::unique_ptr<FakeEvent>> events_;
  std::map<Call, Scripted> script_;
  std::map<Call, std::uint64_t> calls_;
  std::map<std::thread::id, int> depth_;
  std::vector<std::string> misuses_;
};

/// The Api of a FakeDriver; one per Tag, so that each test has its own device.
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
  static inline bool has_graphs = true;
  static inline bool pauses = false;
  static inline bool has_one_order = false;  // treats all streams as one

  static const char* unavailable() noexcept { return missing; }
  static const char* caveat() noexcept { return nullptr; }
  static const char* error_text() noexcept { return "the fake device is broken"; }
  static bool may_call() noexcept { return !error_pending; }
  static std::uintptr_t order_of(Stream stream) noexcept {
    return has_one_order ? 1 : reinterpret_cast<std::uintptr_t>(stream);
  }
  static takt::EventStatus enter(Stream stream, takt::EventContextId& id) noexcept {
    return has_context() || !stream->is_legacy ? driver().enter(stream, id) : takt::EventStatus::no_context;
  }
  static bool keeps_context(Stream stream) noexcept { return !stream->is_legacy; }
  static takt::EventStatus check_capture(Stream stream) noexcept {
    takt::EventContextId unused;
    return enter(stream, unused);
  }
  static takt::EventStatus create(const takt::EventContextId& id, Event& event) noexcept {
    return driver().create(id, event);
  }
  static takt::EventStatus record(Event event, Stream stream) noexcept {
    return has_context() ? driver().record(event, stream) : takt::EventStatus::no_context;
  }
  static takt::EventStatus enter_capture(Stream stream, takt::EventContextId& id) noexcept {
    return has_graphs ? driver().enter_capture(stream, id) : takt::EventStatus::unsupported;
  }
  static takt::EventStatus record_in_graph(Event event, Stream stream) noexcept {
    return driver().record_in_graph(event, stream);
  }
  static takt::EventStatus alive(const takt::EventContextId& id) noexcept {
    return has_context() ? driver().alive(id) : takt::EventStatus::no_context;
  }
  static inline bool looks = false;  // acts as HIP since 6.2
  static takt::EventStatus check(Stream stream) noexcept {
    return looks ? driver().check(stream) : takt::EventStatus::done;
  }
  static takt::EventStatus query(Event event) noexcept {
    if (holds_queries) {
      ++held_queries;
      while (holds_queries) { std::this_thread::yield(); }
      --held_queries;
    }
    return has_context() ? driver().query(event) : takt::EventStatus::no_context;
  }
  static takt::EventStatus elapsed(Event begin, Event end, float& ms) noexcept {
    return has_context() ? driver().elapsed(begin, end, ms) : takt::EventStatus::no_context;
  }
  static takt::EventStatus wait(Event event) noexcept { return driver().wait(event); }
  static std::uint64_t now_ns() noexcept { return driver().now_ns(); }
  static bool exchange_mode(int& mode) noexcept {
    if (!exchanges_modes) { return false; }
    static thread_local int current = 0;
    driver().relax((mode == 2 ? 1 : 0) - (current == 2 ? 1 : 0));
    std::swap(current, mode);
    return true;
  }
  static bool pauses_at_captures() noexcept { return pauses; }
  // A thread without a context gets no answers until it visits one, except about streams that know theirs.
  static inline thread_local bool is_without_context = false;
  static inline thread_local int visits = 0;
  static bool visit(const takt::EventContextId&) noexcept {
    ++visits;
    return true;
  }
  static bool visit_stream(Stream stream) noexcept {
    if (stream->is_legacy) { return false; }
    ++visits;
    return true;
  }
  static void leave() noexcept { --visits; }
  // Makes queries block.
  static inline std::atomic<bool> holds_queries{false};
  static inline std::atomic<int> held_queries{0};
  static inline std::atomic<bool> exchanges_modes{true};
  static bool has_context() noexcept { return !is_without_context || visits > 0; }
};

}  // namespace takt_test
