// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/json_walk.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using Json = nlohmann::json;

/// Takes the events of nlohmann's parser, which makes no values for that.
class JsonWalker {
 public:
  explicit JsonWalker(const std::function<void(const JsonStop&)>& see) : see_(see) {}

  // The names that the parser calls.
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
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    stop_.integer = static_cast<std::int64_t>(std::min(value, kMost));
    stop_.real = static_cast<double>(value);
    return show(JsonStop::Kind::integer);
  }
  bool number_float(double value, const std::string&) {
    stop_.real = value;
    return show(JsonStop::Kind::real);
  }
  bool string(std::string& value) {
    stop_.text = std::move(value);
    return show(JsonStop::Kind::text);
  }
  bool binary(Json::binary_t&) { return false; }
  bool start_object(std::size_t) { return enter(JsonStop::Kind::object); }
  bool key(std::string& name) {
    stop_.name = std::move(name);
    return true;
  }
  bool end_object() { return leave(); }
  bool start_array(std::size_t) { return enter(JsonStop::Kind::array); }
  bool end_array() { return leave(); }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) { return false; }

 private:
  struct Level {
    std::string name;           // of what holds it
    std::size_t inside_length;  // of where that is
    bool is_array;
    std::uint64_t next;  // element
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

bool walk_json(const std::string& text, const std::function<void(const JsonStop&)>& see) {
  JsonWalker walker(see);
  return Json::sax_parse(text, &walker);
}

}  // namespace detail
TAKT_END_NAMESPACE
