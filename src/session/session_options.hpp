// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/session.hpp>

#include <string>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Sets the option of the variable `name`. Returns an empty text, or what is wrong; nothing is changed then.
std::string set_option(SessionOptions& options, std::string_view name, std::string_view value);

}  // namespace detail
TAKT_END_NAMESPACE
