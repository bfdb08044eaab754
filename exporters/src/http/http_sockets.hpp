// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "base/descriptor.hpp"

#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The sockets of one client's connections. What the program has closed, and has for its own by now, is neither written
/// to nor closed. One thread at a time.
class HttpSockets {
 public:
  /// Returns its number; below 0: there is none.
  int open(int family, int type, int protocol);
  void close(int number);
  /// None of their numbers is that of another file by now. One that is closed is nobody's: libcurl notices.
  bool are_ours() const;
  /// Some that did not come to a connection libcurl closes by itself.
  void forget_closed();
  void forget() { sockets_.clear(); }

 private:
  std::vector<Descriptor> sockets_;
};

}  // namespace detail
TAKT_END_NAMESPACE
