// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/drain.hpp>
#include <takt/detail/timer_forgotten.hpp>
#include <takt/timer.hpp>

TAKT_BEGIN_NAMESPACE

template <class B>
Timer<B>::~Timer() {
  for (auto& bucket : bucket_) {
    for (Thread* thread = bucket.load(std::memory_order_relaxed); thread != nullptr;) {
      for (std::uint32_t at = thread->head.load(); at != thread->tail.load(); ++at) {
        Thread::Span& span = thread->span[at % Thread::kPending];
        if (span.key == nullptr || span.ready) { continue; }
        backend_.release(span.begin);
        backend_.release(span.end);
      }
      abandon(*thread);
      Thread* const next = thread->next;
      detail::deallocate(thread, nullptr);
      thread = next;
    }
  }
}

/// The books of the calling thread, made at its first region.
/// \param make false: nullptr if there are none.
template <class B>
typename Timer<B>::Thread* Timer<B>::here(bool make) noexcept {
  const detail::ThreadToken& token = detail::this_thread_token();
  const std::size_t bucket = (reinterpret_cast<std::uintptr_t>(&token) >> 12U) % kBuckets;
  Thread* vacant = nullptr;
  Thread* oldest = nullptr;
  unsigned unended = 0;
  for (Thread* thread = bucket_[bucket].load(std::memory_order_acquire); thread != nullptr; thread = thread->next) {
    if (thread->token != &token) { continue; }
    thread->take_notices();
    if (thread->number.load(std::memory_order_relaxed) == token.number) { return thread; }
    // A thread that has ended leaves its books to the next one at the same address, so that they stay as few as threads
    // that live at once; but what it left open may still end elsewhere.
    if (!thread->tree.is_unended()) {
      vacant = thread;
    } else {
      oldest = thread;
      ++unended;
    }
  }
  if (!make) { return nullptr; }
  if (vacant == nullptr && unended >= kMaxUnended) {
    abandon(*oldest);
    vacant = oldest;
  }
  if (vacant == nullptr) { return make_books(bucket); }
  vacant->lap_id = 0;
  vacant->lap_region.store(0, std::memory_order_relaxed);
  vacant->number.store(token.number, std::memory_order_relaxed);
  return vacant;
}

template <class B>
typename Timer<B>::Thread* Timer<B>::make_books(std::size_t bucket) noexcept {
  auto* thread = detail::allocate<Thread>(nullptr);
  if (thread == nullptr) {
    lost_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  thread->token = &detail::this_thread_token();
  thread->number.store(thread->token->number, std::memory_order_relaxed);
  thread->next = bucket_[bucket].load(std::memory_order_relaxed);
  while (!bucket_[bucket].compare_exchange_weak(thread->next, thread, std::memory_order_release,
                                                std::memory_order_relaxed)) {}
  return thread;
}

/// Frees the places of regions that were given up too long ago to end. Whether there were any.
template <class B>
bool Timer<B>::let_go(Thread& thread) noexcept {
  bool any = false;
  for (std::uint32_t place = 0; place != thread.places; ++place) {
    Reading begin;
    const std::uint32_t id = thread.open_at(place).id.load(std::memory_order_relaxed);
    if (id == Thread::Open::kClaimed || thread.tree.is_open(id) || thread.tree.is_too_deep(id)) { continue; }
    if (!thread.claim(place, id, begin.mark, begin.taken)) { continue; }
    drop(begin);
    any = true;
  }
  return any;
}

/// Gives up the open regions of a thread that has ended.
template <class B>
void Timer<B>::abandon(Thread& thread) noexcept {
  for (std::uint32_t place = 0; place != thread.places; ++place) {
    Reading begin;
    const std::uint32_t id = thread.open_at(place).id.load(std::memory_order_relaxed);
    if (id != Thread::Open::kClaimed && thread.claim(place, id, begin.mark, begin.taken)) { drop(begin); }
  }
  next_position(thread);
  thread.tree.abandon_open();
}

template <class B>
Handle Timer<B>::start_at(Thread& thread, const Key& key, std::uint64_t ns, const Reading& begin) noexcept {
  Handle handle;
  handle.place = thread.free_place();
  if (handle.place == Thread::kNowhere && let_go(thread)) { handle.place = thread.free_place(); }
  if (handle.place == Thread::kNowhere) {
    lose(thread, detail::Mishap::overflow, key.hash());
    drop(begin);
    return handle;
  }
  handle.thread = &thread;
  handle.begin_ns = ns;
  handle.id = thread.new_id();
  next_position(thread);
  thread.tree.begin(key.hash(), handle.id, ns);
  handle.node = thread.tree.innermost();
  if (TAKT_UNLIKELY(!handle.node->called.own())) { thread.key_of(key.hash(), key.name()); }
  Thread::Open& open = thread.open_at(handle.place);
  open.order = thread.position;
  open.key = key.hash();
  open.mark = begin.mark;
  open.marked = begin.taken;
  open.id.store(handle.id, std::memory_order_release);  // partner: claim()
  if (TAKT_UNLIKELY(thread.tree.has_news())) { detail::tell_forgotten(thread); }
  return handle;
}

template <class B>
Handle Timer<B>::start(const Key& key) noexcept {
  if (process_ != nullptr) {
    Handle handle;
    handle.region = process_->begin(key, stream());
    handle.begun = detail::event_at(handle.region);
    return handle;
  }
  Thread* thread = here();
  if (thread == nullptr) { return {}; }
  const Reading begin = read();
  return start_at(*thread, key, host_ns(), begin);
}

template <class B>
bool Timer<B>::has_room(Thread& thread) noexcept {
  const std::uint32_t tail = thread.tail.load(std::memory_order_relaxed);
  return tail - thread.head.load(std::memory_order_acquire) < Thread::kPending;  // partner: poll()
}

/// Keeps a result that is known, or waits for one that is not. False, and nothing done, where there is no room.
template <class B>
bool Timer<B>::keep(Thread& thread, const detail::TimerThread::Span& span) noexcept {
  if (span.key == nullptr) { return false; }
  if (!has_room(thread)) { poll(thread, false); }  // the ends before need not have looked
  if (!has_room(thread)) { return false; }
  const std::uint32_t tail = thread.tail.load(std::memory_order_relaxed);
  thread.span[tail % Thread::kPending] = span;
  thread.unsettled.fetch_add(1, std::memory_order_relaxed);
  thread.tail.store(tail + 1, std::memory_order_release);  // partner: poll()
  return true;
}

/// A region has ended on this thread: keeps its length, or waits for the backend to tell it. Takes over both readings.
template <class B>
void Timer<B>::finish(Thread& thread, const detail::Node* node, std::uint64_t length, const Reading& begin,
                      const Reading& end) noexcept {
  const bool outermost = is_outermost(*node);
  detail::TimedKey* key = node == thread.tree.overflow() ? nullptr : thread.key_of(node->key);
  if constexpr (B::immediate) {
    if (key != nullptr && outermost) { key->add(length, false); }
  } else {
    if (!begin.taken || !end.taken || !keep(thread, {begin.mark, end.mark, key, 0, false, outermost})) {
      lose(thread, detail::Mishap::device_skipped, node->key);
      drop(begin);
      drop(end);
    }
    glance(thread);
  }
}

/// Ends the region `id`, which this thread has claimed from its own books.
template <class B>
void Timer<B>::end_here(Thread& thread, std::uint32_t id, std::uint64_t ns, const Reading& begin,
                        const Reading& end) noexcept {
  const detail::Tree::Frame* const frame = thread.tree.find(id);
  const std::uint64_t begin_ns = frame == nullptr ? ns : frame->begin_ns.own();
  next_position(thread);
  const detail::Node* node = thread.tree.end(id, ns);
  if (thread.lap_id == id) { thread.lap_id = 0; }
  if (node != nullptr) {
    finish(thread, node, ns - begin_ns, begin, end);
  } else {  // given up as forgotten, too long ago
    drop(begin);
    drop(end);
  }
  if (TAKT_UNLIKELY(thread.tree.has_news())) { detail::tell_forgotten(thread); }
}

template <class B>
void Timer<B>::end(const Key& key) noexcept {
  if (process_ != nullptr) {
    const detail::Region ended = process_->end_innermost(key);
    if (Thread* thread = here(false)) { forget_lap(*thread, ended); }
    return;
  }
  const std::uint64_t ns = host_ns();
  Thread* thread = here();
  if (thread == nullptr) { return; }
  Reading begin;
  std::uint32_t place = Thread::kNowhere;
  std::uint32_t id = 0;
  do {  // another thread may have been quicker, by a handle
    place = thread->find_open(key.hash());
    if (place == Thread::kNowhere) {
      lose(*thread, detail::Mishap::end_without_start, key.hash());
      return;
    }
    id = thread->open_at(place).id.load(std::memory_order_relaxed);
  } while (id == Thread::Open::kClaimed || !thread->claim(place, id, begin.mark, begin.taken));
  end_here(*thread, id, ns, begin, read());
}

template <class B>
void Timer<B>::end(const Handle& handle) noexcept {
  if (process_ != nullptr) {
    if (handle.region == 0) { return; }
    const bool is_here = detail::event_at(handle.region) == handle.begun;  // else another region begins there by now
    if (is_here && handle.thread != nullptr) { forget_lap(*handle.thread, handle.region); }
    if (!process_->end(handle.region, handle.begun)) { lost_.fetch_add(1, std::memory_order_relaxed); }
    return;
  }
  if (handle.thread == nullptr) { return; }
  const std::uint64_t ns = host_ns();
  Thread* thread = here();
  if (thread == nullptr) { return; }
  Reading begin;
  if (!handle.thread->claim(handle.place, handle.id, begin.mark, begin.taken)) {
    lose(*thread, detail::Mishap::end_without_start, handle.node->key);
    return;
  }
  const Reading end = read();
  if (thread == handle.thread) {
    end_here(*thread, handle.id, ns, begin, end);
  } else {
    end_elsewhere(*thread, handle, ns, begin, end);
  }
}

/// Folds a region of another thread under the same path here, without self time.
template <class B>
void Timer<B>::end_elsewhere(Thread& thread, const Handle& handle, std::uint64_t ns, const Reading& begin,
                             const Reading& end) noexcept {
  const auto place = [&](const detail::Node* node, const auto& self) -> detail::Node* {
    return node->parent == nullptr ? thread.tree.root() : thread.tree.child(self(node->parent, self), node->key);
  };
  next_position(thread);
  const bool overflow = handle.node == handle.thread->tree.overflow();
  detail::Node* node = overflow ? thread.tree.overflow() : place(handle.node, place);
  const std::uint64_t length = ns > handle.begin_ns ? ns - handle.begin_ns : 0;
  thread.tree.add_at(node, length);
  handle.thread->notices.leave(handle.id, ns);
  finish(thread, node, length, begin, end);
}

/// The region that the last lap began may have been ended by its key or handle.
template <class B>
void Timer<B>::forget_lap(Thread& thread, detail::Region ended) noexcept {
  detail::Region last = thread.lap_region.load(std::memory_order_relaxed);
  if (((last ^ ended) & ~detail::kRegionFlags) == 0) {
    thread.lap_region.compare_exchange_strong(last, 0, std::memory_order_relaxed);
  }
}

template <class B>
Handle Timer<B>::lap_joined(Thread& thread, const Key& key) noexcept {
  Handle handle;
  const detail::Region last = thread.lap_region.load(std::memory_order_relaxed);
  handle.thread = &thread;
  handle.region = last == 0 ? process_->begin(key, stream()) : process_->lap(last, key);
  handle.begun = detail::event_at(handle.region);
  thread.lap_region.store(handle.region, std::memory_order_relaxed);
  return handle;
}

template <class B>
Handle Timer<B>::lap(const Key& key) noexcept {
  Thread* thread = here();
  if (thread == nullptr) { return {}; }
  if (process_ != nullptr) { return lap_joined(*thread, key); }
  const Reading shared = read();
  const std::uint64_t ns = host_ns();
  Reading begin;
  const std::uint32_t last = thread->lap_id;
  if (last != 0 && thread->claim(thread->lap_place, last, begin.mark, begin.taken)) {
    if (shared.taken) { backend_.retain(shared.mark); }
    end_here(*thread, last, ns, begin, shared);
  }
  const Handle handle = start_at(*thread, key, ns, shared);
  thread->lap_id = handle.id;
  thread->lap_place = handle.place;
  return handle;
}

template <class B>
void Timer<B>::record(const Key& key, std::chrono::nanoseconds duration) noexcept {
  const auto ns = static_cast<std::uint64_t>(duration.count());
  if (process_ != nullptr) {
    process_->record(key, ns);
    return;
  }
  Thread* thread = here();
  if (thread == nullptr) { return; }
  if (duration.count() < 0) {
    lose(*thread, detail::Mishap::bad_amount, key.hash());
    return;
  }
  next_position(*thread);
  const detail::Node* node = thread->tree.add_here(key.hash(), ns);
  if constexpr (B::immediate) {
    finish(*thread, node, ns, {}, {});
  } else {
    detail::TimedKey* timed = node == thread->tree.overflow() ? nullptr : thread->key_of(node->key);
    if (!keep(*thread, {0, 0, timed, ns, true, is_outermost(*node)})) {
      lose(*thread, detail::Mishap::device_skipped, node->key);
    }
    glance(*thread);
  }
}

template <class B>
void Timer<B>::add_amount(const Handle& handle, detail::Amount what, std::int64_t n) noexcept {
  if (process_ != nullptr) {
    const bool noted = handle.region == 0 || process_->note_amount(handle.region, handle.begun, what, n);
    if (!noted) { lost_.fetch_add(1, std::memory_order_relaxed); }
    return;
  }
  if (handle.thread == nullptr) { return; }
  Thread* const thread = here();
  if (thread == nullptr) { return; }
  const bool is_open =
      thread == handle.thread && thread->open_at(handle.place).id.load(std::memory_order_relaxed) == handle.id;
  if (n < 1 || !is_open) {
    lose(*thread, n < 1 ? detail::Mishap::bad_amount : detail::Mishap::end_without_start, handle.node->key);
    return;
  }
  detail::Node* const node = thread->tree.node(handle.node->index);
  detail::Counter& sum = what == detail::Amount::items ? node->items : node->bytes;
  sum.set(detail::bounded_sum(sum.own(), static_cast<std::uint64_t>(n)));
}

template <class B>
std::uint64_t Timer<B>::total(const Key& key, detail::Counter detail::Node::*counter) const noexcept {
  std::uint64_t sum = 0;
  each_thread([&](const Thread& thread) {
    for (std::uint32_t index = 0; index < thread.tree.nodes(); ++index) {
      const detail::Node* node = thread.tree.node(index);
      if (node->key == key.hash()) { sum += (node->*counter).get(); }
    }
  });
  return sum;
}

template <class B>
bool Timer<B>::settle(Thread& thread, detail::TimerThread::Span& span, Look& look) noexcept {
  if (span.key == nullptr) { return true; }
  Elapsed result = Elapsed::ready(static_cast<std::int64_t>(span.ready_ns));
  if constexpr (BackendTraits<B>::has_look) {
    if (!span.ready) { result = backend_.elapsed(span.begin, span.end, look); }
  } else {
    static_cast<void>(look);
    if (!span.ready) { result = backend_.elapsed(span.begin, span.end); }
  }
  if (result.state == Elapsed::State::pending) { return false; }
  if (result.state == Elapsed::State::ready && span.outermost) {
    span.key->add(static_cast<std::uint64_t>(result.ns < 0 ? 0 : result.ns), true);
  } else if (result.state == Elapsed::State::failed) {
    lost_.fetch_add(1, std::memory_order_relaxed);
  }
  if (!span.ready) {
    backend_.release(span.begin);
    backend_.release(span.end);
  }
  span.key = nullptr;
  thread.unsettled.fetch_sub(1, std::memory_order_release);  // partner: pending()
  return true;
}

/// Takes in results that are ready: the oldest ones, and with `all` every one. Gives up where somebody else is at it.
template <class B>
void Timer<B>::poll(Thread& thread, bool all) noexcept {
  if (thread.busy.test_and_set(std::memory_order_acquire)) { return; }
  std::uint32_t head = thread.head.load(std::memory_order_relaxed);
  const std::uint32_t tail = thread.tail.load(std::memory_order_acquire);  // partner: keep()
  const std::uint32_t pending = thread.unsettled.load(std::memory_order_relaxed);
  Look asking;
  const auto look = [&](std::uint32_t at) { return settle(thread, thread.span[at % Thread::kPending], asking); };
  std::uint32_t before = 0;
  do {
    before = head;
    head = detail::drain(head, tail, look);
  } while (all && head != before);
  if (all && !BackendTraits<B>::in_order) {
    for (std::uint32_t at = head; at != tail; ++at) { look(at); }
    while (head != tail && thread.span[head % Thread::kPending].key == nullptr) { ++head; }
  }
  if constexpr (BackendTraits<B>::has_look) { backend_.looked(asking); }
  thread.patience.looked(pending, thread.unsettled.load(std::memory_order_relaxed));
  thread.head.store(head, std::memory_order_release);
  thread.busy.clear(std::memory_order_release);
}

/// At the end of a region, like DeviceQueue::glance().
template <class B>
void Timer<B>::glance(Thread& thread) noexcept {
  if (thread.patience.is_over()) { poll(thread, false); }
}

template <class B>
bool Timer<B>::complete(std::chrono::milliseconds timeout) noexcept {
  const std::uint64_t begin = detail::posix_ns(CLOCK_MONOTONIC);
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365);
  const auto limit_ms = timeout.count() < 0 ? 0 : timeout < kLongest ? timeout.count() : kLongest.count();
  const auto limit = static_cast<std::uint64_t>(limit_ms) * 1'000'000U;
  for (;;) {
    each_thread([this](Thread& thread) { poll(thread, true); });
    if (pending() == 0) { return true; }
    if (detail::posix_ns(CLOCK_MONOTONIC) - begin >= limit) { return false; }
    sched_yield();
  }
}

template <class B>
std::uint64_t Timer<B>::pending() const noexcept {
  std::uint64_t sum = 0;
  each_thread([&sum](const Thread& thread) { sum += thread.unsettled.load(std::memory_order_acquire); });
  return sum;
}

template <class B>
Summary Timer<B>::host_summary(const Key& key) const noexcept {
  Summary sum;
  each_thread([&](const Thread& thread) {
    for (std::uint32_t index = 0; index < thread.tree.nodes(); ++index) {
      const detail::Node* node = thread.tree.node(index);
      if (node->key != key.hash() || !is_outermost(*node)) { continue; }
      detail::Node copy;
      detail::read_node(*node, copy, nullptr);
      sum.merge(copy.host);
      detail::deallocate(copy.device.load(std::memory_order_relaxed), nullptr);
    }
  });
  return sum;
}

template <class B>
Summary Timer<B>::summary(const Key& key) const noexcept {
  if (B::immediate) { return host_summary(key); }
  Summary sum;
  each_thread([&](const Thread& thread) {
    const detail::TimedKey* timed = thread.find(key.hash());
    while (timed != nullptr) {
      const std::uint64_t version = timed->version.get();
      const Summary copy = timed->results;
      if ((version & 1U) == 0 && timed->version.get() == version) {
        sum.merge(copy);
        return;
      }
      sched_yield();
    }
  });
  return sum;
}

template <class B>
Durations Timer<B>::times(const Key& key) const noexcept {
  Durations times;
  each_thread([&](const Thread& thread) {
    const detail::TimedKey* timed = thread.find(key.hash());
    if (timed == nullptr) { return; }
    const std::uint64_t count = timed->count.get();
    const std::uint64_t kept = count < detail::TimedKey::kRecent ? count : detail::TimedKey::kRecent;
    for (std::uint64_t at = count - kept; at < count; ++at) {
      times.push_back(timed->recent[at % detail::TimedKey::kRecent].get());
    }
  });
  return times;
}

template <class B>
std::uint64_t Timer<B>::mistakes() const noexcept {
  std::uint64_t sum = lost_.load(std::memory_order_relaxed);
  each_thread([&sum](const Thread& thread) {
    for (unsigned slot = 0; slot < thread.tree.mishaps(); ++slot) {
      const detail::Tree::Count& each = thread.tree.mishap(slot);
      if (each.mishap.get() != detail::Mishap::ended_late) { sum += each.count.get(); }  // which the figures contain
    }
  });
  return sum;
}

TAKT_END_NAMESPACE
