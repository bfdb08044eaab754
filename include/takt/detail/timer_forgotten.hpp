// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// A Timer with books of its own reports the regions that it gave up: on stderr, or to the ErrorHandler where the
// program has the library.

#include <takt/detail/not_cancelled.hpp>
#include <takt/detail/size.hpp>
#include <takt/detail/timer_thread.hpp>

#include <atomic>
#include <cstdint>

#include <takt/detail/macros_begin.hpp>

// As in <unistd.h>, all of which would otherwise come with takt.hpp.
extern "C" __PTRDIFF_TYPE__ write(int file, const void* from, std::size_t bytes);

TAKT_BEGIN_NAMESPACE
namespace detail {

/// In the library: to the ErrorHandler, each line once.
TAKT_EXPORT __attribute__((weak)) void report_forgotten(const char* line) noexcept;

/// The paths of which a line was written without the library; further ones are silent.
inline std::atomic<std::uint64_t> forgotten_paths[64] = {};

inline bool is_first_forgotten(const char* line) noexcept {
  const std::uint64_t hash = hash_name(line) | 1U;
  for (auto& path : forgotten_paths) {
    std::uint64_t there = path.load(std::memory_order_relaxed);
    if (there == 0 && path.compare_exchange_strong(there, hash, std::memory_order_relaxed)) { return true; }
    if (there == hash) { return false; }
  }
  return false;
}

/// A line of bounded length.
class ForgottenLine {
 public:
  ForgottenLine(const TimerThread& thread, const Node& node) noexcept {
    add("takt: \"");
    add_name(thread, node);
    add("\", which began ");
    add(node.parent == nullptr || node.parent->parent == nullptr ? "outside of any region" : "in ");
    add_path(thread, node.parent);
    add(", had not ended when the next step or its thread had; is its end missing?");
  }
  void tell() noexcept {
    if (report_forgotten != nullptr) {
      report_forgotten(text_ + kPrefix);
    } else if (is_first_forgotten(text_)) {
      text_[size_] = '\n';
      static_cast<void>(!write(2, text_, size_ + 1));
    }
  }

 private:
  static constexpr std::size_t kPrefix = 6;
  void add(const char* words) noexcept {
    for (; *words != 0 && size_ + 1 < sizeof(text_); ++words) { text_[size_++] = *words; }
  }
  void add_name(const TimerThread& thread, const Node& node) noexcept {
    const TimedKey* const key = thread.find(node.key);
    add(key != nullptr ? key->name : node.role == Role::overflow ? "(overflow)" : "?");
  }
  void add_path(const TimerThread& thread, const Node* node) noexcept {
    if (node == nullptr || node->parent == nullptr) { return; }
    add_path(thread, node->parent);
    if (node->parent->parent != nullptr) { add("/"); }
    add_name(thread, *node);
  }

  char text_[2000] = {};
  std::size_t size_ = 0;
};

/// Owner: says what was given up since this was last asked.
TAKT_COLD inline void tell_forgotten(TimerThread& thread) noexcept {
  const NotCancelled whole;
  thread.tree.take_lost_step();
  thread.tree.take_given_up([&thread](const Tree::Frame& frame) { ForgottenLine(thread, *frame.node.get()).tell(); });
}

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
