// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Leaves journals for the command `takt`. What it has begun it says in a log of its own, which no kill can take back.
//   command_program endless <log>: steps until it is killed; a step is in the log before it ends
//   command_program hang: three steps, then stays in a region until its standard input says more
//   command_program names: regions whose names no terminal should see as they are
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace {

void step(takt::Session& session, std::int64_t number) {
  takt::Scope batch(takt::Batch);
  { const takt::Scope io(takt::IO); }
  {
    const takt::Scope forward(takt::Forward);
    const takt::Scope comm(takt::Comm);
  }
  session.metric("number", static_cast<double>(number));
  batch.items(1);
}

void endless(takt::Session& session, const char* path) {
  const int log = ::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  for (std::int64_t number = 1; log >= 0; ++number) {
    // Not faster than rows are collected.
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(20);
    while (std::chrono::steady_clock::now() < until) {}
    if (::pwrite(log, &number, sizeof number, 0) != sizeof number) { return; }
    step(session, number);
    if (number == 1) {
      std::puts("ready");
      std::fflush(stdout);
    }
  }
}

void hang(takt::Session& session) {
  for (int number = 0; number < 3; ++number) { step(session, number); }
  const takt::Scope epoch(takt::Epoch);
  const takt::Scope batch(takt::Batch);
  const takt::Scope comm(takt::Comm);
  std::puts("ready");
  std::fflush(stdout);
  while (std::getchar() > '\n') {}
}

void names() {
  takt::name_thread("main\x1b[31m");
  const takt::Scope outer(takt::key("erase\x1b[2Jall", takt::Kind::compute));
  const takt::Scope inner(takt::key("two\nlines,\"quoted\"", takt::Kind::compute));
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count > 1 ? arguments[1] : "";
  takt::Session session("command");
  if (what == "endless" && count > 2) { endless(session, arguments[2]); }
  if (what == "hang") { hang(session); }
  if (what == "names") { names(); }
  return 0;
}
