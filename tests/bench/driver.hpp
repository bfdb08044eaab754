// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace takt_bench {

/// One case: `run(n)` does the work about n times and returns nanoseconds per iteration.
struct Case {
  std::string name;
  std::uint64_t n;
  std::function<double(std::uint64_t n)> run;
  std::function<double(std::uint64_t n)> floor = nullptr;  ///< baseline of the case; nullptr: the common floor
};

/// Returns nanoseconds per iteration of `work`, measured with CLOCK_MONOTONIC for `n` iterations.
double timed(std::uint64_t n, const std::function<void()>& work);

/// Runs `work(n)` on two threads at once and returns the mean of both results.
double on_two_threads(std::uint64_t n, void (*work)(std::uint64_t));

/// Runs every case once per round, in a new random order, for some milliseconds, with its floor just before and just
/// after. Prints medians, minima and the median ratio to the floor. Interleaving is needed because machines change
/// their speed during a measurement. (Google Benchmark runs one case after the other, so a ratio would compare two
/// different moments.)
///  A busy sibling hyper-thread slows work down but hardly affects counter reads, so it distorts ratios. An empty loop
/// before and after each case detects quiet rounds; their median ratio is printed separately.
class Rounds {
 public:
  Rounds() = default;
  /// \param floor baseline of cases that have none of their own, and its name.
  Rounds(std::string floor_name, std::function<double(std::uint64_t n)> floor)
      : floor_name_(std::move(floor_name)), floor_(std::move(floor)) {}
  void add(Case each) { cases_.push_back(std::move(each)); }
  /// Runs up to four times as many rounds on a busy machine, until enough of them were quiet.
  void run(unsigned rounds);
  /// Prints one line per case.
  void print() const;
  /// Returns the median of a case in ns, or of its ratios to the floor; 0 if the name is unknown.
  double median(const std::string& name) const;
  /// Returns the same for quiet rounds only; NaN if there are too few.
  double quiet_median(const std::string& name) const;
  double ratio(const std::string& name) const;

 private:
  /// maximum time of an empty loop in a quiet round, relative to its minimum
  static constexpr double kQuiet = 1.1;
  static constexpr std::size_t kEnough = 10;  ///< minimum number of rounds for a median
  struct Results {
    std::string name;
    std::vector<double> ns;  // one value per round
    std::vector<double> ratio;
    std::vector<double> empty_ns;  // the slower one of the empty loops before and after
  };
  bool has_enough() const;
  /// Returns the values of quiet rounds.
  std::vector<double> quiet(const Results& results, const std::vector<double>& values) const;
  const Results* find(const std::string& name) const;

  std::string floor_name_;
  std::function<double(std::uint64_t n)> floor_;
  std::vector<Case> cases_;
  std::vector<Results> results_;
};

double median_of(std::vector<double> values);

/// Keeps the compiler from moving work across this point or removing it.
inline void barrier() { asm volatile("" ::: "memory"); }

// Groups of cases, one file each.
/// Reads the clock twice, `n` times: the floor of every timer of this kind.
void read_twice(std::uint64_t n);
double two_tsc_reads(std::uint64_t n);
void add_floors(Rounds& rounds);
void add_scopes(Rounds& rounds);
void add_ablations(Rounds& rounds);
void add_compiled_out(Rounds& rounds);
void print_rows(bool quick);
void print_cold(bool quick);
void print_memory(bool quick);

}  // namespace takt_bench
