// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/backends/hip.hpp>

#include <takt.h>

extern "C" takt_region takt_begin_hip(const takt_key* key, void* stream) {
  const takt::HipBackend backend(static_cast<ihipStream_t*>(stream), takt::detail::LegacyStreams());
  return takt_begin_stream_(key, backend.ref().ops, backend.ref().handle);
}
