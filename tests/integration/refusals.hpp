// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <sys/types.h>

/// Stands in front of malloc() and its kin, and refuses as a Plan says. A place that allocates is known by who calls
/// whom there.
namespace refusals {

struct Plan {
  enum class Mode { never, once, for_a_while, ever };
  static constexpr std::uint32_t kAll = 0xFFFFFFFF;         ///< each site by itself, at its first call
  static constexpr std::uint32_t kEverything = 0xFFFFFFFE;  ///< sites do not matter

  Mode mode = Mode::never;
  std::uint32_t site = kAll;
  std::uint32_t from = 0;  ///< of kEverything: the first allocation
};

/// Before any child: what the children find is kept for all of them.
void set_up();
/// This process, from now on.
void begin(const Plan& plan);
/// There was something to refuse, and it is over for good. For ever for Mode::ever.
bool over();
/// How often memory was refused in this process.
std::uint32_t refused();

/// Found so far, by all processes.
std::uint32_t sites();
/// Of the first process.
std::uint32_t allocations();
/// Says where the last refusal of a child was.
void print_last(pid_t child);

/// Says where std::terminate() was called, and aborts.
[[noreturn]] void on_terminate();

/// While one lives, this thread gets what it asks for, and is not looked at: what the test does for itself.
class Exempt {
 public:
  Exempt();
  ~Exempt();
  Exempt(const Exempt&) = delete;
  Exempt& operator=(const Exempt&) = delete;
};

}  // namespace refusals
