// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {

// json.cpp alone includes nlohmann/json, and keeps it in a namespace of its own: callers compile quickly, and programs
// may link any version of it. JsonText writes JSON. Part of each tracker's library and of the command, not of libtakt.

/// A value that was read from JSON, which anybody may have written. It shares its document. Any thread.
class Json {
 public:
  Json() = default;  ///< nothing
  /// Parses a document. Returns nothing, if `text` is no JSON. Throws std::bad_alloc.
  /// \param dropped a key of the elements of a list in the document, whose values are not kept.
  static Json parse(std::string_view text, std::string_view dropped = {});

  /// Whether it is null, or nothing.
  bool is_null() const;
  bool is_object() const;
  bool is_array() const;
  bool is_boolean() const;
  bool is_text() const;
  bool is_number() const;
  bool is_integer() const;  ///< a number without a point and an exponent
  bool is_count() const;    ///< an integer without a sign

  // Of a value of another kind: false, 0 and "".
  bool boolean() const;
  double number() const;
  std::int64_t integer() const;  ///< at its bound, if it is beyond 64 bits with a sign
  std::uint64_t count() const;   ///< of what is_count()
  std::string text() const;

  /// Whether it is an object with a member of that name.
  bool has(std::string_view name) const;
  /// Returns a member; nothing, if there is none.
  Json member(std::string_view name) const;
  /// Returns what a JSON pointer points to, as "/errors/0/message"; nothing, if there is no such value.
  Json at(const char* pointer) const;
  /// Returns how many values an array or an object holds; 0 of nothing, else 1.
  std::size_t size() const;
  /// REQUIRES: of an array, at < size().
  Json element(std::size_t at) const;

 private:
  explicit Json(std::shared_ptr<const void> value) noexcept : value_(std::move(value)) {}

  std::shared_ptr<const void> value_;  // in its document, which it keeps
};

/// A value in JSON; of one that holds others its beginning, and its end.
struct JsonStop {
  enum class Kind { null, boolean, integer, real, text, object, array, end };

  Kind kind = Kind::null;
  /// Where what holds it is, as a JSON pointer: "" for the whole, "/run/info".
  std::string inside;
  std::string name;  ///< in there: a name as it stands in an object, a number in an array; empty for the whole
  std::string text;  ///< of a text; of a real number as it stands
  std::int64_t integer =
      0;            ///< of an integer, at its bound where that is beyond 64 bits with a sign; of a boolean 0 or 1
  double real = 0;  ///< of an integer, too

  bool is(const char* where, const char* called) const { return inside == where && name == called; }
  bool is_text() const noexcept { return kind == Kind::text; }
  bool is_number() const noexcept { return kind == Kind::integer || kind == Kind::real; }
};

/// Shows `see` what is in `text`, in order, and keeps none of it: the values of Json want memory where they end, and
/// end the program where there is none. What is shown is gone when `see` returns. Returns whether the text is JSON;
/// what comes before a mistake has been shown by then. Throws what `see` throws, and std::bad_alloc. Any thread.
bool walk_json(std::string_view text, const std::function<void(const JsonStop&)>& see);

}  // namespace detail
TAKT_END_NAMESPACE
