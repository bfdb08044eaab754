// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// std::string of the old ABI is a different type from the library's.
// expect: Takt was built without _GLIBCXX_USE_CXX11_ABI=0
#ifdef MISTAKE
#define _GLIBCXX_USE_CXX11_ABI 0
#endif
#include <takt/session.hpp>

int main() { return takt::snapshot().run.host.empty() ? 0 : 1; }
