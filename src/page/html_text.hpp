// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <map>
#include <string>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Any text as HTML that shows it, in an element or in quotes: printable, and none of it is markup. Any thread.
std::string html_text(std::string_view text);

/// JSON that means the same, and cannot end the element that it stands in. Any thread.
std::string json_in_html(std::string_view json);

/// `text` with the value of each `{{name}}` in its place; a name without one has none. What a value holds stays as it
/// is. Any thread.
std::string filled(std::string_view text, const std::map<std::string_view, std::string>& values);

}  // namespace detail
TAKT_END_NAMESPACE
