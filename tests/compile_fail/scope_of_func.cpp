// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// The key is made at compile time outside of the function, so __func__ would name a different function.
// expect: one literal without escapes
#include <takt/scope.hpp>

void forward() {
#ifdef MISTAKE
  TAKT_SCOPE(__func__);
#else
  TAKT_SCOPE(takt::key(__func__));
#endif
}
