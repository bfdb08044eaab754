// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A Scope takes a key: a name would need a lookup at every call.
// expect: write TAKT_SCOPE\(.?"name
#include <takt/scope.hpp>

void forward() {
#ifdef MISTAKE
  takt::Scope scope("decode");
#else
  TAKT_SCOPE("decode");
#endif
}
