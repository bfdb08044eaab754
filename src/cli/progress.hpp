// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// A bar on stderr, in one line, where that is a terminal and no dumb one; nothing elsewhere. One thread at a time.
class Progress {
 public:
  explicit Progress(std::string label);
  /// Takes the line away.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  bool visible() const noexcept { return visible_; }
  void show(std::uint64_t done, std::uint64_t whole);

 private:
  std::string label_;
  bool visible_;
  bool drawn_ = false;
};

/// "[#####.....]  50 %  1 000 of 2 000". Any thread.
std::string progress_bar(std::uint64_t done, std::uint64_t whole);

}  // namespace cli
TAKT_END_NAMESPACE
