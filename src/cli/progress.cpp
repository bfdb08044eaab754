// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/progress.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <sys/ioctl.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

constexpr std::uint64_t kCells = 30;

/// Of a terminal that can take a line away again.
bool has_bar() {
  const char* const term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && (term == nullptr || std::string_view(term) != "dumb");
}

std::size_t terminal_columns() {
  winsize size = {};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0 ? size.ws_col : 80;
}

}  // namespace

std::string progress_bar(std::uint64_t done, std::uint64_t whole) {
  const std::uint64_t part = std::min(done, whole);
  const double share = whole == 0 ? 1.0 : static_cast<double>(part) / static_cast<double>(whole);
  const auto full = static_cast<std::size_t>(share * static_cast<double>(kCells));
  return detail::format("[{}{}] {:3.0f} %  {} of {} points", std::string(full, '#'), std::string(kCells - full, '.'),
                        100 * share, detail::human_count(part), detail::human_count(whole));
}

Progress::Progress(std::string label) : label_(std::move(label)), visible_(has_bar()) {}

Progress::~Progress() {
  if (drawn_) { std::fputs("\r\x1b[K", stderr); }
}

void Progress::show(std::uint64_t done, std::uint64_t whole) {
  if (!visible_) { return; }
  drawn_ = true;
  // What is broken into two lines could not be taken away; some terminals break a line that is just full.
  const std::size_t columns = std::max<std::size_t>(terminal_columns(), 2) - 1;
  std::fprintf(stderr, "\r\x1b[K%s", detail::fit(label_ + " " + progress_bar(done, whole), columns).c_str());
}

}  // namespace cli
TAKT_END_NAMESPACE
