// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/backend.hpp>
#include <takt/detail/drain.hpp>
#include <takt/detail/memory.hpp>
#include <takt/detail/not_cancelled.hpp>
#include <takt/detail/thread_table.hpp>
#include <takt/detail/tree.hpp>
#include <takt/key.hpp>
#include <takt/summary.hpp>

#include <atomic>
#include <cstdint>
#include <type_traits>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Adds a consistent copy of `from` to `sum`. The writer increments `version`, which is odd during an update. If one
/// update takes more than about 20 ms, its writer is assumed dead (left behind by a fork, or stopped below the caller's
/// signal handler); the sum may then contain part of that update.
inline void merge_whole(const Counter& version, const Summary& from, Summary& sum) noexcept {
  constexpr unsigned kTries = 300;
  std::uint64_t last = 0;
  for (unsigned same = 0; same < kTries;) {
    const std::uint64_t before = version.get();
    const Summary copy = from;  // NOLINT(performance-unnecessary-copy-initialization): another thread may write `from`
    if ((before & 1U) == 0 && version.get() == before) { return sum.merge(copy); }
    same = before == last ? same + 1 : 0;
    last = before;
    rest();  // the writer needs some nanoseconds, or its turn on this core
  }
  sum.merge(from);
}

/// A Timer's data of one key outside the tree: the most recent durations and, for backends with late results, their
/// summary. One writer at a time; any thread may read.
struct TimedKey {
  static constexpr std::uint32_t kRecent = 1024;

  std::uint64_t hash = 0;
  char name[201] = "?";  ///< name of the first region; constant once published
  TimedKey* next = nullptr;
  Counter version;  // odd during a write
  Summary results;
  Summary without_path;  ///< host time of calls without a path in the tree
  Counter count;         // durations so far
  Relaxed<std::int64_t> recent[kRecent];

  void add(std::uint64_t ns, bool summarise) noexcept {
    const std::uint64_t at = begin_write();
    if (summarise) { add_to(results, ns); }
    recent[count.own() % kRecent].set(static_cast<std::int64_t>(ns));
    count.add(1);
    version.set(at + 2);
  }
  void add_without_path(std::uint64_t ns) noexcept {
    const std::uint64_t at = begin_write();
    add_to(without_path, ns);
    version.set(at + 2);
  }
  /// Any thread.
  void merge_into(Summary& sum) const noexcept { merge_whole(version, results, sum); }

 private:
  std::uint64_t begin_write() noexcept {
    const std::uint64_t at = version.own() & ~std::uint64_t{1};  // odd: its writer was left behind by a fork
    version.set(at + 1);
    return at;
  }
  static void add_to(Summary& summary, std::uint64_t ns) noexcept {
    if (summary.n() == 0) {
      summary.add_first(ns);
    } else {
      summary.add(ns);
    }
  }
};

/// Unresolved regions of one thread and Timer: a ring that this thread fills. The thread that holds `busy_` empties it.
class TimerResults {
 public:
  static constexpr std::uint32_t kMax = 1024;

  /// A duration that is already known has `ready_ns` instead of timestamps; it waits for its turn.
  struct Span {
    Mark begin = 0;
    Mark end = 0;
    TimedKey* key = nullptr;  // nullptr: settled
    std::uint64_t ready_ns = 0;
    bool ready = false;
  };

  /// Owner: takes over the timestamps of `span`. Returns false, unchanged, if the ring is full or `span` has no key.
  /// \param lost counts results that will never arrive.
  template <class B>
  bool keep(B& backend, const Span& span, std::atomic<std::uint64_t>& lost) noexcept {
    if (span.key == nullptr) { return false; }
    if (!has_space()) { poll(backend, false, lost); }  // earlier ends may not have polled
    if (!has_space()) { return false; }
    const std::uint32_t tail = tail_.load(std::memory_order_relaxed);
    span_[tail % kMax] = span;
    unsettled_.fetch_add(1, std::memory_order_relaxed);
    tail_.store(tail + 1, std::memory_order_release);  // pairs with the acquire in poll()
    return true;
  }
  /// Takes in ready results: the oldest ones, or with `all` every one. Does nothing if another thread is doing so.
  template <class B>
  void poll(B& backend, bool all, std::atomic<std::uint64_t>& lost) noexcept;
  /// Owner, at the end of a region: polls for results. After a poll without news, the next ends skip it.
  template <class B>
  void poll_in_passing(B& backend, std::atomic<std::uint64_t>& lost) noexcept {
    if (timeout_.is_over()) { poll(backend, false, lost); }
  }
  /// Releases the timestamps of unresolved spans. No other thread may use this object any more.
  template <class B>
  void give_up(B& backend) noexcept {
    for (std::uint32_t at = head_.load(); at != tail_.load(); ++at) {
      Span& span = span_[at % kMax];
      if (span.key != nullptr && !span.ready) { release(backend, span); }
    }
  }
  /// Any thread. Results no longer counted can be read (pairs with the release in settle()).
  std::uint32_t pending() const noexcept { return unsettled_.load(std::memory_order_acquire); }

 private:
  struct NoQueries {};
  // A template, because the type is defined in the backend's header.
  template <class B>
  using QueriesOf = std::conditional_t<BackendTraits<B>::has_queries, Queries, NoQueries>;

  bool has_space() const noexcept {
    // Pairs with the release in poll(), after which a slot may be reused.
    return tail_.load(std::memory_order_relaxed) - head_.load(std::memory_order_acquire) < kMax;
  }
  template <class B>
  static void release(B& backend, const Span& span) noexcept {
    backend.release(span.begin);
    backend.release(span.end);
  }
  template <class B>
  bool settle(B& backend, Span& span, QueriesOf<B>& queries, std::atomic<std::uint64_t>& lost) noexcept;

  PollBackoff timeout_;
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  std::atomic<std::uint32_t> head_{0};
  std::atomic<std::uint32_t> tail_{0};
  std::atomic<std::uint32_t> unsettled_{0};
  Span span_[kMax];
};

template <class B>
bool TimerResults::settle(B& backend, Span& span, QueriesOf<B>& queries, std::atomic<std::uint64_t>& lost) noexcept {
  if (span.key == nullptr) { return true; }
  Elapsed result = Elapsed::ready(static_cast<std::int64_t>(span.ready_ns));
  if constexpr (BackendTraits<B>::has_queries) {
    if (!span.ready) { result = backend.elapsed(span.begin, span.end, queries); }
  } else {
    static_cast<void>(queries);
    if (!span.ready) { result = backend.elapsed(span.begin, span.end); }
  }
  if (result.state == Elapsed::State::pending) { return false; }
  if (result.state == Elapsed::State::ready) {
    span.key->add(static_cast<std::uint64_t>(result.ns < 0 ? 0 : result.ns), true);
  } else if (result.state == Elapsed::State::failed) {
    lost.fetch_add(1, std::memory_order_relaxed);
  }
  if (!span.ready) { release(backend, span); }
  span.key = nullptr;
  unsettled_.fetch_sub(1, std::memory_order_release);  // pairs with the acquire in pending()
  return true;
}

template <class B>
void TimerResults::poll(B& backend, bool all, std::atomic<std::uint64_t>& lost) noexcept {
  // Pairs with clear() below, from the previous holder.
  if (busy_.test_and_set(std::memory_order_acquire)) { return; }
  std::uint32_t head = head_.load(std::memory_order_relaxed);
  const std::uint32_t tail = tail_.load(std::memory_order_acquire);  // pairs with the release in keep()
  const std::uint32_t before = unsettled_.load(std::memory_order_relaxed);
  QueriesOf<B> queries;
  const auto look = [&](std::uint32_t at) { return settle(backend, span_[at % kMax], queries, lost); };
  std::uint32_t last = 0;
  do {
    last = head;
    head = drain(head, tail, look);
  } while (all && head != last);
  if (all && !BackendTraits<B>::in_order) {
    for (std::uint32_t at = head; at != tail; ++at) { look(at); }
    while (head != tail && span_[head % kMax].key == nullptr) { ++head; }
  }
  if constexpr (BackendTraits<B>::has_queries) { backend.end_queries(queries); }
  timeout_.polled(before, unsettled_.load(std::memory_order_relaxed));
  head_.store(head, std::memory_order_release);  // pairs with the acquire in has_space()
  busy_.clear(std::memory_order_release);        // pairs with test_and_set() above
}

/// The regions that one thread has timed with one Timer.
struct TimerThread {
  static constexpr std::uint32_t kFewPlaces = 64;
  static constexpr std::uint32_t kNowhere = Tree::kMaxOpen;

  /// An open region. The thread that ends it claims it first, so that it ends once, and then returns its slot. Until
  /// then its id in the tree is `place + 1`.
  struct Open {
    std::atomic<std::uint32_t> id{0};  ///< region id, as in its Handle; 0: it has ended
    std::uint32_t newer = 0;           ///< its neighbours in its list
    std::uint32_t older = 0;
    std::uint32_t next = 0;  ///< while returned: the next returned one
    std::uint64_t key = 0;
    Mark mark = 0;
    bool marked = false;
  };

  TimerThread() noexcept : tree(Epoch.hash(), Batch.hash()) { tree.set_warmup(0); }  // its figures cover every call
  ~TimerThread() {
    for (TimedKey* key = keys.load(std::memory_order_relaxed); key != nullptr;) {
      TimedKey* const following = key->next;
      deallocate(key, nullptr);
      key = following;
    }
    delete[] many.load(std::memory_order_relaxed);
  }

  /// Owner: returns the data of the key, creating it if necessary; nullptr if out of memory or if too many exist.
  TimedKey* key_of(std::uint64_t hash, const char* name = "?") noexcept {
    if (TimedKey* const there = find(hash)) { return there; }
    TimedKey* key = key_count < Tree::kMaxNodes ? allocate<TimedKey>(nullptr) : nullptr;
    if (key == nullptr) { return nullptr; }
    ++key_count;
    key->hash = hash;
    for (std::size_t at = 0; at + 1 < sizeof(key->name) && *name != 0; ++at, ++name) {
      key->name[at] = *name;
      key->name[at + 1] = 0;
    }
    key->next = keys.load(std::memory_order_relaxed);
    keys.store(key, std::memory_order_release);  // pairs with find()
    return key;
  }
  /// Any thread.
  TimedKey* find(std::uint64_t hash) const noexcept {
    TimedKey* key = keys.load(std::memory_order_acquire);  // pairs with key_of()
    while (key != nullptr && key->hash != hash) { key = key->next; }
    return key;
  }

  Open& open_at(std::uint32_t place) noexcept {
    // Pairs with the release in take_place().
    return place < kFewPlaces ? few[place] : many.load(std::memory_order_acquire)[place - kFewPlaces];
  }
  /// Owner: returns a slot for a region of `key`, or kNowhere if too many are open or memory is exhausted.
  std::uint32_t take_place(std::uint64_t key) noexcept {
    std::uint32_t place = free;
    if (place != kNowhere) {
      free = open_at(place).next;
    } else if (places == kNowhere || (places >= kFewPlaces && !make_many())) {
      return kNowhere;
    } else {
      place = places++;
    }
    Open& open = open_at(place);
    List& list = list_of(key);
    open.key = key;
    open.newer = kNowhere;
    open.older = list.newest;
    if (list.newest != kNowhere) { open_at(list.newest).newer = place; }
    list.newest = place;
    return place;
  }
  /// Owner: gives back the slot of an ended region.
  void give_back(std::uint32_t place) noexcept {
    Open& open = open_at(place);
    (open.newer == kNowhere ? list_of(open.key).newest : open_at(open.newer).older) = open.older;
    if (open.older != kNowhere) { open_at(open.older).newer = open.newer; }
    open.next = free;
    free = place;
  }
  /// Same, on any other thread. The region stays in the tree until the owner collects it.
  void give_back_elsewhere(std::uint32_t place) noexcept {
    std::uint32_t head = given_back.load(std::memory_order_relaxed);
    do {
      open_at(place).next = head;
    } while (!given_back.compare_exchange_weak(head, place, std::memory_order_release,  // pairs with collect()
                                               std::memory_order_relaxed));
  }
  /// Owner: returns the slot of the key's innermost open region, or kNowhere.
  std::uint32_t find_open(std::uint64_t hash) noexcept {
    std::uint32_t place = list_of(hash).newest;
    while (place != kNowhere) {
      const Open& open = open_at(place);
      if (open.key == hash && open.id.load(std::memory_order_relaxed) != 0) { break; }
      place = open.older;
    }
    return place;
  }
  /// Any thread: claims the region `id` at a slot, which the claimer must return. Returns false if it has ended.
  bool claim(std::uint32_t place, std::uint32_t id) noexcept {
    // Pairs with the release of start_at().
    return place < kNowhere && id != 0 &&
           open_at(place).id.compare_exchange_strong(id, 0, std::memory_order_acquire, std::memory_order_relaxed);
  }
  /// Owner, or the thread that takes over its data: removes regions that ended on another thread from the stack.
  void collect() noexcept {
    if (given_back.load(std::memory_order_relaxed) == kNowhere) { return; }
    std::uint32_t place = given_back.exchange(kNowhere, std::memory_order_acquire);  // pairs with give_back_elsewhere()
    std::uint32_t first = kNowhere;                                                  // newest end first
    while (place != kNowhere) {
      const std::uint32_t earlier = open_at(place).next;
      open_at(place).next = first;
      first = place;
      place = earlier;
    }
    tree.set_position(position++);
    while (first != kNowhere) {
      place = first;
      first = open_at(place).next;
      Tree::Frame ended;
      tree.detach(place + 1, ended);
      give_back(place);
    }
  }

  const ThreadToken* token = nullptr;
  std::atomic<std::uint64_t> number{0};
  TimerThread* next = nullptr;
  Tree tree;
  std::uint64_t position = 0;
  std::uint32_t last_id = 0;
  std::uint32_t lap_id = 0;  // id of the region that lap() started last, 0: none
  std::uint32_t lap_place = 0;
  Open few[kFewPlaces];
  std::atomic<Open*> many{nullptr};
  std::uint32_t places = 0;       // number ever used; owner only, like the following
  std::uint32_t free = kNowhere;  // first returned slot
  std::uint64_t let_go_at = 0;    // Tree::given_up() at the last search for slots to free
  struct List {
    std::uint32_t newest = kNowhere;
  };
  List lists[64];  // by a part of the key's hash
  std::atomic<std::uint32_t> given_back{kNowhere};
  std::atomic<TimedKey*> keys{nullptr};
  std::uint32_t key_count = 0;
  TimerResults results;

  List& list_of(std::uint64_t key) noexcept { return lists[key >> 58U]; }
  bool make_many() noexcept {
    if (many.load(std::memory_order_relaxed) != nullptr) { return true; }
    auto* const made = new (std::nothrow) Open[kNowhere - kFewPlaces];
    many.store(made, std::memory_order_release);  // pairs with open_at()
    return made != nullptr;
  }
};

}  // namespace detail
TAKT_END_NAMESPACE
