// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/report_error.hpp"

#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/child.hpp"
#include "support/mentions.hpp"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>

using namespace takt;
using detail::report_error;
using detail::report_error_at;
using detail::report_error_once;
using support::CaughtErrors;
using support::Child;

namespace {

constexpr std::int64_t kMinute = std::int64_t{60} * 1'000'000'000;
using Lines = std::vector<std::string>;
using takt_test::mentions;

/// Set to report an error after the destructors of static objects.
bool g_report_at_the_end = false;
[[gnu::destructor]] void report_at_the_end() {
  if (g_report_at_the_end) { report_error("late", "told late"); }
}

/// Redirects stderr into a pipe that keeps writes separate.
class CaughtStderr {
 public:
  CaughtStderr() : before_(::dup(STDERR_FILENO)) {
    detail::forget_errors();
    int ends[2] = {-1, -1};
    REQUIRE(::pipe2(ends, O_DIRECT | O_NONBLOCK) == 0);
    read_end_ = ends[0];
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[1]);
  }
  ~CaughtStderr() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
    ::close(read_end_);
  }
  Lines writes() {
    Lines all;
    char bytes[8192];
    for (ssize_t count = 0; (count = ::read(read_end_, bytes, sizeof bytes)) > 0;) {
      all.emplace_back(bytes, static_cast<std::size_t>(count));
    }
    return all;
  }

 private:
  int before_;
  int read_end_ = -1;
};

}  // namespace

TEST_CASE("Error keeps the message it was given") {
  try {
    throw Error("there is a Session");
  } catch (const std::exception& error) { CHECK(std::string(error.what()) == "there is a Session"); }
}

TEST_CASE("without a handler an error is one line and one write on stderr") {
  CaughtStderr caught;
  report_error("disk", "no space left");
  CHECK(caught.writes() == Lines{"takt: no space left\n"});
}

TEST_CASE("a cause reports once in five minutes, then with the number of suppressed lines") {
  CaughtErrors caught;
  report_error_at("disk", "first", 0);
  report_error_at("disk", "second", 1);
  report_error_at("disk", "third", 5 * kMinute - 1);
  CHECK(caught.lines() == Lines{"first"});
  report_error_at("disk", "fourth", 5 * kMinute);
  report_error_at("disk", "fifth", 10 * kMinute);
  REQUIRE(caught.lines().size() == 3);
  CHECK(mentions(caught.lines()[1], {"fourth", "2"}));
  CHECK(caught.lines()[2] == "fifth");
}

TEST_CASE("causes do not suppress each other") {
  CaughtErrors caught;
  report_error_at("disk", "a", 0);
  report_error_at("network", "b", 0);
  CHECK(caught.lines() == Lines{"a", "b"});
}

TEST_CASE("causes beyond the 64th share one limit") {
  CaughtErrors caught;
  for (int cause = 0; cause < 1000; ++cause) { report_error_at("cause " + std::to_string(cause), "x", 0); }
  CHECK(caught.lines().size() == 65);
  report_error_at("cause 1000", "late", 5 * kMinute);
  CHECK(mentions(caught.lines().back(), {"late", "935"}));
}

TEST_CASE("a once-only error is never reported again") {
  CaughtErrors caught;
  report_error_once("environment", "first");
  report_error_once("environment", "second");
  report_error_at("environment", "third", std::int64_t{1} << 62U);
  CHECK(caught.lines() == Lines{"first"});
}

TEST_CASE("a once-only cause does not suppress others that share its limit") {
  CaughtErrors caught;
  for (int cause = 0; cause < 64; ++cause) { report_error_at("cause " + std::to_string(cause), "x", 0); }
  report_error_once("once", "shared");
  report_error_at("other", "later", std::int64_t{1} << 62U);
  CHECK(caught.lines().back() == "later");
}

TEST_CASE("an error stays on one line") {
  CaughtErrors caught;
  report_error("server", "a\nb\r\tc\x1b[2Jd\x7f\xC3\xBC");
  CHECK(caught.lines() == Lines{"a b  c [2Jd \xC3\xBC"});
}

TEST_CASE("an error line shows control characters, direction marks and invalid UTF-8 safely") {
  CaughtErrors caught;
  report_error("server",
               "a\xC2\x9B"
               "31mb\xE2\x80\xAE"
               "c\xFF");
  CHECK(caught.lines() == Lines{"a?31mb?c\xEF\xBF\xBD"});
}

TEST_CASE("a long line is cut between characters and keeps the number of suppressed lines") {
  CaughtErrors caught;
  std::string text(2047, 'x');
  text += "\xC3\xBC and more";
  report_error_at("server", text, 0);
  report_error_at("server", text, 1);
  report_error_at("server", text, 5 * kMinute);
  REQUIRE(caught.lines().size() == 2);
  CHECK(caught.lines()[0] == std::string(2047, 'x') + " ...");
  CHECK(caught.lines()[1].rfind(std::string(2047, 'x') + " ... ", 0) == 0);
  CHECK(mentions(caught.lines()[1].substr(2047), {"1"}));
}

TEST_CASE("a handler that throws is contained and its line goes to stderr") {
  CaughtStderr caught;
  set_error_handler([](const char*, void*) { throw std::runtime_error("handler"); });
  report_error("disk", "no space left");
  set_error_handler(nullptr);
  CHECK(caught.writes() == Lines{"takt: no space left\n"});
}

TEST_CASE("handler and context are replaced together, and nullptr restores the default") {
  CaughtStderr caught;
  std::string first;
  std::string second;
  const auto append = [](const char* line, void* text) { *static_cast<std::string*>(text) += line; };
  set_error_handler(append, &first);
  report_error("a", "1");
  set_error_handler(append, &second);
  report_error("b", "2");
  set_error_handler(append, &first);
  report_error("c", "3");
  set_error_handler(nullptr);
  report_error("d", "4");
  CHECK(first == "13");
  CHECK(second == "2");
  CHECK(caught.writes() == Lines{"takt: 4\n"});
}

TEST_CASE("a handler may report an error itself") {
  detail::forget_errors();
  std::string reported;
  set_error_handler(
      [](const char* line, void* text) {
        *static_cast<std::string*>(text) += line;
        report_error("inner", "[inner]");
      },
      &reported);
  report_error("outer", "[outer]");
  set_error_handler(nullptr);
  CHECK(reported == "[outer][inner]");
}

TEST_CASE("reporting an error keeps errno") {
  CaughtStderr caught;
  set_error_handler([](const char*, void*) { errno = EDOM; });
  errno = ENOSPC;
  report_error("disk", "no space left");
  CHECK(errno == ENOSPC);
  set_error_handler(nullptr);
}

TEST_CASE("concurrent errors: one is printed, the others are counted") {
  constexpr int kThreads = 2;
  constexpr int kRounds = 20'000;
  static std::atomic<std::uint64_t> spoken{0};
  static std::atomic<std::uint64_t> held_back{0};
  detail::forget_errors();
  set_error_handler([](const char* line, void*) {
    ++spoken;
    const char* const rest = std::strstr(line, "(and ");
    if (rest != nullptr) { held_back += std::strtoull(rest + 5, nullptr, 10); }
  });
  std::atomic<int> arrived{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&arrived] {
      for (int round = 0; round < kRounds; ++round) {
        int spins = 0;
        for (++arrived; arrived < (round + 1) * kThreads;) {
          if (++spins > 1000) { std::this_thread::yield(); }
        }
        report_error_at("disk", "x", round * 6 * kMinute);
      }
    });
  }
  for (std::thread& thread : threads) { thread.join(); }
  report_error_at("disk", "last", kRounds * 6 * kMinute);
  set_error_handler(nullptr);
  CHECK(spoken == kRounds + 1);
  CHECK(held_back == (kThreads - 1) * kRounds);
}

TEST_CASE("a child reports errors even if parent threads were reporting at the fork", "[timed]") {
  CaughtErrors caught;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&stop] {
      for (std::int64_t now = 0; !stop; now += 6 * kMinute) {
        report_error_at("busy", "x", now);
        set_error_handler([](const char*, void*) {});
      }
    });
  }
  for (int round = 0; round < 100; ++round) {
    Child child([] {
      static std::string reported;
      ::alarm(60);
      detail::error_after_fork();
      set_error_handler([](const char* line, void*) { reported = line; });
      report_error("child", "hello");
      return reported;
    });
    CHECK(child.result() == "hello");
    CHECK(child.wait() == 0);
  }
  stop = true;
  for (std::thread& thread : threads) { thread.join(); }
}

TEST_CASE("only the parent reports lines suppressed before a fork") {
  CaughtErrors caught;
  report_error_at("disk", "x", 0);
  report_error_at("disk", "x", 1);
  Child child([&caught] {
    detail::error_after_fork();
    report_error_at("disk", "child", 5 * kMinute);
    return caught.lines().back();
  });
  CHECK(child.result() == "child");
  report_error_at("disk", "parent", 5 * kMinute);
  CHECK(mentions(caught.lines().back(), {"parent", "1"}));
}

TEST_CASE("a stderr pipe without a reader does not end the program") {
  detail::forget_errors();
  Child child([] {
    int ends[2];
    if (::pipe(ends) != 0) { return std::string("no pipe"); }
    ::signal(SIGPIPE, SIG_DFL);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    report_error("disk", "x");
    sigset_t pending;
    sigpending(&pending);
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    const bool as_before = sigismember(&pending, SIGPIPE) == 0 && sigismember(&blocked, SIGPIPE) == 0;
    return std::string(as_before ? "alive" : "signals changed");
  });
  CHECK(child.result() == "alive");
  CHECK(child.wait() == 0);
}

TEST_CASE("a full stderr pipe does not block the program", "[timed]") {
  detail::forget_errors();
  Child child([] {
    int ends[2];
    if (::pipe2(ends, O_NONBLOCK) != 0) { return std::string("no pipe"); }
    const std::string block(4096, 'x');
    while (::write(ends[1], block.data(), block.size()) > 0) {}
    ::fcntl(ends[1], F_SETFL, 0);
    ::dup2(ends[1], STDERR_FILENO);
    ::alarm(60);
    report_error("disk", "x");
    return std::string("gave up");
  });
  CHECK(child.result() == "gave up");
}

TEST_CASE("a stderr file at its size limit does not end the program") {
  detail::forget_errors();
  Child child([] {
    char path[] = "/tmp/takt-fault-XXXXXX";
    const int file = ::mkstemp(path);
    ::unlink(path);
    ::dup2(file, STDERR_FILENO);
    const rlimit nothing = {0, 0};
    ::setrlimit(RLIMIT_FSIZE, &nothing);
    report_error("disk", "x");
    return std::string("alive");
  });
  CHECK(child.result() == "alive");
}

TEST_CASE("an error after static destruction is reported") {
  detail::forget_errors();
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  Child child([&ends]() -> std::string {
    ::dup2(ends[1], STDERR_FILENO);
    ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
    g_report_at_the_end = true;
    std::exit(0);
  });
  ::close(ends[1]);
  child.wait();
  char bytes[100] = {};
  CHECK(::read(ends[0], bytes, sizeof bytes - 1) > 0);
  CHECK(std::string(bytes) == "takt: told late\n");
  ::close(ends[0]);
}
