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

// Only json.cpp includes nlohmann/json, in its own namespace: callers compile quickly, and programs may link any
// version of it. JsonText writes JSON. Part of each tracker's library and of the command, not of libtakt.

/// A value parsed from untrusted JSON. Shares ownership of its document. Any thread.
class Json {
 public:
  Json() = default;  ///< nothing
  /// Parses a document. Returns nothing if `text` is not JSON. Throws std::bad_alloc.
  /// \param dropped a key in the elements of a top-level list; its values are not kept.
  static Json parse(std::string_view text, std::string_view dropped = {});

  /// Returns true for null and for nothing.
  bool is_null() const;
  bool is_object() const;
  bool is_array() const;
  bool is_boolean() const;
  bool is_text() const;
  bool is_number() const;
  bool is_integer() const;  ///< a number without a point and an exponent
  bool is_count() const;    ///< an integer without a sign

  // Values of other kinds give false, 0 and "".
  bool boolean() const;
  double number() const;
  std::int64_t integer() const;  ///< clamped to int64_t
  std::uint64_t count() const;   ///< 0 unless is_count()
  std::string text() const;

  /// Returns true for an object with that member.
  bool has(std::string_view name) const;
  /// Returns a member, or nothing if it does not exist.
  Json member(std::string_view name) const;
  /// Returns the value at a JSON pointer such as "/errors/0/message", or nothing if it does not exist.
  Json at(const char* pointer) const;
  /// Returns the number of values in an array or object; 0 for nothing, else 1.
  std::size_t size() const;
  /// REQUIRES: an array, at < size().
  Json element(std::size_t at) const;

 private:
  explicit Json(std::shared_ptr<const void> value) noexcept : value_(std::move(value)) {}

  std::shared_ptr<const void> value_;  // inside its document, which it keeps alive
};

/// A value that walk_json() reports. An array or object is reported at its start and at its end.
struct JsonStop {
  enum class Kind { null, boolean, integer, real, text, object, array, end };

  Kind kind = Kind::null;
  /// JSON pointer to the enclosing value: "" for the document, "/run/info".
  std::string inside;
  std::string name;          ///< key in an object, index in an array; empty for the document
  std::string text;          ///< value of a text; source text of a real number
  std::int64_t integer = 0;  ///< value of an integer, clamped to int64_t; 0 or 1 for a boolean
  double real = 0;           ///< set for integers too

  bool is(const char* where, const char* called) const { return inside == where && name == called; }
  bool is_text() const noexcept { return kind == Kind::text; }
  bool is_number() const noexcept { return kind == Kind::integer || kind == Kind::real; }
};

/// Calls `see` for each value in `text`, in order, and keeps none: destroying a Json needs memory and ends the program
/// if allocation fails. A JsonStop is valid only during the call. Returns true if `text` is JSON; values before an
/// error have been reported. Throws what `see` throws, and std::bad_alloc. Any thread.
bool walk_json(std::string_view text, const std::function<void(const JsonStop&)>& see);

}  // namespace detail
TAKT_END_NAMESPACE
