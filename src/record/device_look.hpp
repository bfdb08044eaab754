// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/backend.hpp>
#include <takt/stream.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Asks for several results of a stream in a row.
class DeviceLook {
 public:
  explicit DeviceLook(StreamRef stream) noexcept : stream_(stream) {}
  ~DeviceLook() {
    if (stream_.ops->ask != nullptr) { stream_.ops->end_questions(stream_.handle, questions_); }
  }
  DeviceLook(const DeviceLook&) = delete;
  DeviceLook& operator=(const DeviceLook&) = delete;
  Elapsed elapsed(Mark begin, Mark end) noexcept {
    return stream_.ops->ask != nullptr ? stream_.ops->ask(stream_.handle, begin, end, questions_)
                                       : stream_.ops->elapsed(stream_.handle, begin, end);
  }

 private:
  const StreamRef stream_;
  Questions questions_;
};

}  // namespace detail
TAKT_END_NAMESPACE
