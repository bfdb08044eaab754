// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Fake libroctx64.so.4.
#include "ranges_log.hpp"

extern "C" {
long ranges_reported() { return ranges_pushed(); }
int roctxRangePushA(const char* name) {
  ++ranges_pushed();
  if (writes_down()) { write_down(std::string("push ") + name); }
  return 0;
}
int roctxRangePop() {
  write_down("pop");
  return 0;
}
}
