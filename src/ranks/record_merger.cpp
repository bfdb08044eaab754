// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/encoding.hpp"
#include "base/summary_coding.hpp"
#include "ranks/packed_record.hpp"
#include "ranks/record_coding.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// Reads the paths of a record in order.
class RecordReader {
 public:
  explicit RecordReader(std::string_view record) : decoder_(unseal(kRankSeal, record)) {}

  Decoder& values() noexcept { return decoder_; }
  void begin_paths() {
    decoder_.number(left_);
    next();
  }
  bool has_path() const noexcept { return has_path_; }
  /// Encoded number of names, and the names.
  std::string_view spelled_name() const noexcept { return spelled_; }
  const std::vector<std::string_view>& name() const noexcept { return name_; }

  /// Advances to the next path. REQUIRES: all values of the current path have been read.
  void next() {
    has_path_ = decoder_.ok() && left_ != 0;
    if (!has_path_) {
      if (!decoder_.ok() || decoder_.more()) { refuse_values(); }
      return;
    }
    --left_;
    name_.swap(before_);
    name_.clear();
    const std::string_view from = decoder_.left();
    decoder_.list(name_, [](Decoder& inner, std::string_view& each) { inner.text(each); });
    if (!decoder_.ok()) { refuse_values(); }
    spelled_ = from.substr(0, from.size() - decoder_.left().size());
    if (!before_.empty() && !(before_ < name_)) { refuse_order(); }
  }

 private:
  Decoder decoder_;
  std::uint64_t left_ = 0;
  bool has_path_ = false;
  std::string_view spelled_;
  std::vector<std::string_view> name_;
  std::vector<std::string_view> before_;
};

/// Merges two records.
class RecordMerger {
 public:
  RecordMerger(std::string_view a, std::string_view b) : a_(a), b_(b) {}

  std::string merged() {
    out_.reserve(256);
    add_spreads();
    std::string head;
    head.swap(out_);
    out_.reserve(a_.values().left().size() + b_.values().left().size());
    a_.begin_paths();
    b_.begin_paths();
    std::uint64_t count = 0;
    for (; a_.has_path() || b_.has_path(); ++count) {
      const int order = order_of_next();
      if (order < 0) { copy(a_); }
      if (order > 0) { copy(b_); }
      if (order == 0) { add_paths(); }
    }
    Encoder(head).number(count);
    return seal(kRankSeal, head + out_);
  }

 private:
  /// Returns which record has the next path: < 0 for a_, > 0 for b_, 0 for both.
  int order_of_next() const {
    if (!a_.has_path()) { return 1; }
    if (!b_.has_path()) { return -1; }
    if (a_.spelled_name() == b_.spelled_name()) { return 0; }
    return a_.name() < b_.name() ? -1 : 1;
  }

  void copy(RecordReader& from) {
    const std::string_view name = from.spelled_name();
    const std::string_view values = from.values().left();
    pass_over(from.values());
    // Name and values are contiguous.
    out_.append(name.data(), name.size() + values.size() - from.values().left().size());
    from.next();
  }
  /// Skips one path.
  static void pass_over(Decoder& in) {
    Kind kind = Kind::other;
    in.kind(kind);
    pass_over_summary(in);
    bool has_device = false;
    in.number(has_device);
    if (has_device) { pass_over_summary(in); }
  }
  static void pass_over_summary(Decoder& in) {
    SummaryScalars numbers;
    RankSpread spread;
    std::uint64_t unbinned = 0;
    std::string_view counts;
    visit_summary(in, numbers, counts);
    visit_spread(in, spread, unbinned, counts);
  }

  void add_paths() {
    encoder_.spelled(a_.spelled_name());
    Kind one = Kind::other;
    Kind other = Kind::other;
    a_.values().kind(one);
    b_.values().kind(other);
    encoder_.kind(std::min(one, other));
    add_summaries();
    add_devices();
    a_.next();
    b_.next();
  }
  void add_summaries() {
    add_numbers();
    add_spreads();
  }
  void add_numbers() {
    SummaryScalars numbers;
    std::string_view a;
    std::string_view b;
    visit_summary(a_.values(), numbers, a);
    SummaryAccess::set_scalars(sum_, numbers);
    visit_summary(b_.values(), numbers, b);
    SummaryAccess::set_scalars(more_, numbers);
    sum_.merge(more_);
    numbers = SummaryAccess::scalars(sum_);
    std::string_view counts = added(a, b);
    visit_summary(encoder_, numbers, counts);
  }
  void add_spreads() {
    std::uint64_t unbinned = 0;
    std::uint64_t more_unbinned = 0;
    std::string_view a;
    std::string_view b;
    visit_spread(a_.values(), spread_, unbinned, a);
    visit_spread(b_.values(), more_spread_, more_unbinned, b);
    merge_into(spread_, more_spread_);
    unbinned += more_unbinned;
    std::string_view counts = added(a, b);
    visit_spread(encoder_, spread_, unbinned, counts);
  }
  /// Adds the device parts, which either record may lack.
  void add_devices() {
    bool one = false;
    bool other = false;
    a_.values().number(one);
    b_.values().number(other);
    encoder_.number(one || other);
    if (one && other) { return add_summaries(); }
    if (!one && !other) { return; }
    Decoder& from = one ? a_.values() : b_.values();
    const std::string_view values = from.left();
    pass_over_summary(from);
    encoder_.spelled(values.substr(0, values.size() - from.left().size()));
  }

  std::string_view added(std::string_view a, std::string_view b) {
    counts_.clear();
    if (!add_counts(a, b, counts_)) { refuse_counts(); }
    return counts_;
  }

  RecordReader a_;
  RecordReader b_;
  std::string out_;
  Encoder encoder_{out_};
  std::string counts_;
  // Without histograms, whose counts are added as bytes.
  Summary sum_;
  Summary more_;
  RankSpread spread_;
  RankSpread more_spread_;
};

}  // namespace

std::string merge_records(std::string_view a, std::string_view b) { return RecordMerger(a, b).merged(); }

std::uint64_t ranks_in(std::string_view record) {
  Decoder decoder(unseal(kRankSeal, record));
  RankSpread wall;
  std::uint64_t unbinned = 0;
  std::string_view counts;
  visit_spread(decoder, wall, unbinned, counts);
  if (!decoder.ok()) { refuse_values(); }
  return wall.ranks;
}

}  // namespace detail
TAKT_END_NAMESPACE
