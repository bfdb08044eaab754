// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/page.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <sys/ioctl.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr int kNarrowest = 40;
constexpr int kUnbroken = 1000;

}  // namespace

Page::Page(int width, bool color) : width_(static_cast<std::size_t>(std::max(width, kNarrowest))), color_(color) {}

void Page::add(const std::vector<std::string>& lines, Style style) {
  for (const std::string& line : lines) {
    for (const std::string& part : wrap(line, width_)) { print(part, style); }
  }
}

void Page::add_part(const std::vector<std::string>& lines, Style style) {
  if (lines.empty()) { return; }
  add(lines, style);
  gap();
}

void Page::print(const std::string& line, Style style) {
  const bool styled = color_ && style != Style::plain;
  text_ += styled ? (style == Style::bold ? "\x1b[1m" : "\x1b[2m") : "";
  text_ += line;
  text_ += styled ? "\x1b[0m\n" : "\n";
}

bool wants_color(std::FILE* stream, ConsoleOptions::Color color) {
  if (color != ConsoleOptions::Color::automatic) { return color == ConsoleOptions::Color::always; }
  const char* no_color = std::getenv("NO_COLOR");  // https://no-color.org: set and not empty
  const char* terminal = std::getenv("TERM");
  // Launchers of MPI give ranks a terminal of their own, and write what arrives there into a file, perhaps.
  for (const char* const launcher : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK"}) {
    if (std::getenv(launcher) != nullptr) { return false; }
  }
  return ::isatty(::fileno(stream)) == 1 && (no_color == nullptr || *no_color == '\0') &&
         (terminal == nullptr || std::strcmp(terminal, "dumb") != 0);
}

int width_of(std::FILE* stream, int wanted, int without_terminal) {
  winsize size = {};
  if (wanted == 0 && ::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0) { wanted = size.ws_col; }
  return wanted == 0 ? without_terminal : wanted;
}

Page page_on_stdout(const ConsoleOptions& drawn) {
  return {width_of(stdout, drawn.width, kUnbroken), wants_color(stdout, drawn.color)};
}

}  // namespace detail
TAKT_END_NAMESPACE
