// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// An unnamed Session closes the run at once.
// expect: unused-(result|value)
#include <takt/session.hpp>

int main() {
#ifdef MISTAKE
  takt::Session("digits");
#else
  const takt::Session session("digits");
#endif
}
