// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "http/http.hpp"
#include "trackers/metric_points.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Which points of a request a server has already, where nobody knows what became of the request: a server without a
/// database (the file store) would keep what it is sent again twice. One question tells the latest point of each key,
/// which mostly settles it; the history of a key is asked for where it does not. One thread at a time.
class MlflowReadBack {
 public:
  /// \param one_request they were sent together, in this order, of which servers keep to. Otherwise it is not known how
  /// they were sent, if at all.
  void begin(std::vector<MetricPoint> points, const MetricPoints& names, bool one_request);
  /// There is something to ask.
  bool busy() const noexcept { return busy_; }
  /// REQUIRES: busy().
  HttpRequest request(const std::string& run_id) const;
  /// What the server said to it. False where that is no JSON, as of a page to log in: nothing has changed.
  bool answered(const std::string& body);
  /// It will not say: what is not known to be there counts as absent.
  void give_up() noexcept { busy_ = false; }
  /// For each point, in order.
  const std::vector<bool>& there() const noexcept { return there_; }

 private:
  /// Step, time and value, and whether that is no number: "latest" is the largest of these.
  using Place = std::tuple<std::int64_t, std::int64_t, double, bool>;
  using Places = std::vector<std::size_t>;

  bool latest(const std::string& body);
  void compare(const std::string& key, const Places& at, const Place& latest);
  bool history(const std::string& body);
  static Place place_of(std::int64_t step, std::int64_t timestamp_ms, double value);
  Place place_of(std::size_t at) const;

  std::vector<MetricPoint> points_;
  std::vector<bool> there_;
  std::map<std::string, Places> keys_;
  std::deque<std::string> histories_;  // to ask for
  std::string page_;                   // of the first of these
  bool one_request_ = false;
  bool latest_known_ = false;
  bool busy_ = false;
};

}  // namespace detail
TAKT_END_NAMESPACE
