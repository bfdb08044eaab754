// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/screen.hpp"

#include "base/format.hpp"
#include "base/nanoseconds.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

// As all terminals of today have it; what one does not know it passes over. Alternate screen, no cursor, no wrapping.
constexpr const char* kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[H\x1b[2J";
constexpr const char* kLeave = "\x1b[?7h\x1b[?25h\x1b[?1049l";
// Between these two a terminal shows nothing of what changes.
constexpr const char* kBeginDrawing = "\x1b[?2026h\x1b[H";
constexpr const char* kEndDrawing = "\x1b[J\x1b[?2026l";
constexpr const char* kEndLine = "\x1b[K";

sigset_t taken_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int each : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH}) { ::sigaddset(&set, each); }
  return set;
}

std::size_t lines_of_terminal() {
  winsize size = {};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1 ? size.ws_row : 24;
}

void write_out(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

bool Screen::is_there() {
  const char* const term = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && term != nullptr && *term != '\0' && std::string_view(term) != "dumb";
}

Screen::Screen() {
  const sigset_t taken = taken_signals();
  ::sigprocmask(SIG_BLOCK, &taken, &mask_before_);
  enter();
}

Screen::~Screen() {
  leave();
  ::sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
}

void Screen::enter() {
  write_out(kEnter);
  entered_ = true;
}

void Screen::leave() {
  if (entered_) { write_out(kLeave); }
  entered_ = false;
}

void Screen::draw(const std::string& text) {
  const std::size_t room = lines_of_terminal();
  std::string out = kBeginDrawing;
  std::size_t line = 0;
  for (std::size_t at = 0; at < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (line + 1 < room) { out.append(text, at, end - at).append(kEndLine).append("\r\n"); }
    at = end + 1;
  }
  if (line >= room) { out += detail::format("{} more lines: a higher window shows them{}", line - room + 1, kEndLine); }
  write_out(out + kEndDrawing);
}

Screen::Event Screen::wait(std::chrono::nanoseconds longest) {
  const sigset_t taken = taken_signals();
  const auto ns = std::max<std::int64_t>(longest.count(), 0);
  const timespec time = {ns / detail::kSecondNs, ns % detail::kSecondNs};
  const int signal = ::sigtimedwait(&taken, nullptr, &time);
  if (signal < 0) { return Event::none; }
  if (signal == SIGWINCH) { return Event::resized; }
  if (signal == SIGTSTP) {
    suspend();
    return Event::resized;
  }
  stop_signal_ = signal;
  return Event::stop;
}

/// The shell gets its terminal as it was, until it wants this process on.
void Screen::suspend() {
  leave();
  ::kill(::getpid(), SIGSTOP);
  enter();
}

}  // namespace cli
TAKT_END_NAMESPACE
