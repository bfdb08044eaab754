// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Regions whose instructions are counted: takt_instructions <shape> <regions>. instructions.py runs it under callgrind.
#include <takt/backends/cpu.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>
#include <takt/trials.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

inline constexpr takt::Key kEpoch{"an Epoch without rows"};
inline constexpr takt::Key kBatch{"a Batch without rows"};

void work() { asm volatile("" ::: "memory"); }

void hot(long n) {
  for (long i = 0; i < n; ++i) {
    takt::Scope s(takt::Forward);
    work();
  }
}

void deep(long n) {
  static constexpr takt::Key a{"1"}, b{"2"}, c{"3"}, d{"4"}, e{"5"}, f{"6"}, g{"7"};
  for (long i = 0; i < n; i += 7) {
    takt::Scope s1(a);
    takt::Scope s2(b);
    takt::Scope s3(c);
    takt::Scope s4(d);
    takt::Scope s5(e);
    takt::Scope s6(f);
    takt::Scope s7(g);
    work();
  }
}

void leaf(const takt::Key& key) {
  takt::Scope s(key);
  work();
}

void train(long n, const takt::Key& epoch_key, const takt::Key& batch_key) {
  for (long done = 0; done < n; done += 501) {
    takt::Scope epoch(epoch_key);
    for (int i = 0; i < 100; ++i) {
      takt::Scope batch(batch_key);
      leaf(takt::IO);
      leaf(takt::Forward);
      leaf(takt::Backward);
      leaf(takt::Comm);
    }
  }
}

void lap(long n) {
  takt::Scope s(takt::IO);
  for (long i = 0; i < n; ++i) {
    s.lap(takt::Forward);
    work();
  }
}

/// A handle of a joined Timer around one leaf.
void handle(long n) {
  auto timer = takt::Timer<takt::CpuBackend>::joined();
  for (long i = 0; i < n; i += 2) {
    const auto region = timer.start(takt::Forward);
    leaf(takt::Comm);
    timer.end(region);
  }
}

/// Iterates over a loader's batches by reference, without regions.
void loop(long n) {
  std::vector<int> batches(static_cast<std::size_t>(n));
  for (auto&& batch : batches) { asm volatile("" : : "r"(&batch) : "memory"); }
}

/// The same loop through takt::trials(), with trials turned off.
void trials(long n) {
  takt::SessionOptions options;
  options.files = options.table = options.background = false;
  takt::Session session("instructions", options);
  std::vector<int> batches(static_cast<std::size_t>(n));
  takt::TrialOptions plain;
  plain.time_loader = false;
  for (auto&& batch : takt::trials(session, batches, plain)) { asm volatile("" : : "r"(&batch) : "memory"); }
}

/// The same loop with pulled batches.
void pull(long n) {
  takt::SessionOptions options;
  options.files = options.table = options.background = false;
  takt::Session session("instructions", options);
  takt::TrialOptions plain;
  plain.time_loader = false;
  auto trials = takt::trials(session, plain);
  while (trials.next([&n] { return n-- > 0; })) { work(); }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s hot|deep|train|rows|lap|handle|loop|trials|pull <regions>\n", argv[0]);
    return 2;
  }
  const char* shape = argv[1];
  const long n = std::atol(argv[2]);
  if (std::strcmp(shape, "hot") == 0) {
    hot(n);
  } else if (std::strcmp(shape, "deep") == 0) {
    deep(n);
  } else if (std::strcmp(shape, "train") == 0) {
    train(n, kEpoch, kBatch);
  } else if (std::strcmp(shape, "rows") == 0) {
    train(n, takt::Epoch, takt::Batch);
  } else if (std::strcmp(shape, "handle") == 0) {
    handle(n);
  } else if (std::strcmp(shape, "loop") == 0) {
    loop(n);
  } else if (std::strcmp(shape, "trials") == 0) {
    trials(n);
  } else if (std::strcmp(shape, "pull") == 0) {
    pull(n);
  } else {
    lap(n);
  }
}
