// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/progress.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "report/epochs.hpp"
#include "report/notes.hpp"

#include <algorithm>
#include <string_view>

#include <poll.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::chrono::seconds kTerminalPeriod(1);
constexpr std::chrono::seconds kLinePeriod(60);
constexpr const char* kBlankLine = "\r\x1b[K";
constexpr std::string_view kEpochPrefix = "epoch/";

}  // namespace

void Progress::add(const Snapshot& snapshot, const std::vector<Row>& rows, const std::vector<Metric>& metrics,
                   Time now) {
  for (const Row& row : rows) {
    const std::int64_t end = row.begin_ns + row.host_ns;
    if (from_ns_ < 0) { from_ns_ = row.begin_ns; }
    step_ = std::max(step_, row.step);
    to_ns_ = std::max(to_ns_, end);
    items_ += static_cast<double>(row.items);
    ++steps_;
  }
  for (const Metric& metric : metrics) {
    if (metric.name.compare(0, kEpochPrefix.size(), kEpochPrefix) == 0) { continue; }
    const auto known =
        std::find_if(metrics_.begin(), metrics_.end(), [&](const auto& each) { return each.first == metric.name; });
    if (known != metrics_.end()) {
      known->second = metric.value;
    } else if (metrics_.size() < kMaxMetrics) {
      metrics_.emplace_back(metric.name, metric.value);
    }
  }
  const std::string unit = item_unit(snapshot);
  for (; epochs_ < snapshot.epochs.size(); ++epochs_) {
    write((terminal_ ? kBlankLine : "") +
          detail::format("epoch {}: {}\n", epochs_, epoch_text(snapshot.epochs[epochs_], unit)));
    has_line_ = false;
  }
  if (next_ == Time{}) { next_ = now + kTerminalPeriod; }
  if (now < next_ || steps_ == 0) { return; }
  next_ = now + (terminal_ ? kTerminalPeriod : kLinePeriod);
  const std::string text = line(snapshot, unit);
  has_line_ = write(terminal_ ? kBlankLine + wrap(text, columns_ - 1).front() : text + "\n") || has_line_;
}

std::string Progress::line(const Snapshot& snapshot, const std::string& unit) {
  std::string text;
  const std::uint64_t ended = snapshot.epochs.size() + snapshot.epochs_left_out;
  const bool in_epoch = std::any_of(snapshot.open.begin(), snapshot.open.end(), [&](const OpenRegion& each) {
    return each.path < snapshot.paths.size() && snapshot.paths[each.path].name == Epoch.name();
  });
  if (in_epoch || ended != 0) { text += detail::format("epoch {}, ", in_epoch ? ended : ended - 1); }
  text += "step " + human_count(static_cast<std::uint64_t>(std::max<std::int64_t>(step_, 0)));
  if (const double seconds = 1e-9 * static_cast<double>(to_ns_ - from_ns_); seconds > 0) {
    text += items_ > 0 ? detail::format(", {} {}/s", human_rate(items_ / seconds), unit)
                       : detail::format(", {} steps/s", human_rate(steps_ / seconds));
  }
  for (const auto& [name, value] : metrics_) { text += detail::format(", {} {:.4g}", printable(name), value); }
  text += ", " + human_time(static_cast<double>(snapshot.wall_ns));
  from_ns_ = to_ns_;
  items_ = 0;
  steps_ = 0;
  return text;
}

void Progress::finish() noexcept {
  if (!terminal_ || !has_line_) { return; }
  pollfd ready = {file_, POLLOUT, 0};
  if (::poll(&ready, 1, 0) == 1) { static_cast<void>(::write(file_, kBlankLine, std::string_view(kBlankLine).size())); }
  has_line_ = false;
}

/// Writes a text that fits into a pipe's atomic write, if the reader has space for it now.
bool Progress::write(const std::string& text) noexcept {
  constexpr std::size_t kMaxBytes = 4096;  // PIPE_BUF of Linux
  pollfd ready = {file_, POLLOUT, 0};
  if (text.size() > kMaxBytes || ::poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0) { return false; }
  return ::write(file_, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace detail
TAKT_END_NAMESPACE
