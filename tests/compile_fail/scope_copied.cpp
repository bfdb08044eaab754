// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Two Scopes for one region would end it twice.
// expect: (use of|call to) deleted (function|constructor)
#include <takt/takt.hpp>

void forward() {
  takt::Scope scope(takt::Forward);
#ifdef MISTAKE
  takt::Scope copy(scope);
#endif
}
