// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>
#include <functional>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A value in JSON; of one that holds others its beginning, and its end.
struct JsonStop {
  enum class Kind { null, boolean, integer, real, text, object, array, end };

  Kind kind = Kind::null;
  /// Where what holds it is, as a JSON pointer: "" for the whole, "/run/info".
  std::string inside;
  std::string name;  ///< in there: a name as it stands in an object, a number in an array; empty for the whole
  std::string text;  ///< of a text
  std::int64_t integer =
      0;            ///< of an integer, at its bound where that is beyond 64 bits with a sign; of a boolean 0 or 1
  double real = 0;  ///< of an integer, too

  bool is(const char* where, const char* called) const { return inside == where && name == called; }
  bool is_text() const noexcept { return kind == Kind::text; }
  bool is_number() const noexcept { return kind == Kind::integer || kind == Kind::real; }
};

/// Shows `see` what is in `text`, in order, and keeps none of it: nlohmann::json's values want memory where they end,
/// and end the program where there is none. What is shown is gone when `see` returns. Returns whether the text is JSON;
/// what comes before a mistake has been shown by then. Throws what `see` throws, and std::bad_alloc. Any thread.
bool walk_json(const std::string& text, const std::function<void(const JsonStop&)>& see);

}  // namespace detail
TAKT_END_NAMESPACE
