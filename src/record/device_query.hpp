// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/backend.hpp>
#include <takt/stream.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Queries several results of a stream in one batch.
class DeviceQuery {
 public:
  explicit DeviceQuery(StreamRef stream) noexcept : stream_(stream) {}
  ~DeviceQuery() {
    if (stream_.ops->ask != nullptr) { stream_.ops->end_queries(stream_.handle, queries_); }
  }
  DeviceQuery(const DeviceQuery&) = delete;
  DeviceQuery& operator=(const DeviceQuery&) = delete;
  Elapsed elapsed(Mark begin, Mark end) noexcept {
    return stream_.ops->ask != nullptr ? stream_.ops->ask(stream_.handle, begin, end, queries_)
                                       : stream_.ops->elapsed(stream_.handle, begin, end);
  }

 private:
  const StreamRef stream_;
  Queries queries_;
};

}  // namespace detail
TAKT_END_NAMESPACE
