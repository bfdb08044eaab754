// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/json.hpp"

#include "base/threads.hpp"

// Takt's copy of nlohmann/json has its own namespace: a program may link another version or build. Versions before 3.11
// have no macro for that and name the namespace in each of their files.
#define nlohmann takt_private_nlohmann
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using JsonValue = nlohmann::json;

constexpr int kElementDepth = 3;  // depth of the members of an element of a top-level list
constexpr auto kMaxInteger = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

JsonValue make_nothing() { return nullptr; }

const JsonValue& json_value_of(const std::shared_ptr<const void>& value) {
  return value == nullptr ? made_once<make_nothing>() : *static_cast<const JsonValue*>(value.get());
}

/// Receives the events of nlohmann's parser and builds no values.
class JsonWalker {
 public:
  explicit JsonWalker(const std::function<void(const JsonStop&)>& see) : see_(see) {}

  // The parser calls these by name.
  bool null() { return show(JsonStop::Kind::null); }
  bool boolean(bool value) {
    stop_.integer = value ? 1 : 0;
    return show(JsonStop::Kind::boolean);
  }
  bool number_integer(std::int64_t value) {
    stop_.integer = value;
    stop_.real = static_cast<double>(value);
    return show(JsonStop::Kind::integer);
  }
  bool number_unsigned(std::uint64_t value) {
    stop_.integer = static_cast<std::int64_t>(std::min(value, kMaxInteger));
    stop_.real = static_cast<double>(value);
    return show(JsonStop::Kind::integer);
  }
  bool number_float(double value, const std::string& text) {
    stop_.real = value;
    stop_.text = text;
    return show(JsonStop::Kind::real);
  }
  bool string(std::string& value) {
    stop_.text = std::move(value);
    return show(JsonStop::Kind::text);
  }
  bool binary(JsonValue::binary_t&) { return false; }
  bool start_object(std::size_t) { return enter(JsonStop::Kind::object); }
  bool key(std::string& name) {
    stop_.name = std::move(name);
    return true;
  }
  bool end_object() { return leave(); }
  bool start_array(std::size_t) { return enter(JsonStop::Kind::array); }
  bool end_array() { return leave(); }
  bool parse_error(std::size_t, const std::string&, const JsonValue::exception&) { return false; }

 private:
  struct Level {
    std::string name;           // of the enclosing value
    std::size_t inside_length;  // length of that value's own `inside`
    bool is_array;
    std::uint64_t next;  // index of the next element
  };

  bool show(JsonStop::Kind kind) {
    number();
    stop_.kind = kind;
    see_(stop_);
    return true;
  }

  void number() {
    if (!levels_.empty() && levels_.back().is_array) { stop_.name = std::to_string(levels_.back().next++); }
  }

  bool enter(JsonStop::Kind kind) {
    show(kind);
    levels_.push_back({stop_.name, stop_.inside.size(), kind == JsonStop::Kind::array, 0});
    if (levels_.size() == 1) { return true; }
    stop_.inside += '/';
    for (const char each : levels_.back().name) {
      stop_.inside.append(each == '~' ? "~0" : each == '/' ? "~1" : std::string(1, each));
    }
    return true;
  }

  bool leave() {
    stop_.inside.resize(levels_.back().inside_length);
    stop_.name = std::move(levels_.back().name);
    levels_.pop_back();
    stop_.kind = JsonStop::Kind::end;
    see_(stop_);
    return true;
  }

  const std::function<void(const JsonStop&)>& see_;
  JsonStop stop_;
  std::vector<Level> levels_;
};

}  // namespace

Json Json::parse(std::string_view text, std::string_view dropped) {
  const auto keep = [dropped](int depth, JsonValue::parse_event_t event, const JsonValue& parsed) {
    return event != JsonValue::parse_event_t::key || depth != kElementDepth || parsed != dropped;
  };
  JsonValue value = dropped.empty() ? JsonValue::parse(text, nullptr, false) : JsonValue::parse(text, keep, false);
  return value.is_discarded() ? Json() : Json(std::make_shared<const JsonValue>(std::move(value)));
}

bool Json::is_null() const { return json_value_of(value_).is_null(); }
bool Json::is_object() const { return json_value_of(value_).is_object(); }
bool Json::is_array() const { return json_value_of(value_).is_array(); }
bool Json::is_boolean() const { return json_value_of(value_).is_boolean(); }
bool Json::is_text() const { return json_value_of(value_).is_string(); }
bool Json::is_number() const { return json_value_of(value_).is_number(); }
bool Json::is_integer() const { return json_value_of(value_).is_number_integer(); }
bool Json::is_count() const { return json_value_of(value_).is_number_unsigned(); }

bool Json::boolean() const { return is_boolean() && json_value_of(value_).get<bool>(); }
double Json::number() const { return is_number() ? json_value_of(value_).get<double>() : 0; }
std::int64_t Json::integer() const {
  if (is_count()) { return static_cast<std::int64_t>(std::min(count(), kMaxInteger)); }
  return is_integer() ? json_value_of(value_).get<std::int64_t>() : 0;
}
std::uint64_t Json::count() const { return is_count() ? json_value_of(value_).get<std::uint64_t>() : 0; }
std::string Json::text() const { return is_text() ? json_value_of(value_).get<std::string>() : std::string(); }

bool Json::has(std::string_view name) const { return json_value_of(value_).contains(std::string(name)); }
Json Json::member(std::string_view name) const {
  const JsonValue& value = json_value_of(value_);
  const auto found = value.find(std::string(name));  // end() if it is no object
  return found == value.end() ? Json() : Json(std::shared_ptr<const void>(value_, &*found));
}
Json Json::at(const char* pointer) const {
  const JsonValue& value = json_value_of(value_);
  const JsonValue::json_pointer place(pointer);
  return value.contains(place) ? Json(std::shared_ptr<const void>(value_, &value.at(place))) : Json();
}
std::size_t Json::size() const { return json_value_of(value_).size(); }
Json Json::element(std::size_t at) const {
  return Json(std::shared_ptr<const void>(value_, &json_value_of(value_)[at]));
}

bool walk_json(std::string_view text, const std::function<void(const JsonStop&)>& see) {
  JsonWalker walker(see);
  return JsonValue::sax_parse(text, &walker);
}

}  // namespace detail
TAKT_END_NAMESPACE
