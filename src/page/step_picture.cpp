// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "page/step_picture.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "page/html_text.hpp"

#include <algorithm>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

// In units of the picture, which is as wide as there is room.
constexpr double kLeft = 72;
constexpr double kWidth = 880;
constexpr double kTop = 10;
constexpr double kHeight = 180;
constexpr std::size_t kMostColumns = 440;

struct StepColumn {
  std::uint64_t least_ns = ~std::uint64_t{0};
  std::uint64_t most_ns = 0;
};

std::vector<StepColumn> columns_of_picture(const std::vector<StepBlock>& blocks) {
  std::vector<StepColumn> columns(std::min(blocks.size(), kMostColumns));
  for (std::size_t at = 0; at < blocks.size(); ++at) {
    StepColumn& column = columns[at * columns.size() / blocks.size()];
    column.least_ns = std::min(column.least_ns, blocks[at].least_ns);
    column.most_ns = std::max(column.most_ns, blocks[at].most_ns);
  }
  return columns;
}

std::string label(double x, double y, const char* anchor, const std::string& text) {
  return detail::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"{}\">{}</text>", x, y, anchor, html_text(text));
}

}  // namespace

std::string step_picture(const PageSeries& series) {
  const std::vector<StepColumn> columns = columns_of_picture(series.blocks);
  const auto least = static_cast<double>(series.least_ns());
  const double most = std::max(static_cast<double>(series.most_ns()), least + 1);
  const auto y = [&](std::uint64_t ns) { return kTop + kHeight * (most - static_cast<double>(ns)) / (most - least); };
  std::string path;
  for (std::size_t at = 0; at < columns.size(); ++at) {
    const double x = kLeft + kWidth * (static_cast<double>(at) + 0.5) / static_cast<double>(columns.size());
    path += detail::format("{}{:.0f} {:.0f}L{:.0f} {:.0f}", at == 0 ? "M" : "L", x, y(columns[at].least_ns), x,
                           y(columns[at].most_ns));
  }
  const double bottom = kTop + kHeight;
  const std::string first_step = detail::format("{}", series.blocks.front().first_step);
  const std::string last_step = detail::format("{}", last_step_of(series.blocks.back()));
  const std::string what = detail::format("Step time from step {} to {}: between {} and {}", first_step, last_step,
                                          human_time(least), human_time(static_cast<double>(series.most_ns())));
  return detail::format(
             "<svg class=\"still\" viewBox=\"0 0 960 216\" role=\"img\" aria-label=\"{}\"><path class=\"axis\" "
             "d=\"M{} {}V{}H{}\"/><path class=\"steps\" d=\"{}\"/>",
             html_text(what), kLeft, kTop, bottom, kLeft + kWidth, path) +
         label(kLeft - 6, kTop + 10, "end", human_time(static_cast<double>(series.most_ns()))) +
         label(kLeft - 6, bottom, "end", human_time(least)) + label(kLeft, bottom + 20, "start", "step " + first_step) +
         label(kLeft + kWidth, bottom + 20, "end", last_step) + "</svg>\n";
}

}  // namespace detail
TAKT_END_NAMESPACE
