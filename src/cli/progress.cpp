// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "progress.hpp"

#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

constexpr std::uint64_t kCells = 30;

}  // namespace

std::string progress_bar(std::uint64_t done, std::uint64_t whole) {
  const std::uint64_t part = std::min(done, whole);
  const double share = whole == 0 ? 1.0 : static_cast<double>(part) / static_cast<double>(whole);
  const auto full = static_cast<std::size_t>(share * static_cast<double>(kCells));
  return fmt::format("[{}{}] {:3.0f} %  {} of {} points", std::string(full, '#'), std::string(kCells - full, '.'),
                     100 * share, detail::human_count(part), detail::human_count(whole));
}

Progress::Progress(std::string label) : label_(std::move(label)), visible_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (drawn_) { std::fputs("\r\x1b[K", stderr); }
}

void Progress::show(std::uint64_t done, std::uint64_t whole) {
  if (!visible_) { return; }
  drawn_ = true;
  std::fprintf(stderr, "\r\x1b[K%s %s", label_.c_str(), progress_bar(done, whole).c_str());
}

}  // namespace cli
TAKT_END_NAMESPACE
