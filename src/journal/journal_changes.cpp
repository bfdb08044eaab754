// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "journal/journal_changes.hpp"

#include "base/nanoseconds.hpp"
#include "journal/sample_records.hpp"

#include <cstdint>
#include <tuple>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::int64_t kSampledPeriodNs = 10 * kSecondNs;

template <class Record>
std::string spelled(const Record& record) {
  std::string text;
  Encoder encoder(text);
  visit(encoder, record);
  return text;
}

/// Appends a record that does not spell as it did.
template <class Record>
void add_changed(FrameBuffer& out, FrameType type, const Record& record, std::string& said) {
  std::string now = spelled(record);
  if (now == said) { return; }
  out.add(type, record);
  said = std::move(now);
}

SummaryRecord changes(const Summary& now, const Summary& said) {
  SummaryRecord record;
  record.scalars = SummaryAccess::scalars(now);
  unsigned last = 0;
  SummaryAccess::each_change(now.histogram(), said.histogram(), [&](unsigned bucket, std::uint64_t count) {
    record.buckets.push_back({bucket - last, count});
    last = bucket;
  });
  return record;
}

/// Every duration adds to n, so that this tells of the histogram, too.
bool same(const Summary& a, const Summary& b) {
  return a.n() == b.n() && a.total_ns() == b.total_ns() && a.warmup_n() == b.warmup_n() && a.first_n() == b.first_n() &&
         a.sum_of_squares() == b.sum_of_squares();
}

bool same(const PathStats& a, const PathStats& b) {
  return same(a.host, b.host) && same(a.device, b.device) && numbers_of(a) == numbers_of(b);
}

}  // namespace

void JournalChanges::clear() { *this = JournalChanges(); }

void JournalChanges::add_state(FrameBuffer& out, const Snapshot& snapshot) {
  add_run(out, snapshot);
  add_paths(out, snapshot);
  add_threads(out, snapshot);
  add_series(out, snapshot);
  add_notes(out, FrameType::param, snapshot.params, params_);
  add_notes(out, FrameType::tag, snapshot.tags, tags_);
  add_totals(out, snapshot);
  add_lists(out, snapshot);
  add_sampled(out, snapshot);
}

void JournalChanges::add_run(FrameBuffer& out, const Snapshot& snapshot) {
  if (!std::exchange(has_run_, true)) { out.add(FrameType::run, snapshot.run); }
  add_changed(out, FrameType::clock, snapshot.clock, clock_);
}

void JournalChanges::add_paths(FrameBuffer& out, const Snapshot& snapshot) {
  for (std::size_t index = paths_.size(); index < snapshot.paths.size(); ++index) {
    const PathStats& path = snapshot.paths[index];
    out.add(FrameType::path,
            PathRecord{static_cast<std::uint32_t>(index), path.name, path.kind, path.parent, path.depth});
    paths_.emplace_back();
  }
}

void JournalChanges::add_totals(FrameBuffer& out, const Snapshot& snapshot) {
  for (std::size_t index = 0; index < snapshot.paths.size(); ++index) {
    const PathStats& now = snapshot.paths[index];
    PathStats& said = paths_[index];
    const bool is_new = index >= totals_;
    if (!is_new && same(now, said)) { continue; }
    TotalsRecord record;
    record.path = static_cast<std::uint32_t>(index);
    numbers_of(record) = numbers_of(now);
    record.host = changes(now.host, said.host);
    record.has_device = now.device.n() != 0;
    if (record.has_device) { record.device = changes(now.device, said.device); }
    out.add(FrameType::totals, record);
    numbers_of(said) = numbers_of(now);
    said.host = now.host;
    said.device = now.device;
  }
  totals_ = snapshot.paths.size();
}

void JournalChanges::add_threads(FrameBuffer& out, const Snapshot& snapshot) {
  for (std::size_t index = 0; index < snapshot.threads.size(); ++index) {
    const ThreadInfo& now = snapshot.threads[index];
    const bool is_new = index >= threads_.size();
    if (is_new) { threads_.emplace_back(); }
    ThreadInfo& said = threads_[index];
    if (!is_new && now.id == said.id && now.name == said.name && now.ended == said.ended) { continue; }
    out.add(FrameType::thread, ThreadRecord{static_cast<std::uint32_t>(index), now});
    said = now;
  }
}

void JournalChanges::add_series(FrameBuffer& out, const Snapshot& snapshot) {
  series_.resize(snapshot.series.size());
  for (std::size_t index = 0; index < snapshot.series.size(); ++index) {
    add_changed(out, FrameType::series, SeriesRecord{static_cast<std::uint32_t>(index), snapshot.series[index]},
                series_[index]);
  }
}

void JournalChanges::add_notes(FrameBuffer& out, FrameType type, const Notes& now, Notes& said) {
  for (const auto& [name, value] : now) {
    const auto [place, is_new] = said.try_emplace(name);
    if (!is_new && place->second == value) { continue; }
    out.add(type, NoteRecord{name, value});
    place->second = value;
  }
}

void JournalChanges::add_lists(FrameBuffer& out, const Snapshot& snapshot) {
  LossesRecord losses;
  for (const Loss& each : snapshot.losses) {
    if (each.what != "not_in_journal") { losses.losses.push_back(each); }  // the frame of that loss says that
  }
  add_changed(out, FrameType::losses, losses, losses_);
  add_changed(out, FrameType::devices, DevicesRecord{snapshot.devices}, devices_);
  add_changed(out, FrameType::time_lines, TimeLinesRecord{snapshot.time_lines}, time_lines_);
  add_changed(out, FrameType::groups, GroupsRecord{snapshot.run.groups}, groups_);
  add_changed(out, FrameType::clock_readings, ClockReadingsRecord{snapshot.clock_readings}, clock_readings_);
  if (open_ || !snapshot.open.empty()) { out.add(FrameType::open, OpenRecord{snapshot.open}); }
  open_ = !snapshot.open.empty();
}

/// Figures change with each sample: once in a while is enough, and at the end.
void JournalChanges::add_sampled(FrameBuffer& out, const Snapshot& snapshot) {
  add_changed(out, FrameType::meters, MetersRecord{snapshot.meters, snapshot.unsampled}, meters_);
  if (snapshot.meters.empty()) { return; }
  const bool due = snapshot.finished || snapshot.wall_ns - sampled_ns_ >= kSampledPeriodNs;
  if (!due) { return; }
  out.add(FrameType::sampled, SampledRecord{snapshot.meters, snapshot.step_energies, snapshot.region_energies});
  sampled_ns_ = snapshot.wall_ns;
}

void JournalChanges::add_gap(FrameBuffer& out, const GapRecord& gap) {
  const auto numbers = [](const GapRecord& of) {
    return std::tie(of.rows, of.metrics, of.unconfirmed, of.samples, of.changed, of.totals);
  };
  if (numbers(gap) == numbers(gap_)) { return; }
  out.add(FrameType::gap, gap);
  gap_ = gap;
}

}  // namespace detail
TAKT_END_NAMESPACE
