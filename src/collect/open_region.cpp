// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "collect/open_region.hpp"

#include <takt/key.hpp>

#include <algorithm>
#include <memory>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// Whether what the thread has not folded yet begins or ends the region `id`.
bool is_changed(const Unfolded& unfolded, std::uint32_t id) noexcept {
  for (std::uint32_t at = 0; at < unfolded.count; at += words_of(unfolded.event[at])) {
    const Event code = unfolded.event[at] & kCodeMask;
    if (code == id || (unfolded.place + at == id && code >= kBeginCode)) { return true; }
  }
  const Notices::Notice* const end = unfolded.ended.begin() + unfolded.ended.size();
  return std::any_of(unfolded.ended.begin(), end, [id](const Notices::Notice& each) { return each.id == id; });
}

OpenRegion region_of(const Tree::Frame& frame, const Node* overflow, bool clock_kept) {
  OpenRegion region;
  const Node* node = frame.node.get();
  region.state = OpenRegion::State::open;
  region.placed = node != overflow;
  region.timed = clock_kept && !frame.discarded();
  region.begin_ns = frame.begin_ns.get();
  for (; node->parent != nullptr; node = node->parent) { region.path.push_back(node->key); }
  std::reverse(region.path.begin(), region.path.end());
  return region;
}

}  // namespace

OpenRegion OpenRegion::of(const Tree& tree, const Clock& clock, const Unfolded& unfolded, std::uint32_t id) {
  const bool clock_kept = unfolded.source == clock.source();
  const unsigned folded = unfolded.state.depth + unfolded.state.late;
  for (unsigned at = 0; at < folded && !is_changed(unfolded, id); ++at) {
    const Tree::Frame& frame = unfolded.state.frames[at];
    if (frame.id() == id) { return region_of(frame, tree.overflow(), clock_kept); }
  }
  // Where regions begin depends on what is open: one rule, which a copy follows as the thread itself does.
  const auto copy = std::make_unique<Tree>(kEpochKey, kBatchKey);
  copy->copy_places(tree, unfolded.state);
  Ruler ruler(clock, unfolded.source, unfolded.last_ticks);
  Folder(*copy, ruler).fold(unfolded);
  if (const Tree::Frame* const frame = copy->find(id)) { return region_of(*frame, copy->overflow(), clock_kept); }
  OpenRegion region;
  if (copy->is_too_deep(id)) { region.state = State::too_deep; }
  return region;
}

}  // namespace detail
TAKT_END_NAMESPACE
