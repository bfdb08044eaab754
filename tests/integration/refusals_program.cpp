// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Refuses memory at each allocation site in Takt: once, for 300 ms, and forever; also refuses all memory from some
// moment on. Each time a child runs a short training loop. It must not crash, hang or drop data silently, and it must
// record again once memory is available.
//   memory_program <seconds> [<seed>]   tests as many sites as fit into this time; 0: all of them
#include "refusals.hpp"
#include "refusals_life.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace {

using refusals::Plan;

constexpr double kHangs = 300;  // timeout of a child in seconds, even on a busy machine
constexpr unsigned kAtOnce = 2;

double now() {
  timespec time = {};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::string words_of(const Plan& plan) {
  static const char* const kModes[] = {"never", "once", "for 300 ms", "for ever"};
  const std::string what = plan.site == Plan::kAll          ? "every place"
                           : plan.site == Plan::kEverything ? "everything from allocation " + std::to_string(plan.from)
                                                            : "place " + std::to_string(plan.site);
  return what + ", " + kModes[static_cast<int>(plan.mode)];
}

class Trials {
 public:
  explicit Trials(double seconds) : end_(seconds == 0 ? 1e300 : now() + seconds) {}

  bool time_left() const { return now() < end_; }
  int failures() const { return failures_; }
  unsigned done() const { return done_; }

  void start(const Plan& plan) {
    while (running_.size() >= kAtOnce) { wait_for_one(); }
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::_exit(life::live(plan));
    }
    running_.push_back({child, plan, now()});
  }
  void finish() {
    while (!running_.empty()) { wait_for_one(); }
  }

 private:
  struct Running {
    pid_t child;
    Plan plan;
    double begin;
  };

  void wait_for_one() {
    for (;;) {
      for (std::size_t at = 0; at < running_.size(); ++at) {
        const Running each = running_[at];
        const bool hangs = now() > each.begin + kHangs;
        if (hangs) { ::kill(each.child, SIGKILL); }
        int status = 0;
        if (::waitpid(each.child, &status, hangs ? 0 : WNOHANG) != each.child) { continue; }
        running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(at));
        return judge(each, status, hangs);
      }
      ::poll(nullptr, 0, 2);
    }
  }
  void judge(const Running& ended, int status, bool hangs) {
    ++done_;
    if (status == 0) { return; }
    ++failures_;
    const std::string how = hangs                 ? "hung"
                            : WIFSIGNALED(status) ? "died of signal " + std::to_string(WTERMSIG(status))
                                                  : "failed: " + std::string(life::error_of(WEXITSTATUS(status)));
    std::fprintf(stderr, "%s: %s\n", words_of(ended.plan).c_str(), how.c_str());
    refusals::print_last(ended.child);
  }

  const double end_;
  std::vector<Running> running_;
  unsigned done_ = 0;
  int failures_ = 0;
};

}  // namespace

int main(int count, char** arguments) {
  const double seconds = count > 1 ? std::atof(arguments[1]) : 40;
  std::mt19937 random(count > 2 ? static_cast<unsigned>(std::atoi(arguments[2])) : 1U);
  refusals::set_up();
  Trials trials(seconds);
  const auto whole = [&trials](const Plan& plan) {
    trials.start(plan);
    trials.finish();
  };
  whole({Plan::Mode::never, Plan::kAll, 0});
  const unsigned known = refusals::sites();
  const std::uint32_t allocations = refusals::allocations();
  std::printf("%u places, %u allocations\n", known, allocations);
  if (trials.failures() != 0 || known < 50) { return 1; }
  // All sites in one run, each at its first call; sites found only then are tested in the next runs.
  for (int round = 0; round < 4; ++round) { whole({Plan::Mode::once, Plan::kAll, 0}); }
  for (unsigned part = 0; part < 12; ++part) {
    const std::uint32_t from = allocations / 12 * part + static_cast<std::uint32_t>(random() % (allocations / 12 + 1));
    trials.start({Plan::Mode::for_a_while, Plan::kEverything, from});
    trials.start({Plan::Mode::ever, Plan::kEverything, from});
  }
  std::vector<Plan> plans;
  for (std::uint32_t site = 0; site < refusals::sites(); ++site) {
    for (const auto mode : {Plan::Mode::for_a_while, Plan::Mode::ever}) { plans.push_back({mode, site, 0}); }
  }
  std::shuffle(plans.begin(), plans.end(), random);
  std::size_t tried = 0;
  for (; tried < plans.size() && trials.time_left(); ++tried) { trials.start(plans[tried]); }
  trials.finish();
  std::printf("%u places, %zu of %zu tried alone, %u lives, %d failures\n", refusals::sites(), tried, plans.size(),
              trials.done(), trials.failures());
  return trials.failures() == 0 ? 0 : 1;
}
