// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/stream.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Asks for several results of a stream in a row.
class DeviceLook {
 public:
  /// \param foreign on a thread of Takt's own.
  explicit DeviceLook(StreamRef stream, bool foreign = false) noexcept : stream_(stream) { look_.foreign = foreign; }
  ~DeviceLook() {
    if (stream_.ops->look != nullptr) { stream_.ops->looked(stream_.handle, look_); }
  }
  DeviceLook(const DeviceLook&) = delete;
  DeviceLook& operator=(const DeviceLook&) = delete;
  Elapsed elapsed(Mark begin, Mark end) noexcept {
    return stream_.ops->look != nullptr ? stream_.ops->look(stream_.handle, begin, end, look_)
                                        : stream_.ops->elapsed(stream_.handle, begin, end);
  }

 private:
  const StreamRef stream_;
  Look look_;
};

}  // namespace detail
TAKT_END_NAMESPACE
