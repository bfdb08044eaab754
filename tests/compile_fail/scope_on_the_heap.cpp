// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A Scope must be a local variable.
// expect: (use of|call to) deleted function
#include <takt/takt.hpp>

void forward() {
#ifdef MISTAKE
  [[maybe_unused]] auto* scope = new takt::Scope(takt::Forward);
#else
  takt::Scope scope(takt::Forward);
#endif
}
