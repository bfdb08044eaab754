// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/scaling_document.hpp"

#include "base/format.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "report/csv_rows.hpp"
#include "report/text_table.hpp"

#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

using detail::JsonText;
using detail::Scaling;

constexpr std::size_t kRunColumns = 60;

std::string percent(double value) { return detail::format("{:.1f} %", 100 * value); }

bool has_interval(const ScalingLine& line) { return line.run.throughput.items_high > 0; }

std::string run_label(const std::string& id) { return detail::fit_end(detail::printable(id), kRunColumns); }

std::string scaling_title(const ScalingReport& report) {
  const ScalingLine& base = report.lines.front();
  const double items = detail::ratio(base.row.run.items, static_cast<double>(base.row.run.steps));
  const double a_rank = detail::ratio(items, static_cast<double>(base.run.ranks - base.run.missing));
  std::string path = detail::printable(base.run.path);
  switch (report.scaling) {
    case Scaling::weak:
      return detail::format("{}: weak scaling, {} samples a step and rank", path, detail::human_rate(a_rank));
    case Scaling::strong:
      return detail::format("{}: strong scaling, {} samples a step of all ranks", path, detail::human_rate(items));
    case Scaling::unclear:
      break;
  }
  return path;
}

constexpr detail::TextColumn kScalingColumns[] = {{"ranks", 0},         {"samples/s", 0},  {"95 % interval", 3},
                                                  {"speed-up", 0},      {"efficiency", 0}, {"load balance", 2},
                                                  {"communication", 2}, {"parallel", 1}};

detail::TextTable::Line scaling_line(const ScalingLine& line) {
  const Throughput& rate = line.run.throughput;
  const JobEfficiency& used = line.run.efficiency;
  const auto known = [&](double value) { return used.parallel > 0 ? percent(value) : std::string("-"); };
  return {run_label(line.run.id),
          0,
          {detail::format("{}", line.run.ranks), detail::human_rate(line.row.items_per_s),
           has_interval(line)
               ? detail::format("{} to {}", detail::human_rate(rate.items_low), detail::human_rate(rate.items_high))
               : "-",
           detail::format("{:.2f}", line.row.speed_up), percent(line.row.efficiency), known(used.load_balance),
           known(used.communication), known(used.parallel)}};
}

double stall_of(const ScalingLine& line) {
  return detail::data_stall(line.row.items_per_s, line.without_loader->items_per_s);
}
double communication_share_of(const ScalingLine& line) {
  return detail::communication_share(line.row.items_per_s, line.without_communication->items_per_s);
}
double lengthening_of(const ScalingLine& line) {
  return detail::communication_lengthening(line.row.items_per_s, line.without_communication->items_per_s);
}

void add_overheads(const ScalingLine& line, std::vector<std::string>& lines) {
  if (line.without_loader) {
    lines.push_back(detail::format("{} ranks: data stall {} of the rate; without the loader {} samples/s ({})",
                                   line.run.ranks, percent(stall_of(line)),
                                   detail::human_rate(line.without_loader->items_per_s),
                                   run_label(line.without_loader->id)));
  }
  if (line.without_communication) {
    lines.push_back(detail::format(
        "{} ranks: communication takes {} of the rate, and makes steps longer by {}; without it {} samples/s ({})",
        line.run.ranks, percent(communication_share_of(line)), percent(lengthening_of(line)),
        detail::human_rate(line.without_communication->items_per_s), run_label(line.without_communication->id)));
  }
}

const char* scaling_word(Scaling scaling) {
  return scaling == Scaling::weak ? "weak" : scaling == Scaling::strong ? "strong" : nullptr;
}

JsonText line_json(const ScalingLine& line) {
  const Throughput& rate = line.run.throughput;
  const JobEfficiency& used = line.run.efficiency;
  JsonText interval;
  if (has_interval(line)) { interval = {rate.items_low, rate.items_high}; }
  JsonText efficiency;
  if (used.parallel > 0) {
    efficiency = {
        {"load_balance", used.load_balance}, {"communication", used.communication}, {"parallel", used.parallel}};
  }
  JsonText without_loader;
  if (line.without_loader) {
    without_loader = {{"run_id", line.without_loader->id},
                      {"items_per_s", line.without_loader->items_per_s},
                      {"data_stall", stall_of(line)}};
  }
  JsonText without_communication;
  if (line.without_communication) {
    without_communication = {{"run_id", line.without_communication->id},
                             {"items_per_s", line.without_communication->items_per_s},
                             {"share", communication_share_of(line)},
                             {"lengthening", lengthening_of(line)}};
  }
  return {{"run_id", line.run.id},
          {"ranks", line.run.ranks},
          {"missing_ranks", line.run.missing},
          {"path", line.run.path},
          {"steps", rate.steps},
          {"items", rate.items},
          {"period_ns", rate.period_ns},
          {"items_per_s", line.row.items_per_s},
          {"items_per_s_interval", interval},
          {"speed_up", line.row.speed_up},
          {"efficiency", line.row.efficiency},
          {"job_efficiency", efficiency},
          {"without_loader", without_loader},
          {"without_communication", without_communication}};
}

std::string field(bool known, double value) { return known ? detail::format("{}", value) : ""; }

}  // namespace

std::string scaling_table(const ScalingReport& report, detail::Page page) {
  std::vector<detail::TextTable::Line> lines;
  std::vector<std::string> overheads;
  for (const ScalingLine& each : report.lines) {
    lines.push_back(scaling_line(each));
    add_overheads(each, overheads);
  }
  const detail::TextTable table({std::begin(kScalingColumns), std::end(kScalingColumns)}, std::move(lines),
                                page.width(), "run");
  page.add_part({scaling_title(report)}, detail::Page::Style::bold);
  page.add({table.head()}, detail::Page::Style::bold);
  page.add(table.body(), detail::Page::Style::plain);
  if (!overheads.empty()) { page.gap(); }
  page.add(overheads, detail::Page::Style::plain);
  return page.text();
}

std::string scaling_csv(const ScalingReport& report) {
  std::string text =
      "run_id,ranks,missing_ranks,path,steps,items,period_ns,items_per_s,items_low,items_high,speed_up,efficiency,"
      "load_balance,communication,parallel,data_stall,communication_share,communication_lengthening\n";
  for (const ScalingLine& each : report.lines) {
    const Throughput& rate = each.run.throughput;
    const JobEfficiency& used = each.run.efficiency;
    const bool has_steps = used.parallel > 0;
    const bool loader = each.without_loader.has_value();
    const bool communication = each.without_communication.has_value();
    text += detail::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", detail::csv_field(each.run.id),
                           each.run.ranks, each.run.missing, detail::csv_field(each.run.path), rate.steps, rate.items,
                           rate.period_ns, each.row.items_per_s, field(has_interval(each), rate.items_low),
                           field(has_interval(each), rate.items_high), each.row.speed_up, each.row.efficiency,
                           field(has_steps, used.load_balance), field(has_steps, used.communication),
                           field(has_steps, used.parallel), field(loader, loader ? stall_of(each) : 0),
                           field(communication, communication ? communication_share_of(each) : 0),
                           field(communication, communication ? lengthening_of(each) : 0));
  }
  return text;
}

std::string scaling_json(const ScalingReport& report) {
  JsonText runs = JsonText::array();
  for (const ScalingLine& each : report.lines) { runs.push_back(line_json(each)); }
  JsonText scaling;
  if (scaling_word(report.scaling) != nullptr) { scaling = scaling_word(report.scaling); }
  const JsonText document = {
      {"schema", "takt-scaling/1"}, {"scaling", scaling}, {"runs", runs}, {"remarks", report.remarks}};
  return detail::printable_json(document.indented()) + "\n";
}

}  // namespace cli
TAKT_END_NAMESPACE
