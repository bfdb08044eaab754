// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

// Variables of trackers' own clients. All: any thread while no other one changes the environment, as with getenv().

/// The value of a variable, empty where it is unset.
std::string variable(const char* name);
/// `text` without blanks around it.
std::string trimmed(const std::string& text);
/// true and 1, false and 0, in any case; what is not understood is reported, and false, as is an unset one.
bool flag(const char* name);

}  // namespace detail
TAKT_END_NAMESPACE
