// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// std::vector in debug mode is a different type from the library's.
// expect: Takt was built without _GLIBCXX_DEBUG
#ifdef MISTAKE
#define _GLIBCXX_DEBUG
#endif
#include <takt/session.hpp>

int main() { return takt::snapshot().paths.empty() ? 0 : 1; }
