// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "driver.hpp"

#include "process/process.hpp"

#include <takt/memory.hpp>
#include <takt/takt.hpp>

#include <takt.h>

#include <chrono>

namespace takt_bench {
namespace {

// Keys of a training loop without rows; rows are measured separately.
inline constexpr takt::Key kEpoch{"bench Epoch"};
inline constexpr takt::Key kBatch{"bench Batch"};

void hot(std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) {
    takt::Scope s(takt::Forward);
    barrier();
  }
}

void deep7(std::uint64_t n) {
  static constexpr takt::Key a{"level 1"}, b{"level 2"}, c{"level 3"}, d{"level 4"}, e{"level 5"}, f{"level 6"},
      g{"level 7"};
  for (std::uint64_t i = 0; i < n; i += 7) {
    takt::Scope s1(a);
    takt::Scope s2(b);
    takt::Scope s3(c);
    takt::Scope s4(d);
    takt::Scope s5(e);
    takt::Scope s6(f);
    takt::Scope s7(g);
    barrier();
  }
}

void train(std::uint64_t n, const takt::Key& epoch_key, const takt::Key& batch_key) {
  for (std::uint64_t done = 0; done < n; done += 501) {
    takt::Scope epoch(epoch_key);
    for (int i = 0; i < 100; ++i) {
      takt::Scope batch(batch_key);
      {
        takt::Scope s(takt::IO);
        barrier();
      }
      {
        takt::Scope s(takt::Forward);
        barrier();
      }
      {
        takt::Scope s(takt::Backward);
        barrier();
      }
      {
        takt::Scope s(takt::Comm);
        barrier();
      }
    }
  }
}

void recurse(unsigned depth) {
  takt::Scope s(takt::Other);
  if (depth > 1) { recurse(depth - 1); }
  barrier();
}

/// Opens as many regions as a thread may have and ends the oldest first, so that all of them become orphans.
void crowd(std::uint64_t n) {
  constexpr unsigned kOpen = 3967;
  static takt::Handle handles[kOpen];
  static takt::Timer<takt::CpuBackend> timer = takt::Timer<takt::CpuBackend>::joined();
  for (std::uint64_t done = 0; done < n; done += kOpen) {
    for (takt::Handle& handle : handles) { handle = timer.start(takt::Comm); }
    for (const takt::Handle& handle : handles) { timer.end(handle); }
  }
}

double traced(std::uint64_t n) {
  takt::detail::tracing.store(true);
  double sum = 0;
  constexpr std::uint64_t kPart = 50'000;  // regions that fit into the outbox; the collector's time is not measured
  std::uint64_t done = 0;
  for (; done < n; done += kPart) {
    sum += timed(1, [] { hot(kPart); });
    takt::detail::registry().collect(false);
  }
  takt::detail::tracing.store(false);
  return sum / static_cast<double>(done);
}

}  // namespace

void add_scopes(Rounds& rounds) {
  const auto add = [&rounds](const char* name, std::uint64_t n, void (*work)(std::uint64_t)) {
    rounds.add({name, n, [work](std::uint64_t count) { return timed(count, [&] { work(count); }); }});
  };
  add("scope: hot", 200'000, hot);
  add("scope: seven levels", 200'000, deep7);
  add("scope: Epoch > Batch > 4, without rows", 100'200, [](std::uint64_t n) { train(n, kEpoch, kBatch); });
  add("scope: Epoch > Batch > 4, with rows", 100'200, [](std::uint64_t n) { train(n, takt::Epoch, takt::Batch); });
  rounds.add({"scope: hot, two threads at once", 200'000, [](std::uint64_t n) { return on_two_threads(n, hot); },
              [](std::uint64_t n) { return on_two_threads(n, read_twice); }});
  rounds.add({"scope: hot, with the time line", 100'000, traced});
  add("scope: recursion, 5 000 deep", 50'000, [](std::uint64_t n) {
    for (std::uint64_t done = 0; done < n; done += 5000) { recurse(5000); }
  });
  add("handles: 3 967 open, the oldest ends first", 39'670, crowd);
  add("lap", 200'000, [](std::uint64_t n) {
    takt::Scope s(takt::IO);
    for (std::uint64_t i = 0; i < n; ++i) {
      s.lap(takt::Forward);
      barrier();
    }
  });
  add("C: takt_begin(), takt_end()", 200'000, [](std::uint64_t n) {
    const takt_key* const forward = takt_get_key("Forward", TAKT_ANY);
    for (std::uint64_t i = 0; i < n; ++i) {
      TAKT_REGION(forward) { barrier(); }
    }
  });
  add("C: takt_lap()", 200'000, [](std::uint64_t n) {
    const takt_key* const forward = takt_get_key("Forward", TAKT_ANY);
    takt_region region = takt_begin(forward);
    for (std::uint64_t i = 0; i < n; ++i) {
      takt_lap(&region, forward);
      barrier();
    }
    takt_end(&region);
  });
  add("scope: every(16)", 200'000, [](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      takt::Scope s(takt::Other, takt::every(16));
      barrier();
    }
  });
  add("MemoryScope", 2'000, [](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      takt::MemoryScope s(takt::Other);
      barrier();
    }
  });
  add("record()", 60'000, [](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) { takt::record(takt::Comm, std::chrono::nanoseconds(100)); }
  });
  add("scope: disabled at run time", 600'000, [](std::uint64_t n) {
    takt::set_enabled(false);
    hot(n);
    takt::set_enabled(true);
  });
  add("Timer<CpuBackend>, books of its own", 60'000, [](std::uint64_t n) {
    static takt::Timer<takt::CpuBackend> timer;
    for (std::uint64_t i = 0; i < n; ++i) {
      timer.start(takt::Comm);
      timer.end(takt::Comm);
    }
  });
  add("Timer<CpuBackend>, books of its own, 3 968 open", 60'000, [](std::uint64_t n) {
    static takt::Timer<takt::CpuBackend> timer;
    for (std::uint64_t i = 0; i < n; ++i) {
      timer.start(takt::IO);  // never ended
      timer.start(takt::Comm);
      timer.end(takt::Comm);
    }
  });
  add("Timer<CpuBackend>, books of its own, an end missing in each step", 60'000, [](std::uint64_t n) {
    static takt::Timer<takt::CpuBackend> timer;
    for (std::uint64_t i = 0; i < n; ++i) {
      timer.start(takt::Batch);
      timer.start(takt::IO);  // never ended
      timer.start(takt::Comm);
      timer.end(takt::Comm);
      timer.end(takt::Batch);
    }
  });
}

}  // namespace takt_bench
