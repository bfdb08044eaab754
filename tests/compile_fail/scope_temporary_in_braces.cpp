// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// The same misuse with braces.
// expect: unused-(result|value)
#include <takt/takt.hpp>

void forward() {
#ifdef MISTAKE
  takt::Scope{takt::Forward};
#else
  takt::Scope scope{takt::Forward};
#endif
}
