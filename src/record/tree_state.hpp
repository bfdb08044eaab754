// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/tree.hpp>

#include <cstdint>
#include <new>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Copies of frames; more than a few only if memory is available. Not thread-safe.
class FrameCopies {
 public:
  FrameCopies() noexcept = default;
  ~FrameCopies() { delete[] many_; }
  FrameCopies(const FrameCopies&) = delete;
  FrameCopies& operator=(const FrameCopies&) = delete;

  /// Returns false and does nothing without memory.
  bool reserve(unsigned count) noexcept {
    if (count <= space_) { return true; }
    auto* const many = new (std::nothrow) OpenFrame[count];
    if (many == nullptr) { return false; }
    delete[] many_;
    many_ = many;
    space_ = count;
    return true;
  }
  unsigned space() const noexcept { return space_; }
  OpenFrame& operator[](unsigned index) noexcept { return many_ != nullptr ? many_[index] : few_[index]; }
  const OpenFrame& operator[](unsigned index) const noexcept { return many_ != nullptr ? many_[index] : few_[index]; }

 private:
  static constexpr unsigned kFew = kMaxDepth + 1;
  OpenFrame few_[kFew];
  OpenFrame* many_ = nullptr;
  unsigned space_ = kFew;
};

/// State that readers must see consistently; the summaries have their own positions (Node::version).
struct Tree::State {
  unsigned depth = 0;
  unsigned late = 0;
  std::uint32_t nodes = 0;
  TooDeep too_deep;
  std::uint64_t covered_ns = 0;
  bool warm = false;
  std::uint32_t step = 0;  // id of the open step; 0: none
  FrameCopies frames;      // open frames, then dropped ones
  LossCounts losses;
};

}  // namespace detail
TAKT_END_NAMESPACE
