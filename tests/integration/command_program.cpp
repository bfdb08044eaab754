// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Leaves journals for the command `takt`. Logs what it has started in its own file, which survives a kill.
//   command_program endless <log>: steps until it is killed; a step is logged before it ends
//   command_program hang: three steps, then stays in a region until it can read from standard input
//   command_program late: steps whose device values arrive with a line on standard input, except for the last step
//   command_program stage <number>: 60 steps of a pipeline stage, each of which works and waits
//   command_program faulty: 300 steps, half of each is IO, and every 50th saves; one region never ends
//   command_program names: regions whose names contain control sequences
#include <takt/backends/manual.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace {

/// A device with warnings for reports.
class Talkative : public takt::ManualBackend {
 public:
  static constexpr const char* name = "talkative";
  Talkative(takt::ManualClock& clock) noexcept  // NOLINT(google-explicit-constructor): as its base
      : ManualBackend(clock), clock_(&clock) {}
  static takt::DeviceReport report() noexcept {
    takt::DeviceReport report;
    report.unavailable = "its driver is \x1b[31mred";
    report.caveat = "it \"says\" so";
    report.skips[0] = {"device_skipped", 3};
    return report;
  }
  takt::StreamRef stream() const noexcept { return {&takt::device_ops<Talkative, takt::ManualClock>, clock_}; }

 private:
  takt::ManualClock* clock_;
};

}  // namespace

template <>
struct takt::StreamTraits<Talkative> {
  static takt::StreamRef ref(const Talkative& backend) noexcept { return backend.stream(); }
};

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

/// Uses poll() because ThreadSanitizer defers signals while a thread is in read().
void wait_for_line() {
  char last = 0;
  ssize_t got = 1;
  while (got > 0 && last != '\n') {
    pollfd input = {STDIN_FILENO, POLLIN, 0};
    while (::poll(&input, 1, -1) < 0 && errno == EINTR) {}
    got = ::read(STDIN_FILENO, &last, 1);
  }
}

void hang(takt::Session& session) {
  for (int number = 0; number < 3; ++number) { step(session, number); }
  const takt::Scope epoch(takt::Epoch);
  const takt::Scope batch(takt::Batch);
  const takt::Scope comm(takt::Comm);
  std::puts("ready");
  std::fflush(stdout);
  wait_for_line();
}

void say_and_wait(const char* word) {
  std::puts(word);
  std::fflush(stdout);
  wait_for_line();
}

void late() {
  static takt::ManualClock device;
  const auto timed_step = [] {
    const takt::Scope batch(takt::Batch);
    const takt::Scope comm(takt::Comm, Talkative(device));
    device.advance(std::chrono::milliseconds(5));
  };
  device.hold(true);
  for (int number = 0; number < 3; ++number) { timed_step(); }
  say_and_wait("ready");
  device.resolve_all();
  for (int number = 0; number < 5; ++number) {
    const takt::Scope batch(takt::Batch);
  }  // the values arrive when the regions end
  timed_step();
  say_and_wait("resolved");
}

void spin(std::chrono::microseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < until) {}
}

void stage(takt::Session& session, const std::string& number) {
  session.group("stage", std::stoi(number));
  session.param("micro_batches", 4);
  for (int step = 0; step < 60; ++step) {
    const takt::Scope batch(takt::Batch);
    {
      const takt::Scope forward(takt::Forward);
      spin(std::chrono::microseconds(number == "0" ? 100 : 400));
    }
    const takt::Scope comm(takt::Comm);
    spin(std::chrono::microseconds(100));
  }
}

void faulty() {
  auto timer = takt::Timer<takt::CpuBackend>::joined();
  for (int step = 0; step < 300; ++step) {
    const takt::Scope batch(takt::Batch);
    {
      const takt::Scope io(takt::IO);
      spin(std::chrono::microseconds(200));
    }
    const takt::Scope forward(takt::Forward);
    spin(std::chrono::microseconds(step % 50 == 49 ? 2'000 : 200));
    if (step == 100) { timer.start(takt::key("embed", takt::Kind::compute)); }
  }
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
  if (what == "late") { late(); }
  if (what == "stage" && count > 2) { stage(session, arguments[2]); }
  if (what == "faulty") { faulty(); }
  if (what == "names") { names(); }
  return 0;
}
