// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/takt.hpp>

namespace {
constexpr takt::Key Own{PART_KEY, takt::Kind::compute};
constexpr takt::Key Shared{"shared", takt::Kind::comm};
}  // namespace

extern "C" __attribute__((visibility("default"))) void PART_FUNCTION() {
  takt::Scope own(Own);
  takt::Scope shared(takt::key("shared", takt::Kind::comm));
  { takt::Scope again(Shared); }
}

/// Returns how often it was called in this process.
extern "C" __attribute__((visibility("default"))) unsigned long long COUNT_FUNCTION() {
  unsigned long long calls = 0;
  for (const takt::PathStats& path : takt::snapshot().paths) {
    if (path.name == Own.name()) { calls += path.host.n(); }
  }
  return calls;
}
