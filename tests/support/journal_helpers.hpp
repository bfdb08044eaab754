// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporters/json.hpp>
#include <takt/snapshot.hpp>

#include "journal/journal_reader.hpp"
#include "journal/journal_writer.hpp"
#include "support/random.hpp"
#include "support/snapshot_builder.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace takt_test {

/// Returns every field of a snapshot except rows and metrics, including those that the JSON omits.
inline std::string spell_state(const takt::Snapshot& snapshot) {
  takt::detail::JournalChanges changes;
  takt::detail::FrameBuffer frames(0);
  changes.add_state(frames, snapshot);
  return frames.bytes() + takt::format_json(snapshot);
}

inline bool same_cell(const takt::Cell& a, const takt::Cell& b) {
  return a.path == b.path && a.calls == b.calls && a.host_ns == b.host_ns && a.device_ns == b.device_ns;
}

inline bool same_row(const takt::Row& a, const takt::Row& b) {
  return a.sequence == b.sequence && a.series == b.series && a.step == b.step && a.begin_ns == b.begin_ns &&
         a.host_ns == b.host_ns && a.period_ns == b.period_ns && a.items == b.items && a.warmup == b.warmup &&
         a.complete == b.complete &&
         std::equal(a.cells.begin(), a.cells.end(), b.cells.begin(), b.cells.end(), same_cell);
}

inline bool same_metric(const takt::Metric& a, const takt::Metric& b) {
  const bool same_value = a.value == b.value || (a.value != a.value && b.value != b.value);
  return a.sequence == b.sequence && a.name == b.name && same_value && a.step == b.step &&
         a.time_unix_ns == b.time_unix_ns;
}

inline bool same_rows(const std::vector<takt::Row>& a, const std::vector<takt::Row>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_row);
}

inline bool same_metrics(const std::vector<takt::Metric>& a, const std::vector<takt::Metric>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_metric);
}

/// A growing run: next() returns the snapshot that an exporter gets one period later.
class GrowingRun {
 public:
  explicit GrowingRun(std::uint64_t seed, const takt::Snapshot& start = sample_snapshot())
      : random_(seed), now_(start) {
    now_.finished = false;
    now_.wall_ns = 0;
  }

  const takt::Snapshot& next(bool finished = false) {
    now_.rows.clear();
    now_.metrics.clear();
    now_.samples.clear();
    now_.wall_ns += 1'000'000'000;
    now_.uncovered_ns += 5;
    now_.overhead_ns += static_cast<std::int64_t>(random_.below(1000));
    const auto known_below = [this](std::uint64_t max) {
      const auto number = static_cast<std::int64_t>(random_.below(max));
      return number == 0 ? std::nullopt : std::optional(number - 1);
    };
    now_.process = {known_below(1000),
                    static_cast<std::int64_t>(random_.below(3)),
                    static_cast<std::int64_t>(random_.below(3)),
                    17,
                    2,
                    known_below(100),
                    8};
    now_.clock.worst_error_ppm = static_cast<double>(random_.below(50));
    now_.clock.error_since_ns = static_cast<std::int64_t>(random_.below(1000));
    for (takt::Series& series : now_.series) {
      series.throughput.no_interval = static_cast<takt::NoInterval>(random_.below(4));
      series.throughput.stalls = random_.below(10);
    }
    now_.finished = finished;
    grow_tree();
    grow_lists();
    now_.early.clear();
    if (late) { grow_late_rows(finished); }
    for (std::uint64_t count = random_.below(8); count > 0; --count) { add_one_row(); }
    if (random_.chance(40)) { add_one_metric(); }
    all_rows.insert(all_rows.end(), now_.rows.begin(), now_.rows.end());
    max_rows = std::max(max_rows, now_.rows.size());
    all_metrics.insert(all_metrics.end(), now_.metrics.begin(), now_.metrics.end());
    return now_;
  }

  bool late = false;  ///< some rows wait for device values and arrive out of order
  std::vector<takt::Row> all_rows;
  std::size_t max_rows = 0;  ///< per export
  std::vector<takt::Metric> all_metrics;
  std::vector<takt::Row> waiting;

 private:
  std::uint64_t duration() { return random_.next() >> (18 + random_.below(46)); }

  void grow_tree() {
    if (random_.chance(10)) {
      const auto parent = static_cast<std::uint32_t>(random_.below(now_.paths.size()));
      add_path(now_, "path " + std::to_string(now_.paths.size()), parent, static_cast<takt::Kind>(random_.below(5)));
    }
    for (takt::PathStats& path : now_.paths) {
      if (!random_.chance(40)) { continue; }
      for (std::uint64_t calls = random_.below(20); calls > 0; --calls) { path.host.add(duration()); }
      if (random_.chance(30)) { path.device.add(duration()); }
      if (random_.chance(10)) { path.host.add_warmup(duration()); }
      if (random_.chance(10)) { path.host.add_first(duration()); }
      path.self_ns += random_.below(1000);
      path.skipped += random_.below(2);
      path.device_pending = random_.below(3);
    }
  }

  void grow_lists() {
    if (random_.chance(5)) { add_thread(now_, "thread \xE2\x82\xAC" + std::to_string(now_.threads.size())); }
    if (random_.chance(5)) { now_.threads[random_.below(now_.threads.size())].ended = true; }
    if (random_.chance(5)) { add_series(now_, 1, static_cast<std::uint32_t>(random_.below(now_.threads.size()))); }
    now_.series[0].steps += random_.below(3);
    now_.series[0].throughput.items_per_s = random_.uniform();
    if (random_.chance(10)) { now_.params["p" + std::to_string(random_.below(5))] = std::to_string(random_.next()); }
    if (random_.chance(10)) { now_.tags[""] = std::string(random_.below(300), 'x'); }
    if (random_.chance(10)) { now_.losses.push_back({"row_dropped", "", random_.next()}); }
    now_.open.resize(random_.below(3));
    for (takt::OpenRegion& open : now_.open) { open.open_ns = static_cast<std::int64_t>(random_.below(1U << 30U)); }
    now_.clock.fallbacks += random_.chance(3) ? 1 : 0;
    now_.failed = now_.failed || random_.chance(1);
  }

  void grow_time_lines() {
    if (now_.time_lines.empty() || random_.chance(20)) {
      const auto count = static_cast<std::uint32_t>(now_.time_lines.size());
      now_.time_lines.emplace_back().number = count;
      now_.time_lines.back().device = "cuda";
      now_.time_lines.back().overlap.time_line = count;
    }
    takt::TimeLineInfo& line = now_.time_lines[random_.below(now_.time_lines.size())];
    takt::Overlap& overlap = line.overlap;
    for (std::uint64_t* number : {&line.spans, &line.clamped, &line.steps, &overlap.undecided}) {
      *number += random_.below(100);
    }
    for (std::int64_t* ns :
         {&line.clock_error_ns, &overlap.span_ns, &overlap.compute_ns, &overlap.comm_ns, &overlap.io_ns}) {
      *ns += static_cast<std::int64_t>(random_.below(1U << 30U));
    }
    for (std::optional<std::int64_t>* ns : {&overlap.comm_exposed_ns, &overlap.other_exposed_ns}) {
      *ns = ns->value_or(0) + static_cast<std::int64_t>(random_.below(1U << 30U));
    }
  }

  /// Waiting rows get a value, leave, or both.
  void grow_late_rows(bool finished) {
    if (random_.chance(10)) { now_.devices = {{"cuda", random_.chance(50) ? "no driver" : "", "a word"}}; }
    if (random_.chance(10)) { grow_time_lines(); }
    std::vector<takt::Row> left;
    for (takt::Row& row : waiting) {
      bool amended = random_.chance(50) && !row.cells.empty();
      if (amended) { row.cells[random_.below(row.cells.size())].device_ns = 77; }
      if (random_.chance(10)) {
        row.cells.push_back({now_.series[row.series].path, 1, row.host_ns, 78});
        amended = true;
      }
      if (finished || random_.chance(40)) {
        row.sequence = next_row_++;
        row.complete = random_.chance(80);
        now_.rows.push_back(row);
        continue;
      }
      if (row.early == 0) { row.early = ++last_early_; }
      if (amended || row.early == last_early_) { now_.early.push_back(row); }
      left.push_back(row);
    }
    waiting = left;
  }

  void add_one_row() {
    takt::Row& row = add_row(now_, static_cast<std::uint32_t>(random_.below(now_.series.size())), next_row_++);
    if (late && !now_.finished && random_.chance(50)) {
      --next_row_;
      waiting.push_back(row);
      now_.rows.pop_back();
      fill(waiting.back());
      waiting.back().complete = false;
      waiting.back().step = --late_step_;  // the number belongs to another row
    } else {
      fill(row);
    }
  }

  void fill(takt::Row& row) {
    row.warmup = random_.chance(20);
    row.complete = random_.chance(80);
    row.period_ns = random_.chance(20) ? std::nullopt : std::optional<std::int64_t>(random_.below(1U << 30U));
    row.cells.resize(random_.below(6));
    for (takt::Cell& cell : row.cells) {
      cell.path = random_.chance(10) ? takt::kNoIndex : static_cast<std::uint32_t>(random_.below(now_.paths.size()));
      cell.calls = static_cast<std::uint32_t>(random_.next());
      cell.host_ns = static_cast<std::int64_t>(random_.next() >> 1U);
      if (random_.chance(50)) { cell.device_ns = static_cast<std::int64_t>(random_.next() >> 1U); }
    }
  }

  void add_one_metric() {
    takt::Metric metric;
    metric.sequence = next_metric_++;
    metric.name = "loss";
    metric.value = random_.chance(10) ? std::numeric_limits<double>::quiet_NaN() : random_.uniform();
    metric.step = static_cast<std::int64_t>(next_row_);
    metric.time_unix_ns = -5;
    now_.metrics.push_back(metric);
  }

  Random random_;
  takt::Snapshot now_;
  std::uint64_t last_early_ = 0;
  std::int64_t late_step_ = 0;
  std::uint64_t next_row_ = 0;
  std::uint64_t next_metric_ = 0;
};

/// Returns options for a journal that starts no threads and works on any disk.
inline takt::detail::JournalOptions plain_journal(std::size_t segment_bytes = std::size_t{8} << 20U) {
  takt::detail::JournalOptions options;
  options.segment_bytes = segment_bytes;
  options.keep_free = 0;
  options.threads = false;
  return options;
}

inline bool is_undamaged(const takt::detail::JournalReader& reader) {
  const takt::detail::JournalReader::Damage& damage = reader.damage();
  return reader.error().empty() && damage.damaged_bytes == 0 && damage.torn_tail_bytes == 0 &&
         damage.lost_frames == 0 && damage.unknown_frames == 0 && damage.unreadable_frames == 0;
}

}  // namespace takt_test
