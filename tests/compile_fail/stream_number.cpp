// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A number is neither a stream nor an Every.
// expect: takt: this type is not a known stream
#include <takt/backends/cuda.hpp>
#include <takt/takt.hpp>

void forward() {
#ifdef MISTAKE
  takt::Scope scope(takt::Forward, 5);
#else
  takt::Scope scope(takt::Forward, takt::every(5));
  takt::Scope on_stream(takt::Forward, 0);
#endif
}
