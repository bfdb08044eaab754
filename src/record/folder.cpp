// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/folder.hpp"

#include <takt/key.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

void Folder::fold(const Event* events, std::uint32_t count, std::uint32_t place, std::uint64_t position) noexcept {
  if (TAKT_UNLIKELY(tree_.has_discarded())) {
    fold_careful(events, count, place, position);
    return;
  }
  Tree& tree = tree_;
  Ruler& ruler = ruler_;
  // One number for the place and the event leaves the compiler enough registers.
  const auto place_0 = reinterpret_cast<std::uintptr_t>(events) - place * sizeof(Event);
  const auto event_at = [place_0](std::uint64_t id) {
    return __atomic_load_n(reinterpret_cast<const Event*>(place_0 + id * sizeof(Event)), __ATOMIC_RELAXED);
  };
  const std::uint64_t before = position - place;  // position of the place 0
  const std::uint64_t end = place + std::uint64_t{count};
  for (std::uint64_t id = place; id < end; ++id) {
    const Event event = event_at(id);
    const Event code = event & kCodeMask;
    if (code < kBeginCode) {
      last_ended_ = tree.end(static_cast<std::uint32_t>(code), ruler.ns_of(event), before + id);
      if (TAKT_UNLIKELY(last_ended_ == nullptr)) { count_unmatched(id - place); }
      continue;
    }
    const Event next = id + 1 == end ? 0 : event_at(id + 1);  // no region is at place 0
    if ((next & kCodeMask) == id) {                           // most regions hold no other
      std::uint64_t length = 0;
      const Tree::Leaf leaf = tree.usual_leaf(code - kBeginCode);  // none if this is no begin
      if (TAKT_LIKELY(leaf.node != nullptr && ruler.length_of(event, next, length))) {
        ++id;
        tree.fold_leaf(leaf, length, before + id);
        last_ended_ = leaf.node;
        continue;
      }
    }
    if (TAKT_UNLIKELY(code >= kFirstSpecialCode)) {
      const std::uint32_t words = words_of(event);
      tree.set_position(before + id);
      if (words <= end - id) { fold_special(events + (id - place)); }
      id += words - 1;
      continue;
    }
    tree.begin(code - kBeginCode, static_cast<std::uint32_t>(id), ruler.ns_of(event));
  }
}

bool begins_among(const Event* events, std::uint32_t count, std::uint32_t place, std::uint32_t id) noexcept {
  if (id < place || id - place >= count) { return false; }
  const Event code = events[id - place] & kCodeMask;
  return code >= kBeginCode && code < kFirstSpecialCode;
}

TAKT_COLD void Folder::fold(const Unfolded& unfolded) noexcept {
  const Notices::List& ended = unfolded.ended;
  unsigned next = 0;
  const auto leave_before = [&](std::uint64_t ns, std::uint32_t at) {
    for (; next < ended.size() && ended[next].ns <= ns; ++next) {
      if (ended[next].ns == ns && unfolded.begins_from(at, ended[next].id)) { break; }
      Tree::Frame taken;
      tree_.detach(ended[next].id, taken);
    }
  };
  std::uint32_t words = 0;
  for (std::uint32_t at = 0; at < unfolded.count; at += words) {
    const Event event = unfolded.event[at];
    words = words_of(event);
    if (words > unfolded.count - at) { break; }
    if ((event & kCodeMask) < kFirstSpecialCode && next < ended.size()) {
      leave_before(Ruler(ruler_).ns_of(event), at);
    }
    fold(unfolded.event.data() + at, words, unfolded.place + at, unfolded.position + at);
  }
  leave_before(~std::uint64_t{0}, unfolded.count);
}

/// While some open regions were stamped by a clock that is not trusted any more.
TAKT_COLD void Folder::fold_careful(const Event* events, std::uint32_t count, std::uint32_t place,
                                    std::uint64_t position) noexcept {
  std::uint32_t words = 0;
  for (std::uint32_t at = 0; at < count; at += words) {
    words = words_of(events[at]);
    tree_.set_position(position + at);
    if ((events[at] & kCodeMask) < kFirstSpecialCode) {
      fold_timed(events[at], place + at, at);
    } else if (words <= count - at) {
      fold_special(events + at);
    }
  }
}

TAKT_COLD void Folder::count_unmatched(std::uint64_t at) noexcept {
  tree_.count(Mishap::end_without_start, kNoKey);
  unmatched_ |= std::uint64_t{1} << at;
}

TAKT_COLD void Folder::fold_timed(Event event, std::uint32_t place, std::uint32_t at) noexcept {
  const Event code = event & kCodeMask;
  const bool begins = code >= kBeginCode;
  const auto id = static_cast<std::uint32_t>(code);
  const std::uint64_t ns = !begins && tree_.is_discarded(id) ? ruler_.last_ns() : ruler_.ns_of(event);
  if (begins) {
    tree_.begin(code - kBeginCode, place, ns);
    return;
  }
  last_ended_ = tree_.end(id, ns);
  if (last_ended_ == nullptr) { count_unmatched(at); }
}

TAKT_COLD void Folder::fold_special(const Event* words) noexcept {
  const Event code = words[0] & kCodeMask;
  const Event upper = words[0] >> kCodeBits;
  Node* node = nullptr;
  if (code == kSkippedCode) {
    node = tree_.place_for(upper);
  } else {
    const Tree::Frame* const frame = tree_.find(static_cast<std::uint32_t>(upper));
    if (frame != nullptr) {
      node = frame->node.get();
    } else if (tree_.too_deep() != 0) {
      node = tree_.overflow();
    }
  }
  // In a copy, what the owner has folded since is there already (see Tree::copy_for_replay).
  if (node == nullptr || node->version.get() / 2 > tree_.position()) { return; }
  node->begin_write(tree_.position());
  if (code == kSkippedCode) {
    node->skipped.add(1);
    tree_.step_skipped(node);
  } else {
    Counter& sum = code == kItemsCode ? node->items : node->bytes;
    sum.set(bounded_sum(sum.own(), words[1]));
  }
  node->end_write(tree_.position());
}

}  // namespace detail
TAKT_END_NAMESPACE
