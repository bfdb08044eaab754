// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/fold.hpp"

#include <takt/key.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Hot visitor: all state it needs per event stays in registers.
struct Fold::Plain : EventVisitor {
  static constexpr bool kTakesLeaves = true;

  Plain(Fold& owner, const EventRun& events) noexcept
      : fold(owner),
        tree(owner.tree_),
        converter(owner.converter_),
        run(events),
        before(events.position - events.place) {}

  TAKT_ALWAYS_INLINE bool begin(std::uint64_t place, Event event, std::uint64_t key) const noexcept {
    tree.begin(key, static_cast<std::uint32_t>(place), converter.ns_of(event));
    return true;
  }
  TAKT_ALWAYS_INLINE bool end(std::uint64_t place, Event event, std::uint32_t id) const noexcept {
    fold.last_ended_ = tree.end(id, converter.ns_of(event), before + place);
    if (TAKT_UNLIKELY(fold.last_ended_ == nullptr)) { fold.count_unmatched(place - run.place); }
    return true;
  }
  TAKT_ALWAYS_INLINE bool leaf(std::uint64_t place, Event begin, Event end, std::uint64_t key) const noexcept {
    std::uint64_t length = 0;
    const Tree::Leaf leaf = tree.usual_leaf(key);
    if (TAKT_UNLIKELY(leaf.node == nullptr || !converter.length_of(begin, end, length))) { return false; }
    tree.fold_leaf(leaf, length, before + place + 1);
    fold.last_ended_ = leaf.node;
    return true;
  }
  bool amount(std::uint64_t place, std::uint32_t id, Amount what, std::uint64_t amount) const noexcept {
    fold.add_amount(run.position_of(place), id, what, amount);
    return true;
  }
  bool skipped(std::uint64_t place, std::uint64_t key) const noexcept {
    fold.add_skipped(run.position_of(place), key);
    return true;
  }

  Fold& fold;
  Tree& tree;
  ClockConverter& converter;
  const EventRun& run;
  const std::uint64_t before;  // position of place 0, as if the run started there
};

/// Used while open regions have timestamps from a clock that is no longer trusted.
struct Fold::Careful : EventVisitor {
  /// \param started_too regions that begin in this run are discarded too.
  Careful(Fold& owner, const EventRun& events, bool started_too) noexcept
      : fold(owner), run(events), discards(started_too) {}

  bool begin(std::uint64_t place, Event event, std::uint64_t key) const noexcept {
    fold.tree_.set_position(run.position_of(place));
    fold.tree_.begin(key, static_cast<std::uint32_t>(place), fold.converter_.ns_of(event));
    if (discards) { fold.tree_.discard_open(); }
    return true;
  }
  bool end(std::uint64_t place, Event event, std::uint32_t id) const noexcept {
    fold.tree_.set_position(run.position_of(place));
    const std::uint64_t ns = fold.tree_.is_discarded(id) ? fold.converter_.last_ns() : fold.converter_.ns_of(event);
    fold.last_ended_ = fold.tree_.end(id, ns);
    if (fold.last_ended_ == nullptr) { fold.count_unmatched(place - run.place); }
    return true;
  }
  bool amount(std::uint64_t place, std::uint32_t id, Amount what, std::uint64_t amount) const noexcept {
    fold.add_amount(run.position_of(place), id, what, amount);
    return true;
  }
  bool skipped(std::uint64_t place, std::uint64_t key) const noexcept {
    fold.add_skipped(run.position_of(place), key);
    return true;
  }

  Fold& fold;
  const EventRun& run;
  const bool discards;
};

void Fold::add(const EventRun& run) noexcept {
  if (TAKT_UNLIKELY(tree_.has_discarded())) {
    visit_events(run, Careful(*this, run, false));
  } else {
    visit_events(run, Plain(*this, run));
  }
}

TAKT_COLD void Fold::add_untrusted(const EventRun& run) noexcept {
  tree_.discard_open();
  visit_events(run, Careful(*this, run, true));
}

TAKT_COLD void Fold::add(const Unfolded& unfolded) noexcept {
  EventRun left = unfolded.run();
  for (unsigned next = 0; next < unfolded.ended.size(); ++next) {
    const Notices::Notice& end = unfolded.ended[next];
    const std::uint32_t cut = place_of_end(left, end);
    add(left.before(cut));
    left = left.from(cut);
    Tree::Frame taken;
    tree_.detach(end.id, taken);
  }
  add(left);
}

TAKT_COLD std::uint32_t Fold::place_of_end(const EventRun& run, const Notices::Notice& end) const noexcept {
  struct Search : EventVisitor {
    Search(const EventRun& all, const ClockConverter& at, const Notices::Notice& notice) noexcept
        : run(all), converter(at), end_there(notice) {}
    bool begin(std::uint64_t place, Event event, std::uint64_t /*key*/) noexcept { return is_before(place, event); }
    bool end(std::uint64_t place, Event event, std::uint32_t /*id*/) noexcept { return is_before(place, event); }
    /// Returns true if the event precedes the end on the other thread.
    bool is_before(std::uint64_t place, Event event) noexcept {
      const std::uint64_t ns = converter.ns_of(event);
      if (ns != end_there.ns) { return ns < end_there.ns; }
      return begins_among(run.from(static_cast<std::uint32_t>(place)), end_there.id);
    }
    const EventRun& run;
    ClockConverter converter;  // a copy: the events are not folded yet
    const Notices::Notice& end_there;
  };
  return visit_events(run, Search(run, converter_, end));
}

TAKT_COLD void Fold::count_unmatched(std::uint64_t word) noexcept {
  tree_.count(LossKind::end_without_start, kNoKey);
  unmatched_ |= std::uint64_t{1} << word;
}

/// Returns true if a copy already contains what the owner folded later (see Tree::copy_for_replay).
bool Fold::is_there_already(const Node* node) const noexcept { return node->version.get() / 2 > tree_.position(); }

TAKT_COLD void Fold::add_amount(std::uint64_t position, std::uint32_t id, Amount what, std::uint64_t amount) noexcept {
  tree_.set_position(position);
  const Tree::Frame* const frame = tree_.find(id);
  Node* const node = frame != nullptr ? frame->node.get() : tree_.too_deep() != 0 ? tree_.overflow() : nullptr;
  if (node == nullptr || is_there_already(node)) { return; }
  node->begin_write(tree_.position());
  Counter& sum = what == Amount::items ? node->items : node->bytes;
  sum.set(bounded_sum(sum.own(), amount));
  node->end_write(tree_.position());
}

TAKT_COLD void Fold::add_skipped(std::uint64_t position, std::uint64_t key) noexcept {
  tree_.set_position(position);
  Node* const node = tree_.place_for(key);
  if (is_there_already(node)) { return; }
  node->begin_write(tree_.position());
  node->skipped.add(1);
  tree_.step_skipped(node);
  node->end_write(tree_.position());
}

}  // namespace detail
TAKT_END_NAMESPACE
