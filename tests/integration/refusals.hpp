// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <sys/types.h>

/// Replaces malloc() and related functions, and refuses memory as a Plan says. Allocation sites are identified by their
/// call stacks.
namespace refusals {

struct Plan {
  enum class Mode { never, once, for_a_while, ever };
  static constexpr std::uint32_t kAll = 0xFFFFFFFF;         ///< each site by itself, at its first call
  static constexpr std::uint32_t kEverything = 0xFFFFFFFE;  ///< regardless of the site

  Mode mode = Mode::never;
  std::uint32_t site = kAll;
  std::uint32_t from = 0;  ///< for kEverything: the first refused allocation
};

/// Call before any child starts. The children's findings are shared.
void set_up();
/// Starts to refuse memory in this process.
void begin(const Plan& plan);
/// Returns true if memory was refused and no refusals follow. Always false for Mode::ever.
bool over();
/// Returns how often memory was refused in this process.
std::uint32_t refused();

/// Returns the number of sites found so far, by all processes.
std::uint32_t sites();
/// Returns the first process's number of allocations.
std::uint32_t allocations();
/// Prints the site of a child's last refusal.
void print_last(pid_t child);

/// Prints the stack of std::terminate() and aborts.
[[noreturn]] void on_terminate();

/// While one exists, this thread's allocations succeed and are not counted. For the test's own allocations.
class Exempt {
 public:
  Exempt();
  ~Exempt();
  Exempt(const Exempt&) = delete;
  Exempt& operator=(const Exempt&) = delete;
};

}  // namespace refusals
