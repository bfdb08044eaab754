// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <array>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A JSON value stored as text, written in braces as with nlohmann::json. Destroying nlohmann's containers needs memory
/// and ends the program if allocation fails; here only construction may throw. Json reads JSON. Exported for the
/// separate exporter libraries.
class TAKT_EXPORT JsonText {
 public:
  JsonText();  ///< null
  // Not inline: documents consist of hundreds of these.
  JsonText(const JsonText& other);
  JsonText(JsonText&& other) noexcept;
  JsonText& operator=(const JsonText& other);
  JsonText& operator=(JsonText&& other) noexcept;
  ~JsonText();
  template <class Number, std::enable_if_t<std::is_integral_v<Number>, int> = 0>
  JsonText(Number number) : JsonText(Whole<std::is_signed_v<Number>>{number}) {}  // NOLINT(google-explicit-constructor)
  JsonText(bool value);                                                           // NOLINT(google-explicit-constructor)
  JsonText(double number);            // NOLINT(google-explicit-constructor): null unless finite
  JsonText(std::string_view text);    // NOLINT(google-explicit-constructor)
  JsonText(const std::string& text);  // NOLINT(google-explicit-constructor)
  JsonText(const char* text);         // NOLINT(google-explicit-constructor)
  template <class Value>
  JsonText(const std::optional<Value>& value)  // NOLINT(google-explicit-constructor): null if empty
      : JsonText(value ? JsonText(*value) : JsonText()) {}
  JsonText(const std::map<std::string, std::string>& texts);  // NOLINT(google-explicit-constructor)
  template <class Element>
  JsonText(const std::vector<Element>& list) : JsonText(list.data(), list.size()) {}  // NOLINT
  template <class Element, std::size_t kSize>
  JsonText(const std::array<Element, kSize>& list) : JsonText(list.data(), kSize) {}  // NOLINT
  /// Makes an object if each member is an array of a string and a value; else an array.
  JsonText(std::initializer_list<JsonText> members);

  /// Rounds to `digits` significant digits in few characters: 90712345 to four is "9071e4". `number` must be finite.
  static JsonText rounded(double number, int digits);
  /// Wraps existing JSON text. If it is an object, add() works on it.
  static JsonText raw(std::string_view json);
  static JsonText array();
  static JsonText object();
  void push_back(const JsonText& element);
  /// Adds a member to an object. The name must be new.
  void add(std::string_view name, const JsonText& value);

  const std::string& text() const noexcept { return text_; }
  /// Returns the text with each member and element on its own line.
  std::string indented() const;
  bool is_array() const noexcept { return kind_ == Kind::array; }
  /// Requires an array.
  std::size_t size() const noexcept { return ends_.size(); }
  std::string_view element(std::size_t index) const noexcept;

 private:
  enum class Kind { scalar, string, array, object };
  template <bool Signed>
  struct Whole {
    std::conditional_t<Signed, long long, unsigned long long> number;
  };
  explicit JsonText(Whole<true> number);
  explicit JsonText(Whole<false> number);
  JsonText(Kind kind, const char* text);
  template <class Element>
  JsonText(const Element* list, std::size_t size) : JsonText(array()) {
    for (const Element* each = list; each != list + size; ++each) { push_back(*each); }
  }
  bool is_member() const noexcept { return is_array() && size() == 2 && first_is_string_; }
  void append(std::string_view member);

  Kind kind_ = Kind::scalar;
  bool first_is_string_ = false;
  std::string text_ = "null";
  std::vector<std::size_t> ends_;  // end offsets of an array's elements in the text
};

}  // namespace detail
TAKT_END_NAMESPACE
