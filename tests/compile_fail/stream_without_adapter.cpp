// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A stream type that no backend's header declares.
// expect: takt: this type is not a known stream
// expect: takt/backends/cuda\.hpp
// expect: takt/backends/hip\.hpp
#include <takt/backends/manual.hpp>
#include <takt/takt.hpp>

struct UnknownStream {};

void forward([[maybe_unused]] const takt::ManualBackend& backend) {
#ifdef MISTAKE
  takt::Scope scope(takt::Forward, UnknownStream{});
#else
  takt::Scope scope(takt::Forward, backend);
#endif
}
