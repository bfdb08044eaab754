// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <list>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace takt_test {

/// The expected records of one thread, by the rules in docs/concepts.md and docs/decisions, computed slowly and
/// plainly. Every time step goes to the innermost open region, paths are lists of keys, and rows are differences of
/// sums. It shares no code with Takt. A region is named by an id that no other open region has.
class Oracle {
 public:
  __extension__ using Squares = unsigned __int128;
  using Key = std::uint64_t;
  using Path = std::vector<Key>;

  static constexpr Key kEpoch = 1;
  static constexpr Key kBatch = 2;
  static constexpr Key kNoKey = 0;
  static constexpr std::size_t kMaxDepth = 64;
  static constexpr std::size_t kMaxOpen = 3968;
  static constexpr std::size_t kMaxLate = 1024;
  static constexpr std::size_t kMaxPaths = 4095;
  static constexpr std::size_t kMaxColumns = 64;
  static constexpr std::uint64_t kWarmupBatches = 10;

  struct Durations {
    std::uint64_t n = 0, total = 0, max = 0, first = 0, warmup_n = 0, warmup_total = 0;
    std::uint64_t min = std::numeric_limits<std::uint64_t>::max();
    Squares squares = 0;

    void add(std::uint64_t ns, bool warmup) {
      if (n == 0) { first = ns; }
      ++n;
      total += ns;
      if (warmup) {
        ++warmup_n;
        warmup_total += ns;
        return;
      }
      min = std::min(min, ns);
      max = std::max(max, ns);
      squares += static_cast<Squares>(ns) * ns;
    }
  };
  struct Values {
    Durations host, device;
    std::uint64_t self = 0, items = 0, bytes = 0, skipped = 0;
    std::uint64_t given = 0;  // part of it from recorded durations
    std::uint64_t device_pending = 0, device_lost = 0;
    std::uint64_t away_n = 0, away_total = 0;  // ended here, started elsewhere: in no row

    std::uint64_t calls() const { return host.n - away_n; }
    std::uint64_t time() const { return host.total - away_total; }
    /// Time that counts once if calls are nested.
    std::uint64_t apart() const { return self + given; }
  };
  struct Cell {
    std::uint64_t calls = 0;
    std::uint64_t host = 0;
    std::uint64_t device_calls = 0;
    std::uint64_t device = 0;
  };
  struct Row {
    Path batch;
    std::uint64_t begin = 0, end = 0, items = 0;
    std::int64_t period = -1;
    bool warmup = false;
    bool complete = true;
    std::map<Path, Cell> cells;
    Cell rest;
  };
  struct Throughput {
    std::uint64_t steps = 0, items = 0, period = 0, excluded_steps = 0, excluded = 0;
  };
  struct Series {
    Row open;  // device values of the unfinished step
    std::vector<Path> columns;
    std::map<Path, std::pair<std::uint64_t, std::uint64_t>>
        before;  // calls and time (of the rest: apart()) at the last row
    std::uint64_t items_before = 0;
    bool has_last = false;
    std::uint64_t last_end = 0;
    Throughput throughput;
    std::vector<Row> rows;
    std::uint64_t warmup_steps = 0;
  };
  /// A pending device span.
  struct Span {
    Path path;
    bool warmup = false;
    std::uint64_t ns = 0;
    Series* series = nullptr;
    std::size_t row = 0;  // row index in the series; the row may not exist yet
  };

  // Events of the thread. Times must not decrease.

  void begin(std::uint32_t id, Key key, std::uint64_t now) {
    pass(now);
    if (frames() >= kMaxOpen) {
      lose("overflow", key);
      if (!has_deep()) {
        Region deep;
        deep.overflow = deep.deep = true;
        deep.begin = now;
        push(deep);
      }
      if (deep_.size() < kMaxDepth) {
        deep_[id] = key;
      } else {
        ++deeper_;
      }
      return;
    }
    Region region;
    region.id = id;
    region.key = key;
    region.begin = now;
    region.overflow = !place(key, region.path);
    if (region.overflow) {
      lose("overflow", key);
    } else if (key == kEpoch) {
      boundary_ = true;
    } else if (key == kBatch && !step_open_) {
      step_open_ = true;
      step_ = id;
      step_path_ = region.path;
      step_begin_ = now;
      warm_ = values_[region.path].calls() < kWarmupBatches;
    }
    push(region);
  }

  void end(std::uint32_t id, std::uint64_t now) {
    pass(now);
    auto at = find(id);
    if (at == open_.end()) {
      if (end_late(id, now, true)) { return; }
      if (!end_deep(id)) {
        lose("end_without_start", kNoKey);
      } else if (!has_deep()) {
        close(find_deep(), now);
      }
      return;
    }
    close(at, now);
  }

  /// The region has ended on another thread: drop it as if it had never started.
  void leave(std::uint32_t id, std::uint64_t now) {
    pass(now);
    auto at = find(id);
    if (at == open_.end()) {
      if (end_late(id, now, false) || !end_deep(id) || has_deep()) { return; }
      at = find_deep();
    }
    if (at == open_.begin()) {
      covered_ -= at->self;
    } else {
      std::prev(at)->self += at->self;
    }
    const Region region = *at;
    const bool step = is_step(region);
    open_.erase(at);
    lose_left_step(now);
    end_role(region, now, false);
    if (step) { step_ended(); }
  }

  /// A region of another thread, started at `path` there, has ended here. Returns true if it was recorded.
  bool end_elsewhere(const Path& path, bool overflow, std::uint64_t length) {
    Path here;
    for (std::size_t level = 0; level < path.size() && !overflow; ++level) {
      overflow = !place_below(here, path[level], here);
    }
    Values& values = overflow ? overflow_ : values_[here];
    values.host.add(length, warm_);
    ++values.away_n;
    values.away_total += length;
    lose("ended_elsewhere", path.empty() ? kNoKey : path.back());
    return !overflow;
  }
  /// The same for a region that was too deep there: its start is unknown.
  void end_deep_elsewhere() { lose("ended_elsewhere", kNoKey); }
  /// Returns its device span, which is in no row.
  Span* device_end_elsewhere(const Path& path, bool placed, std::uint64_t device_ns) {
    if (!placed) {
      lose("device_skipped", kNoKey);
      return nullptr;
    }
    ++values_[path].device_pending;
    spans_.push_back(Span{path, false, device_ns, nullptr, 0});
    return &spans_.back();
  }
  /// The buffer was full at its start.
  void refused(Key key) { lose("no_place", key); }

  /// Drops a region that had started on a device.
  void device_given_up(std::uint32_t id) {
    const Region* const region = find_late(id);
    lose("device_skipped", region == nullptr || region->overflow ? kNoKey : region->key);
  }
  void skip(Key key) {
    Path path;
    const bool placed = place(key, path);
    ++(placed ? values_[path] : overflow_).skipped;
    if (placed && key == kBatch && !step_open_) { boundary_ = true; }
  }
  void add(Key key, std::uint64_t length) {
    Path path;
    const bool placed = place(key, path);
    if (!placed) { lose("overflow", key); }
    Values& values = placed ? values_[path] : overflow_;
    values.host.add(length, warm_);
    values.given += length;
  }
  void items(std::uint32_t id, std::uint64_t count, bool bytes) {
    const Region* const at = find_late(id);
    if (at == nullptr && !has_deep()) { return; }
    Values& values = at == nullptr || at->overflow ? overflow_ : values_[at->path];
    (bytes ? values.bytes : values.items) += count;
  }
  void bad_amount(std::uint32_t id) {
    const Region* const at = find_late(id);
    const auto deep = deep_.find(id);
    lose("bad_amount", at != nullptr ? at->key : deep != deep_.end() ? deep->second : kNoKey);
  }

  /// Call before end() of a region that uses a device. Returns the pending span, or nullptr if there is none.
  Span* device_end(std::uint32_t id, bool marked, std::uint64_t device_ns, std::uint64_t now) {
    pass(now);
    const auto at = find(id);
    if (at == open_.end()) {
      if (find_late(id) == nullptr && has_deep()) { lose("device_skipped", kNoKey); }
      return nullptr;
    }
    Series* series = nullptr;
    if (step_open_ && !at->overflow && begins_with(at->path, step_path_)) { series = &series_of(step_path_); }
    if (at->overflow || !marked) {
      lose("device_skipped", at->overflow ? kNoKey : at->key);
      if (series != nullptr) { series->open.complete = false; }
      return nullptr;
    }
    Span span;
    span.path = at->path;
    const auto step = find(step_);
    const bool is_around = step_open_ && step != open_.end() &&
                           std::count(step->around.begin(), step->around.end(), std::make_pair(at->serial, true)) != 0;
    span.warmup = warm_ && !is_around;  // false: the step is lost
    span.ns = device_ns;
    span.series = series;
    span.row = series == nullptr ? 0 : series->rows.size();
    ++values_[at->path].device_pending;
    spans_.push_back(span);
    return &spans_.back();
  }
  enum class Outcome { ready, failed, unresolved };
  void device_done(Span* span, Outcome outcome) {
    Values& values = values_[span->path];
    --values.device_pending;
    Row* row = nullptr;
    if (span->series != nullptr) {
      Series& series = *span->series;
      row = span->row < series.rows.size() ? &series.rows[span->row] : &series.open;
    }
    if (outcome == Outcome::ready) {
      values.device.add(span->ns, span->warmup);
      if (row != nullptr) {
        Cell& cell = row->cells[span->path];
        ++cell.device_calls;
        cell.device += span->ns;
      }
    } else {
      ++values.device_lost;
      lose(outcome == Outcome::failed ? "device_failed" : "device_unresolved", span->path.back());
      if (row != nullptr) { row->complete = false; }
    }
    for (auto at = spans_.begin(); at != spans_.end(); ++at) {
      if (&*at == span) {
        spans_.erase(at);
        return;
      }
    }
  }

  // Queries.

  void pass(std::uint64_t now) {
    if (!open_.empty()) {
      open_.back().self += now - now_;
      covered_ += now - now_;
    }
    now_ = now;
  }
  std::size_t frames() const { return open_.size(); }
  bool is_open(std::uint32_t id) { return find_late(id) != nullptr; }
  /// Dropped as forgotten, but may still end.
  bool is_late(std::uint32_t id) { return find(id) == open_.end() && find_late(id) != nullptr; }
  const std::vector<std::uint32_t>& given_up() const { return given_up_; }
  /// Returns the regions dropped since the last call.
  std::vector<std::uint32_t> take_given_up() { return std::exchange(given_up_, {}); }
  bool has_deep() const { return !deep_.empty() || deeper_ != 0; }
  bool is_deep(std::uint32_t id) const { return deep_.count(id) != 0 || deeper_ != 0; }
  bool step_open() const { return step_open_; }
  const Path& path_of(std::uint32_t id) { return find_late(id)->path; }
  bool in_overflow(std::uint32_t id) { return find_late(id)->overflow; }
  std::uint64_t begin_of(std::uint32_t id) { return find_late(id)->begin; }
  /// Returns the ids of open regions, outermost first; 0 represents all that are too deep.
  std::vector<std::uint32_t> open_ids() const {
    std::vector<std::uint32_t> ids;
    for (const Region& region : open_) { ids.push_back(region.id); }
    return ids;
  }
  /// Returns the time that regions cover, up to the start of the outermost open one.
  std::uint64_t covered() const { return covered_ - (open_.empty() ? 0 : now_ - open_.front().begin); }
  const std::map<Path, Values>& values() const { return values_; }
  const Values& overflow() const { return overflow_; }
  const std::vector<Path>& paths() const { return paths_; }
  const std::map<std::pair<std::string, Key>, std::uint64_t>& losses() const { return losses_; }
  const std::map<Path, Series>& series() const { return series_; }
  std::list<Span>& spans() { return spans_; }

 private:
  struct Region {
    std::uint32_t id = 0;
    Key key = 0;
    Path path;
    bool overflow = false;
    bool deep = false;
    std::uint64_t begin = 0;
    std::uint64_t self = 0;
    bool is_left_for_a_step = false;
    std::uint64_t serial = 0;
    std::vector<std::pair<std::uint64_t, bool>> around;  // serials of enclosing regions, outermost first; has a role
  };
  using Regions = std::list<Region>;

  static bool begins_with(const Path& path, const Path& start) {
    return path.size() >= start.size() && std::equal(start.begin(), start.end(), path.begin());
  }
  Regions::iterator find(std::uint32_t id) {
    return std::find_if(open_.begin(), open_.end(),
                        [&](const Region& region) { return !region.deep && region.id == id; });
  }
  Regions::iterator find_deep() {
    return std::find_if(open_.begin(), open_.end(), [](const Region& region) { return region.deep; });
  }
  bool end_deep(std::uint32_t id) {
    if (deep_.erase(id) != 0) { return true; }
    if (deeper_ == 0) { return false; }
    --deeper_;
    return true;
  }
  const Region* find_late(std::uint32_t id) {
    if (const auto at = find(id); at != open_.end()) { return &*at; }
    for (const Region& region : late_) {
      if (region.id == id) { return &region; }
    }
    return nullptr;
  }
  bool is_step(const Region& region) const { return step_open_ && !region.deep && region.id == step_; }
  void lose(const std::string& what, Key key) { ++losses_[{what, key}]; }

  /// Finds the path that a region of `key` would get now. Returns false for the overflow.
  bool place(Key key, Path& path) {
    const auto around = innermost();
    if (around == open_.end()) { return place_at({}, key, path); }
    return !around->overflow && place_at(around->path, key, path);
  }
  static bool has_role(const Path& path) { return path.back() == kBatch || path.back() == kEpoch; }
  /// Finds the path below `parent`. At the maximum length it is the innermost place with this key.
  bool place_at(const Path& parent, Key key, Path& path) {
    if (parent.size() < kMaxDepth) { return place_below(parent, key, path); }
    for (Path around = parent; !around.empty(); around.pop_back()) {
      if (around.back() == key) {
        path = around;
        return true;
      }
      if (has_role(around)) { break; }
    }
    return false;
  }
  static bool has_role(const Region& region) { return region.overflow || region.key == kBatch || region.key == kEpoch; }
  /// Returns true if an enclosing region has ended. Beyond a Batch or an Epoch only their ends count.
  bool is_left(const Region& region) const {
    bool inside_role = has_role(region);
    for (auto each = region.around.rbegin(); each != region.around.rend(); ++each) {
      const auto [serial, role] = *each;
      const bool is_open = std::any_of(open_.begin(), open_.end(),
                                       [serial = serial](const Region& other) { return other.serial == serial; });
      if (!is_open && (role || !inside_role)) { return true; }
      inside_role = inside_role || role;
    }
    return false;
  }
  /// Returns the innermost region that is not left, or end().
  Regions::iterator innermost() {
    for (auto at = open_.end(); at != open_.begin();) {
      if (!is_left(*--at)) { return at; }
    }
    return open_.end();
  }
  void push(Region region) {
    if (const auto around = innermost(); around != open_.end()) {
      region.around = around->around;
      region.around.emplace_back(around->serial, has_role(*around));
    }
    region.serial = ++last_serial_;
    open_.push_back(region);
  }
  /// A Batch that outlives an enclosing region is no step.
  void lose_left_step(std::uint64_t now) {
    if (!step_open_) { return; }
    const auto step = find(step_);
    if (step != open_.end() && is_left(*step)) {
      end_role(*step, now, false);
      given_up_.push_back(0);  // so that the caller folds
    }
  }
  /// A step has ended: drops regions that were left before the previous step ended.
  void step_ended() {
    std::vector<std::uint64_t> left;
    for (auto at = open_.rbegin(); at != open_.rend(); ++at) {
      if (is_left(*at)) { left.push_back(at->serial); }
    }
    for (const std::uint64_t serial : left) {
      const auto at =
          std::find_if(open_.begin(), open_.end(), [&](const Region& each) { return each.serial == serial; });
      if (at->is_left_for_a_step) {
        give_up(at);
      } else {
        at->is_left_for_a_step = true;
      }
    }
  }

  void give_up(Regions::iterator at) {
    Region region = *at;
    if (at == open_.begin()) {
      covered_ -= at->self;
    } else {
      std::prev(at)->self += at->self;
    }
    open_.erase(at);
    const Key key = region.overflow ? kNoKey : region.key;
    losses_[{"never_ended", key}] += region.deep ? deep_.size() + deeper_ : 1;
    if (region.deep) {
      deep_.clear();
      deeper_ = 0;
    } else {
      if (late_.size() == kMaxLate) { late_.erase(late_.begin()); }
      late_.push_back(region);
      given_up_.push_back(region.id);
    }
  }

  bool end_late(std::uint32_t id, std::uint64_t now, bool here) {
    for (auto at = late_.begin(); at != late_.end(); ++at) {
      if (at->id != id) { continue; }
      const Region region = *at;
      late_.erase(at);
      const Key key = region.overflow ? kNoKey : region.key;
      --losses_[{"never_ended", key}];
      if (!here) { return true; }
      lose("ended_late", key);
      Values& values = region.overflow ? overflow_ : values_[region.path];
      values.host.add(now - region.begin, warm_);
      ++values.away_n;
      values.away_total += now - region.begin;
      return true;
    }
    return false;
  }

  bool place_below(const Path& parent, Key key, Path& path) {
    Path wanted = parent;
    wanted.push_back(key);
    if (known_.count(wanted) == 0) {
      if (paths_.size() == kMaxPaths || wanted.size() > kMaxDepth) { return false; }
      known_.insert(wanted);
      paths_.push_back(wanted);
      values_[wanted];
    }
    path = wanted;
    return true;
  }

  void close(Regions::iterator at, std::uint64_t now) {
    const Region region = *at;
    const bool step = is_step(region);
    open_.erase(at);
    lose_left_step(now);
    Values& values = region.overflow ? overflow_ : values_[region.path];
    values.self += region.self;
    values.host.add(now - region.begin, warm_);
    end_role(region, now, true);
    if (step) { step_ended(); }
  }

  void end_role(const Region& region, std::uint64_t now, bool timed) {
    if (region.overflow) { return; }
    if (region.key == kEpoch) { boundary_ = true; }
    if (region.key != kBatch || !step_open_ || region.id != step_) { return; }
    step_open_ = false;
    const bool warmup = warm_;
    warm_ = false;
    Series& series = series_of(step_path_);
    if (timed) {
      finish_row(series, now, warmup);
    } else {  // no row, and no period for the next step
      rebase(series);
      lost_row(series);
      last_series_ = nullptr;
    }
  }

  Series& series_of(const Path& batch) { return series_[batch]; }

  void find_columns(Series& series, const Path& batch) {
    series.columns.clear();
    for (const Path& path : paths_) {
      if (path.size() > batch.size() && begins_with(path, batch)) { series.columns.push_back(path); }
    }
  }

  void finish_row(Series& series, std::uint64_t now, bool warmup) {
    Row row = series.open;
    series.open = Row{};
    row.batch = step_path_;
    row.begin = step_begin_;
    row.end = now;
    row.warmup = warmup;
    row.items = values_[step_path_].items - series.items_before;
    const bool boundary = boundary_ || last_series_ != &series;
    if (series.has_last && !boundary) { row.period = static_cast<std::int64_t>(now - series.last_end); }
    if (warmup) {
      ++series.warmup_steps;
    } else if (series.has_last && boundary) {
      ++series.throughput.excluded_steps;
      series.throughput.excluded += now - series.last_end;
    } else if (series.has_last) {
      ++series.throughput.steps;
      series.throughput.period += now - series.last_end;
      series.throughput.items += row.items;
    }
    gains(series, row);
    rebase(series);
    series.has_last = true;
    series.last_end = now;
    boundary_ = false;
    last_series_ = &series;
    series.rows.push_back(row);
  }

  void gains(Series& series, Row& row) {
    find_columns(series, row.batch);
    for (std::size_t index = 0; index < series.columns.size(); ++index) {
      const Path& path = series.columns[index];
      const Values& values = values_[path];
      const auto [calls, time] = series.before[path];
      const std::uint64_t gained = values.calls() - calls;
      if (index < kMaxColumns) {
        if (gained == 0) { continue; }
        row.cells[path].calls = gained;
        row.cells[path].host = values.time() - time;
      } else {
        row.rest.calls += gained;
        row.rest.host += values.apart() - time;
      }
    }
  }

  void rebase(Series& series) {
    find_columns(series, step_path_);
    for (std::size_t index = 0; index < series.columns.size(); ++index) {
      const Values& values = values_[series.columns[index]];
      series.before[series.columns[index]] = {values.calls(), index < kMaxColumns ? values.time() : values.apart()};
    }
    series.items_before = values_[step_path_].items;
  }

  /// Spans of a step without a row belong to no row.
  void lost_row(Series& series) {
    series.open = Row{};
    for (Span& span : spans_) {
      if (span.series == &series && span.row >= series.rows.size()) { span.series = nullptr; }
    }
  }

  Regions open_;
  std::list<Region> late_;  // dropped regions, oldest first
  std::vector<std::uint32_t> given_up_;
  std::uint64_t last_serial_ = 0;
  std::map<std::uint32_t, Key> deep_;  // open without a frame: some ids are known; any other end belongs to the rest
  std::uint64_t deeper_ = 0;
  std::uint64_t now_ = 0;
  std::uint64_t covered_ = 0;
  std::map<Path, Values> values_;
  Values overflow_;
  std::vector<Path> paths_;  // in order of first use
  std::set<Path> known_;
  std::map<std::pair<std::string, Key>, std::uint64_t> losses_;
  std::map<Path, Series> series_;
  std::list<Span> spans_;
  bool step_open_ = false;
  std::uint32_t step_ = 0;
  Path step_path_;
  std::uint64_t step_begin_ = 0;
  bool warm_ = false;
  bool boundary_ = false;
  const Series* last_series_ = nullptr;
};

}  // namespace takt_test
