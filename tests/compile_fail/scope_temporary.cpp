// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A Scope without a name ends at once and times nothing. (Clang takes the parentheses for a declaration, and refuses
// that.)
// expect: unused-(result|value)|redeclaration of 'Forward'
#include <takt/takt.hpp>

void forward() {
#ifdef MISTAKE
  takt::Scope(takt::Forward);
#else
  takt::Scope scope(takt::Forward);
#endif
}
