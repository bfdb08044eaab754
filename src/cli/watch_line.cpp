// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/watch_line.hpp"

#include "base/format.hpp"
#include "base/json_text.hpp"
#include "base/nanoseconds.hpp"
#include "base/text.hpp"
#include "cli/run_reading.hpp"

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

std::string quoted(const std::string& text) { return detail::JsonText(detail::printable(text)).text(); }

/// The first finding; empty: none.
std::string finding_of(const detail::JobReport& job) {
  if (!job.comparison.findings.empty()) { return job.comparison.findings.front().sentence; }
  return job.sum.findings.empty() ? "" : job.sum.findings.front().sentence;
}

std::string rates_of(const Throughput& throughput) {
  std::string text;
  if (throughput.steps > 0 && throughput.steps_per_s > 0) {
    text += detail::format(" step_s={:.6g} steps_per_s={:.6g}", 1 / throughput.steps_per_s, throughput.steps_per_s);
  }
  if (throughput.items > 0) { text += detail::format(" items_per_s={:.6g}", throughput.items_per_s); }
  return text;
}

}  // namespace

std::string watch_line(const RunReport& run, std::int64_t now_unix_ns) {
  std::string time = detail::utc_text(now_unix_ns);
  time[time.find(' ')] = 'T';
  std::string text = detail::format("time={}Z run={} state={} ranks={} world_size={} steps={}", time,
                                    quoted(run.job.sum.run.id), state_word(state_of(run.ranks)), run.ranks.size(),
                                    run.ranks.size() + run.missing.size(), most_steps(run.ranks));
  text += rates_of(main_throughput(run.job.sum).throughput);
  const std::string finding = finding_of(run.job);
  return text + (finding.empty() ? "" : " finding=" + quoted(finding)) + "\n";
}

}  // namespace cli
TAKT_END_NAMESPACE
