// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace takt_bench {

/// One thing to measure: `run(n)` does it about n times and returns the nanoseconds that each took.
struct Case {
  std::string name;
  std::uint64_t n;
  std::function<double(std::uint64_t n)> run;
};

/// Nanoseconds of CLOCK_MONOTONIC that `work` takes, for each of `n`.
double timed(std::uint64_t n, const std::function<void()>& work);

/// Runs every case once a round, in a new random order each time, and prints medians, minima, and the median of the ratios
/// to `floor` of the same round: machines change their speed while one measures, and neighbours take a share. (Google
/// Benchmark runs one case after the other, so that a ratio would compare two different moments.)
class Rounds {
 public:
  void add(Case each) { cases_.push_back(std::move(each)); }
  void run(unsigned rounds);
  /// A line a case, with the ratio to the case `floor`.
  void print(const std::string& floor) const;
  /// Median of a case in ns; 0 if there is none of this name.
  double median(const std::string& name) const;
  double ratio(const std::string& name, const std::string& floor) const;

 private:
  struct Results {
    std::string name;
    std::vector<double> ns;  // by round
  };
  const Results* find(const std::string& name) const;

  std::vector<Case> cases_;
  std::vector<Results> results_;
};

double median_of(std::vector<double> values);

/// Keeps the compiler from moving work across it or leaving it out.
inline void barrier() { asm volatile("" ::: "memory"); }

// The groups of cases, one file each.
void add_floors(Rounds& rounds);
void add_scopes(Rounds& rounds);
void add_ablations(Rounds& rounds);
void add_compiled_out(Rounds& rounds);
void print_rows(bool quick);
void print_cold(bool quick);
void print_memory(bool quick);

}  // namespace takt_bench
