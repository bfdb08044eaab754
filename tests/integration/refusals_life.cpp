// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "refusals_life.hpp"

#include "support/sanitized.hpp"

#include <takt/listener.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace life {
namespace {

using refusals::Exempt;
using refusals::Plan;
using std::chrono::milliseconds;

enum Fault : int {
  kFine,
  kUnknown,
  kLateClose,
  kNoRows,
  kNoJournal,
  kNotFinished,
  kSilent,
  kOddException,
  kNoSession,
  kChild,
};

// If each site fails once, the end must retry as often as it reaches new sites.
int g_exit_ms = 400;
constexpr double kTimeout = 60;  // timeout for an expected event, in seconds

/// Observes the exported data; needs no memory.
class Probe final : public takt::Exporter {
 public:
  const char* name() const noexcept override { return "probe"; }
  takt::ExportResult export_snapshot(const takt::Snapshot& snapshot) override {
    rows += snapshot.rows.size();
    metrics += snapshot.metrics.size();
    losses = snapshot.losses.size();
    for (const takt::Row& row : snapshot.rows) {
      if (row.step > newest) { newest = row.step; }
    }
    std::uint64_t batches = 0;
    for (const takt::PathStats& path : snapshot.paths) {
      if (path.name == "Batch") { batches += path.host.n(); }
    }
    steps = batches;
    finished = snapshot.finished;
    return takt::ExportResult::ok;
  }
  static inline std::atomic<std::uint64_t> rows{0};
  static inline std::atomic<std::uint64_t> metrics{0};
  static inline std::atomic<std::uint64_t> losses{0};
  static inline std::atomic<std::uint64_t> steps{0};
  static inline std::atomic<std::int64_t> newest{-1};
  static inline std::atomic<bool> finished{false};
};

std::atomic<std::uint64_t> g_lines{0};
void count_line(const char* line, void*) {
  ++g_lines;
  static const bool verbose = std::getenv("VERBOSE") != nullptr;
  if (verbose) { [[maybe_unused]] const auto written = ::dprintf(STDERR_FILENO, "%s\n", line); }
}

std::uint64_t g_made = 0;  // steps
int g_names = 0;

void step(takt::Session* session, int number) {
  char name[32];
  std::snprintf(name, sizeof name, "region %d", ++g_names % 40);
  takt::Scope batch(takt::Batch);
  { const takt::Scope io(takt::IO); }
  {
    takt::Scope scope(takt::key(name));
    scope.items(3);
    scope.lap(takt::Forward);
  }
  { const takt::Scope one(takt::Comm, takt::every(2)); }
  takt::record(takt::Other, std::chrono::nanoseconds(number));
  batch.items(1);
  ++g_made;
  if (session == nullptr) { return; }
  session->step(static_cast<std::int64_t>(g_made) - 1);
  std::snprintf(name, sizeof name, "metric %d", g_names % 40);
  session->metric(name, number);
}

void use_timers() {
  takt::Timer<takt::CpuBackend> own;
  auto joined = takt::Timer<takt::CpuBackend>::joined();
  for (int round = 0; round < 3; ++round) {
    own.start(takt::Forward);
    own.end(takt::Forward);
    const takt::Handle handle = joined.start(takt::Backward);
    joined.end(handle);
    own.lap(takt::Comm);
    own.end(takt::Comm);
  }
  (void)own.stats(takt::Forward);
  try {
    (void)own.times(takt::Forward);
  } catch (const std::bad_alloc&) {}  // a list for the program needs memory
  own.complete(milliseconds(1));
}

void* on_thread(void* session) {
  takt::name_thread("a worker with a name that is too long for a small string");
  step(static_cast<takt::Session*>(session), 1);
  --g_made;  // goes to its own series, which is not counted
  const takt::Scope comm(takt::Comm);
  return nullptr;
}

void run_thread(takt::Session* session) {
  pthread_t thread{};
  bool runs = false;
  {
    const Exempt mine;
    runs = ::pthread_create(&thread, nullptr, on_thread, session) == 0;
  }
  if (runs) { ::pthread_join(thread, nullptr); }
}

void on_region(const takt::Key&, void*) noexcept {}

/// Setup calls may throw; any other exception is an error.
template <class Call>
bool try_to(Call call) {
  try {
    call();
    return true;
  } catch (const std::bad_alloc&) { return false; } catch (const takt::Error&) {
    return false;
  }
}

takt::SessionOptions options() {
  takt::SessionOptions options;
  const char* directory = std::getenv("TAKT_DIR");
  options.directory = directory == nullptr ? "takt-runs" : directory;
  options.period = std::chrono::milliseconds(10);
  options.exit_timeout = std::chrono::milliseconds(g_exit_ms);
  options.trace = true;
  options.end_on_sigterm = true;
  return options;
}

/// Created in place, so the test needs no memory for it.
class Place {
 public:
  takt::Session* open(const char* name) {
    // A single site may fail only now, followed by another: it takes more than one attempt after memory is available
    // again.
    for (int attempt = 0, with_memory = 0; with_memory < 2000 && !session_; ++attempt) {
      if (is_for_ever && refusals::refused() > 300 && attempt > 300) { break; }
      if (refusals::over()) { ++with_memory; }
      if (!try_to([&] { session_.emplace(name, options()); }) && attempt % 100 == 99) { ::poll(nullptr, 0, 10); }
    }
    return session_ ? &*session_ : nullptr;
  }
  void close() { session_.reset(); }
  bool is_for_ever = false;

 private:
  std::optional<takt::Session> session_;
};

std::uint64_t journal_bytes(const std::string& directory) {
  const Exempt mine;
  std::uint64_t bytes = 0;
  DIR* const files = ::opendir(directory.c_str());
  if (files == nullptr) { return 0; }
  while (const dirent* each = ::readdir(files)) {
    struct stat status = {};
    const std::string path = directory + "/" + each->d_name;
    if (std::strncmp(each->d_name, "journal-", 8) == 0 && ::stat(path.c_str(), &status) == 0) {
      bytes += static_cast<std::uint64_t>(status.st_size);
    }
  }
  ::closedir(files);
  return bytes;
}

template <class Condition>
bool steps_until(takt::Session& session, Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(kTimeout);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) { return false; }
    step(&session, 1);
    session.poll();
    ::poll(nullptr, 0, 2);
  }
  return true;
}

/// Checks that steps are exported when memory is available again.
int recover(takt::Session& session) {
  if (!steps_until(session, [] { return refusals::over(); })) { return kUnknown; }
  const auto made = static_cast<std::int64_t>(g_made);
  if (!steps_until(session, [made] { return Probe::newest.load() >= made; })) { return kNoRows; }
  if (session.run().directory.empty()) { return kFine; }  // the directory could not be created, and that was reported
  const std::uint64_t bytes = journal_bytes(session.run().directory);
  const bool grows = steps_until(session, [&] { return journal_bytes(session.run().directory) > bytes + 100; });
  return grows ? kFine : kNoJournal;
}

int close(takt::Session& session) {
  const auto begin = std::chrono::steady_clock::now();
  session.close();
  const auto took = std::chrono::steady_clock::now() - begin;
  return took > milliseconds(g_exit_ms) + std::chrono::seconds(10) ? kLateClose : kFine;
}

/// A child records and has its own run, without data of the parent's.
int fork_one() {
  pid_t child = -1;
  {
    const Exempt mine;
    child = ::fork();
  }
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // do not wait for a hanging child
    { const takt::Scope ignored(takt::Forward); }
    Place place;
    place.is_for_ever = true;
    int status = kFine;
    if (takt::Session* session = place.open("child")) {
      step(session, 1);
      status = close(*session);
    }
    ::_exit(status);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0 ? kFine : kChild;
}

int run(const Plan& plan) {
  const takt::Listener listener{on_region, on_region, nullptr};
  takt::add_listener(listener);
  step(nullptr, 1);
  use_timers();
  (void)try_to([] { (void)takt::snapshot(); });
  Place place;
  place.is_for_ever = plan.mode == Plan::Mode::ever;
  takt::Session* const session = place.open("memory");
  if (session == nullptr && !place.is_for_ever) { return kNoSession; }
  if (session == nullptr) {
    for (int number = 0; number < 200; ++number) { step(nullptr, number); }
    return takt::complete(milliseconds(10)) ? kFine : kUnknown;
  }
  bool added = false;
  for (int attempt = 0; attempt < 2000 && !added; ++attempt) {
    added = try_to([&] { session->add(std::make_unique<Probe>()); });
    if (!added && attempt % 10 == 9) { ::poll(nullptr, 0, 10); }
    if (place.is_for_ever && attempt > 30) { break; }
  }
  for (int number = 0; number < 60; ++number) {
    step(session, number);
    if (number % 10 == 0) { session->poll(); }
    if (number % 20 == 0) { run_thread(session); }
    if (number % 15 == 0) {
      (void)try_to([&] { session->param("learning rate of the very first of all layers", number); });
      (void)try_to([&] { session->tag("a tag with a long name, as some are", "and a value that is as long"); });
      (void)try_to([&] { (void)session->snapshot(); });
      (void)try_to([&] { session->print(); });
    }
  }
  takt::remove_listener(listener);
  takt::complete(milliseconds(1));
  // A sanitizer's allocator does not support fork(): the child would hang if a thread of Takt's is inside it.
  int error = takt_test::kSanitized ? kFine : fork_one();
  if (error == kFine && plan.mode != Plan::Mode::ever) { error = recover(*session); }
  if (error != kFine) { return error; }
  error = close(*session);
  if (error != kFine || plan.mode == Plan::Mode::ever) { return error; }
  if (refusals::over() && plan.site != Plan::kEverything && !Probe::finished) { return kNotFinished; }
  const bool whole = Probe::steps >= g_made && Probe::rows >= g_made && Probe::metrics + 1 >= g_made;
  if (!whole && Probe::losses == 0 && g_lines == 0) { return kSilent; }
  return kFine;
}

}  // namespace

int live(const Plan& plan) {
  takt::set_error_handler(count_line);
  const int nowhere = ::open("/dev/null", O_WRONLY);
  ::dup2(nowhere, STDOUT_FILENO);
  if (plan.mode == Plan::Mode::once) { g_exit_ms = 20'000; }
  std::set_terminate(refusals::on_terminate);
  refusals::begin(plan);
  try {
    return run(plan);
  } catch (const std::exception&) { return kOddException; }
}

const char* error_of(int status) {
  static const char* const kErrors[] = {"fine",
                                        "unknown",
                                        "the end took too long",
                                        "no rows come out any more",
                                        "the journal does not go on",
                                        "no exporter saw the end of the run",
                                        "something was lost in silence",
                                        "an exception other than std::bad_alloc and takt::Error",
                                        "no Session can be made any more",
                                        "a forked child failed"};
  return status >= 0 && status < static_cast<int>(sizeof kErrors / sizeof *kErrors) ? kErrors[status]
                                                                                    : "unknown status";
}

}  // namespace life
