// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "findings/finding_json.hpp"

TAKT_BEGIN_NAMESPACE
namespace detail {

JsonText finding_json(const Finding& finding) {
  JsonText evidence = JsonText::array();
  for (const Evidence& each : finding.evidence) {
    evidence.push_back(
        {{"name", each.name}, {"value", each.value}, {"unit", each.unit.empty() ? JsonText() : JsonText(each.unit)}});
  }
  JsonText cost;
  if (finding.cost) {
    cost = {{"ns", finding.cost->ns},
            {"low_ns", finding.cost->low_ns},
            {"high_ns", finding.cost->high_ns},
            {"share", finding.cost->share}};
  }
  return {{"what", finding.what},
          {"sentence", finding.sentence},
          {"evidence", evidence},
          {"cost", cost},
          {"where", finding.where.empty() ? JsonText() : JsonText(finding.where)}};
}

JsonText abstention_json(const Abstention& abstention) { return {{"what", abstention.what}, {"why", abstention.why}}; }

}  // namespace detail
TAKT_END_NAMESPACE
