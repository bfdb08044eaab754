// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// An unnamed Scope ends at once and times nothing. (Clang parses the parentheses as a declaration and rejects that.)
// expect: unused-(result|value)|redeclaration of 'Forward'
#include <takt/takt.hpp>

void forward() {
#ifdef MISTAKE
  takt::Scope(takt::Forward);
#else
  takt::Scope scope(takt::Forward);
#endif
}
