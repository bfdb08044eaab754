// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/losses.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::string_view kLostRows[] = {"rows_dropped", "rows_not_taken", "steps_without_rows"};
constexpr std::string_view kLostMetrics[] = {"metrics_dropped", "metrics_not_taken", "metrics_without_room",
                                             "metrics_over_bound"};

template <std::size_t N>
bool is_one_of(const std::string_view (&names)[N], std::string_view name) {
  for (const std::string_view each : names) {
    if (each == name) { return true; }
  }
  return false;
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

std::string counted(std::uint64_t count, const char* one) {
  return human_count(count) + " " + one + (count == 1 ? "" : "s");
}

}  // namespace

std::string LostRecords::words() const {
  std::string all = rows == 0 ? "" : counted(rows, "step");
  const auto add = [&](const std::string& more) { all += all.empty() ? more : " and " + more; };
  if (metrics != 0) { add(counted(metrics, "metric")); }
  if (either != 0) { add(human_count(either) + " steps or metrics"); }
  return all;
}

LostRecords lost_records(const std::vector<Loss>& losses) {
  LostRecords lost;
  for (const Loss& loss : losses) {
    // What the journal left out it names by the place, see JournalState; of several ranks behind that of the rank.
    const bool left_out = loss.what == "not_in_journal";
    if (is_one_of(kLostRows, loss.what) || (left_out && ends_with(loss.where, "rows"))) { lost.rows += loss.count; }
    if (is_one_of(kLostMetrics, loss.what) || (left_out && ends_with(loss.where, "metrics"))) {
      lost.metrics += loss.count;
    }
  }
  return lost;
}

LostRecords lost_before_journal(const std::vector<Loss>& losses) {
  LostRecords lost = lost_records(losses);
  for (const Loss& loss : losses) {
    if (loss.what == "not_exported" && ends_with(loss.where, "journal")) { lost.either += loss.count; }
  }
  return lost;
}

void leave_out_lost(std::vector<Loss>& losses, const std::vector<Loss>& before) {
  // By kind alone: what a thread has lost is told without its name once it has ended.
  for (const Loss& earlier : before) {
    if (!is_one_of(kLostRows, earlier.what) && !is_one_of(kLostMetrics, earlier.what)) { continue; }
    std::uint64_t left = earlier.count;
    for (Loss& each : losses) {
      if (each.what != earlier.what) { continue; }
      const std::uint64_t taken = std::min(left, each.count);
      each.count -= taken;
      left -= taken;
    }
  }
  losses.erase(std::remove_if(losses.begin(), losses.end(), [](const Loss& each) { return each.count == 0; }),
               losses.end());
}

}  // namespace detail
TAKT_END_NAMESPACE
