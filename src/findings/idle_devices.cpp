// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/exposed.hpp>

#include "base/format.hpp"
#include "base/text.hpp"
#include "findings/finding_text.hpp"
#include "findings/rules.hpp"
#include "findings/thresholds.hpp"

#include <algorithm>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// What the device did nothing in at least, without what it waited for at most, as far as regions tell: that is another
/// rule's.
double idle_ns(const Overlap& overlap) {
  double ns = static_cast<double>(overlap.idle_least_ns);
  for (const std::int64_t waited : {overlap.comm_exposed_ns, overlap.io_exposed_ns}) {
    ns -= waited == Overlap::kAbsent ? 0 : static_cast<double>(waited);
  }
  return std::max(ns, 0.0);
}

double idle_share(const TimeLineInfo& line) {
  return line.overlap.span_ns > 0 ? idle_ns(line.overlap) / static_cast<double>(line.overlap.span_ns) : 0;
}

}  // namespace

void add_idle_devices(const RunView& view, Conclusions& said) {
  if (!view.on_streams) { return; }
  const auto& lines = view.run.time_lines;
  const auto most = std::max_element(lines.begin(), lines.end(), [](const TimeLineInfo& a, const TimeLineInfo& b) {
    return idle_share(a) < idle_share(b);
  });
  if (most == lines.end() || static_cast<double>(most->steps) < kFewestSteps) {
    said.abstentions.push_back({"device_idle", "no time line has the spans of 32 steps or more: it takes a trace"});
    return;
  }
  if (idle_share(*most) < kLeastIdleShare) { return; }
  const double ns = idle_ns(most->overlap);
  const auto span_ns = static_cast<double>(most->overlap.span_ns);
  Finding finding;
  finding.what = "device_idle";
  finding.sentence = detail::format(
      "{} {} does nothing in at least {} of its steps' time: {} of {}, as far as its work lies in regions",
      printable(most->device), most->number, share_text(ns / span_ns), human_time(ns), human_time(span_ns));
  finding.evidence = {{"idle", ns, "ns"},
                      {"span", span_ns, "ns"},
                      {"steps", static_cast<double>(most->steps), "steps"},
                      {"share_of_span", ns / span_ns, ""},
                      {"device", static_cast<double>(most->number), ""}};
  finding.cost = Cost{ns, ns, ns, view.share_of_run(ns)};
  said.findings.push_back(std::move(finding));
}

}  // namespace detail
TAKT_END_NAMESPACE
