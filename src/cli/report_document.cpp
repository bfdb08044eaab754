// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/report_document.hpp"

#include <takt/exporters/json.hpp>

#include "base/text.hpp"
#include "report/csv_rows.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

using Json = nlohmann::ordered_json;

const char* word_of(Ending ending) {
  switch (ending) {
    case Ending::finished:
      return "finished";
    case Ending::failed:
      return "failed";
    case Ending::killed:
      return "killed";
    case Ending::running:
      return "running";
    case Ending::died:
      return "died";
    case Ending::silent:
      break;
  }
  return "silent";
}

/// null where no exception ended it.
Json uncaught_json(const Snapshot& snapshot) {
  const Uncaught& death = snapshot.uncaught;
  if (!death.happened) { return {}; }
  Json open = Json::array();
  for (const std::uint32_t path : death.open) { open.push_back(snapshot.path_name(path)); }
  Json thread;
  if (death.thread < snapshot.threads.size()) { thread = snapshot.threads[death.thread].name; }
  return {{"type", death.type}, {"message", death.message}, {"thread", thread}, {"open", open}};
}

Json rank_json(const Rank& rank) {
  Json open = Json::array();
  for (const OpenRegion& each : rank.snapshot.open) {
    open.push_back({{"path", rank.snapshot.path_name(each.path)},
                    {"thread", rank.snapshot.threads[each.thread].name},
                    {"open_ns", each.open_ns}});
  }
  return {
      {"rank", rank.snapshot.run.rank},
      {"attempt", rank.snapshot.run.attempt},
      {"host", rank.snapshot.run.host},
      {"pid", rank.snapshot.run.pid},
      {"directory", rank.directory},
      {"state", word_of(rank.ending)},
      {"last_sign_unix_ns", rank.sign_unix_ns},
      {"wall_ns", rank.snapshot.wall_ns},
      {"open", open},
      {"uncaught", uncaught_json(rank.snapshot)},
      {"damage", damages(rank)},
  };
}

std::string number(double value, bool known) { return known ? fmt::format("{:.3f}", value) : ""; }

std::string csv_line(const Snapshot& sum, std::uint32_t index) {
  const PathStats& path = sum.paths[index];
  const Summary& host = path.host;
  const bool measured = host.measured_n() != 0;
  std::string line =
      fmt::format("{},{},{},{},{},{}", detail::csv_field(sum.run.id), detail::csv_field(sum.path_name(index)),
                  to_string(path.kind), host.n(), host.total_ns(), path.self_ns);
  line += fmt::format(",{},{}", number(host.mean_ns(), measured), number(host.stdev_ns(), host.measured_n() > 1));
  const auto add = [&line](bool known, std::uint64_t ns) { line += known ? fmt::format(",{}", ns) : ","; };
  add(measured, host.min_ns());
  for (const double q : {0.5, 0.9, 0.99}) { add(has_percentile(host, q), host.percentile_ns(q)); }
  add(measured, host.max_ns());
  line += fmt::format(",{},{},{}", path.items, path.bytes, path.skipped);
  line += path.device.n() == 0 ? ",," : fmt::format(",{},{}", path.device.n(), path.device.total_ns());
  return line + "\n";
}

}  // namespace

std::string report_json(const std::vector<RunReport>& runs) {
  Json list = Json::array();
  for (const RunReport& run : runs) {
    Json ranks = Json::array();
    for (const Rank& rank : run.ranks) { ranks.push_back(rank_json(rank)); }
    list.push_back({{"run_id", run.sum.run.id},
                    {"ranks", ranks},
                    {"missing_ranks", run.missing},
                    {"summary", Json::parse(format_json(run.sum))}});
  }
  const Json document = {{"schema", "takt-report/1"}, {"runs", list}};
  return detail::printable_json(document.dump(1, ' ', false, Json::error_handler_t::replace)) + "\n";
}

std::string report_csv(const std::vector<RunReport>& runs) {
  std::string text =
      "run_id,path,kind,n,total_ns,self_ns,mean_ns,stdev_ns,min_ns,p50_ns,p90_ns,p99_ns,max_ns,items,bytes,skipped,"
      "device_n,device_total_ns\n";
  for (const RunReport& run : runs) {
    for (std::uint32_t path = 0; path < run.sum.paths.size(); ++path) { text += csv_line(run.sum, path); }
  }
  return text;
}

}  // namespace cli
TAKT_END_NAMESPACE
