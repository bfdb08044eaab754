// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// How much a server says that it still takes, in the heads of its replies. One thread at a time.
struct HttpRate {
  double remaining = -1;  ///< requests; -1: not told
  double reset_s = -1;    ///< until there are more; likewise

  /// \param line of a head; any.
  void read(std::string_view line);
};

}  // namespace detail
TAKT_END_NAMESPACE
