// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A Scope takes a key. A name alone would have to be looked up at each call.
// expect: write TAKT_SCOPE\(.?"name
#include <takt/scope.hpp>

void forward() {
#ifdef MISTAKE
  takt::Scope scope("decode");
#else
  TAKT_SCOPE("decode");
#endif
}
