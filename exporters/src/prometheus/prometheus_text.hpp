// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "trackers/tracker_names.hpp"

#include <takt/histogram.hpp>
#include <takt/snapshot.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Maximum number of series of a rank.
constexpr std::size_t kMaxPrometheusSeries = 200;
/// Maximum numbers of regions and of kinds of dropped data, so that a later one displaces no series.
constexpr std::size_t kMaxPrometheusRegions = 60;
constexpr std::size_t kMaxPrometheusLosses = 30;
constexpr std::size_t kMaxPrometheusTags = 16;
/// Time after the end of a run until its file is out of date.
constexpr std::int64_t kPrometheusExpiryNs = 600'000'000'000;

/// Returns a value of a label as it stands between its quotes: valid UTF-8, escaped. Any thread.
std::string prometheus_label(std::string_view value);
/// Returns a number in Prometheus's form. Any thread.
std::string prometheus_number(double value);
/// Returns the label of each tag, without duplicates: "tag_" and the name with '_' for all but letters and digits. Any
/// thread.
std::map<std::string, std::string> prometheus_tags(const std::map<std::string, std::string>& tags);

/// Formats snapshots as Prometheus's text format 0.0.4. Uses no clock. One thread at a time.
class PrometheusText {
 public:
  PrometheusText() { regions_.take_utf8(); }

  /// Takes the new rows of a snapshot, and returns the text of the run so far.
  /// \param now_ns time of the snapshot, in ns since 1970.
  std::string take(const Snapshot& snapshot, std::int64_t now_ns);
  /// Returns the number of regions, tags and kinds of dropped data that the last text leaves out.
  std::size_t left_out() const noexcept { return left_out_; }
  /// Returns the number of series in the last text.
  std::size_t series() const noexcept { return series_; }

 private:
  void family(const char* name, const char* type, const char* help);
  void sample(const std::string& labels, const std::string& value, const char* suffix = "");
  void one(const char* name, const char* type, const char* help, double value);
  void add_labels(const Snapshot& snapshot);
  void add_state(const Snapshot& snapshot, std::int64_t now_ns);
  void add_steps(const Snapshot& snapshot, std::int64_t now_ns);
  void add_regions(const Snapshot& snapshot);
  void add_losses(const Snapshot& snapshot);
  void see(const Row& row);

  TrackerNames regions_;  // unique, for labels
  Histogram periods_;     // from the end of a step to the end of the next
  bool has_step_ = false;
  std::int64_t last_step_ = 0;
  std::int64_t last_end_ns_ = 0;  // since the start of the run

  // State of the text under construction.
  std::string text_;
  std::string labels_;  // common to all series
  const char* name_ = "";
  std::size_t series_ = 0;
  std::size_t left_out_ = 0;
};

}  // namespace detail
TAKT_END_NAMESPACE
