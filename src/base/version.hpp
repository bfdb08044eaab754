// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Of this library, such as "0.1.0". Any thread.
inline std::string version_text() {
  return std::to_string(TAKT_VERSION_MAJOR) + "." + std::to_string(TAKT_VERSION_MINOR) + "." +
         std::to_string(TAKT_VERSION_PATCH);
}

}  // namespace detail
TAKT_END_NAMESPACE
