// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A user's clock that lacks a function: the message must name the function.
// expect: takt: a Backend needs `bool mark\(takt::Mark&\) noexcept`
#include <takt/timer.hpp>

struct Clock {
  static constexpr const char* name = "clock";
  static constexpr bool immediate = true;
#ifndef MISTAKE
  bool mark(takt::Mark& mark) noexcept {
    mark = ++now;
    return true;
  }
#endif
  void retain(takt::Mark) noexcept {}
  takt::Elapsed elapsed(takt::Mark begin, takt::Mark end) noexcept {
    return takt::Elapsed::ready(static_cast<std::int64_t>(end - begin));
  }
  void release(takt::Mark) noexcept {}
  takt::Mark now = 0;
};

void forward() {
  takt::Timer<Clock> timer;
  timer.start(takt::Forward);
  timer.end(takt::Forward);
}
