// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A std::string of the old ABI is another type than that of the library.
// expect: Takt was built without _GLIBCXX_USE_CXX11_ABI=0
#ifdef MISTAKE
#define _GLIBCXX_USE_CXX11_ABI 0
#endif
#include <takt/session.hpp>

int main() { return takt::snapshot().run.host.empty() ? 0 : 1; }
