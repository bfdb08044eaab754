// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_cursor.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char* kSchema = "takt-wandb/1";

/// Of those of older ones, which knew fewer sources, the rest is 0.
void read_points(const OrderedJson& points, WandbCursor& cursor) {
  for (std::size_t source = 0; source < std::min(points.size(), cursor.points.size()); ++source) {
    points.at(source).get_to(cursor.points[source]);
  }
}

}  // namespace

std::string format_wandb_cursor(const WandbCursor& cursor) {
  const OrderedJson document = {
      {"schema", kSchema},
      {"log", cursor.log},
      {"bytes", cursor.bytes},
      {"records", cursor.records},
      {"rows", cursor.rows},
      {"events", cursor.events},
      {"start_unix_ns", cursor.start_unix_ns},
      {"every_step", cursor.every_step},
      {"first_row", cursor.first_row},
      {"first_metric", cursor.first_metric},
      {"first_sample", cursor.first_sample},
      {"points", cursor.points},
      {"job_ranks", cursor.job_ranks},
      {"gap", cursor.gap},
      {"ended", cursor.ended},
      {"server", cursor.server},
      {"run", cursor.run},
      {"lines", cursor.lines},
      {"sent_events", cursor.sent_events},
      {"behind",
       {{"resumed", cursor.behind.resumed},
        {"lines", cursor.behind.lines},
        {"events", cursor.behind.events},
        {"step", cursor.behind.step},
        {"runtime_s", cursor.behind.runtime_s}}},
      {"complete", cursor.complete},
      {"resume", static_cast<int>(cursor.resume)},
  };
  return document.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

bool parse_wandb_cursor(const std::string& text, WandbCursor& cursor) {
  try {
    const OrderedJson document = OrderedJson::parse(text);
    if (document.at("schema") != kSchema) { return false; }
    document.at("log").get_to(cursor.log);
    document.at("bytes").get_to(cursor.bytes);
    document.at("records").get_to(cursor.records);
    document.at("rows").get_to(cursor.rows);
    document.at("start_unix_ns").get_to(cursor.start_unix_ns);
    document.at("every_step").get_to(cursor.every_step);
    document.at("first_row").get_to(cursor.first_row);
    document.at("first_metric").get_to(cursor.first_metric);
    read_points(document.at("points"), cursor);
    // What older ones knew nothing of is 0.
    cursor.events = document.value("events", std::uint64_t{0});
    cursor.sent_events = document.value("sent_events", std::uint64_t{0});
    cursor.first_sample = document.value("first_sample", std::uint64_t{0});
    cursor.job_ranks = document.value("job_ranks", std::uint64_t{0});
    document.at("gap").get_to(cursor.gap);
    document.at("ended").get_to(cursor.ended);
    document.at("server").get_to(cursor.server);
    document.at("run").get_to(cursor.run);
    document.at("lines").get_to(cursor.lines);
    if (document.contains("behind")) {  // older ones overwrote what was there before
      const OrderedJson& behind = document.at("behind");
      behind.at("resumed").get_to(cursor.behind.resumed);
      behind.at("lines").get_to(cursor.behind.lines);
      cursor.behind.events = behind.value("events", std::uint64_t{0});
      behind.at("step").get_to(cursor.behind.step);
      behind.at("runtime_s").get_to(cursor.behind.runtime_s);
    }
    document.at("complete").get_to(cursor.complete);
    const int resume = document.value("resume", 0);
    if (resume < 0 || resume > static_cast<int>(WandbResume::never)) { return false; }
    cursor.resume = static_cast<WandbResume>(resume);
    return true;
  } catch (const OrderedJson::exception&) { return false; }
}

}  // namespace detail
TAKT_END_NAMESPACE
