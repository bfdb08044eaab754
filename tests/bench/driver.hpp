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
  std::function<double(std::uint64_t n)> floor = nullptr;  ///< what it is compared with; nullptr: the floor of all
};

/// Nanoseconds of CLOCK_MONOTONIC that `work` takes, for each of `n`.
double timed(std::uint64_t n, const std::function<void()>& work);

/// The same on two threads at once: the mean of both. Each does `work(n)`.
double on_two_threads(std::uint64_t n, void (*work)(std::uint64_t));

/// Runs every case once a round, in a new random order each time, for some milliseconds, and its floor just before and
/// just after. Prints medians, minima, and the median of the ratios to that floor: machines change their speed while
/// one
/// measures, and neighbours take a share. (Google Benchmark runs one case after the other, so that a ratio would
/// compare two
/// different moments.) A neighbour on the other half of a core slows work down, but hardly the reading of a counter,
/// so that
/// both sides of a ratio do not suffer alike: an empty loop before and after tells in which rounds there was none, and
/// the
/// ratio of those stands apart.
class Rounds {
 public:
  Rounds() = default;
  /// \param floor what cases are compared with that have no floor of their own, and its name.
  Rounds(std::string floor_name, std::function<double(std::uint64_t n)> floor)
      : floor_name_(std::move(floor_name)), floor_(std::move(floor)) {}
  void add(Case each) { cases_.push_back(std::move(each)); }
  /// On a busy machine up to four times as many rounds, until enough of them were quiet.
  void run(unsigned rounds);
  /// A line a case.
  void print() const;
  /// Median of a case in ns, or of the ratios to its floor; 0 if there is none of this name.
  double median(const std::string& name) const;
  /// The same of the quiet rounds; not a number where they are too few.
  double quiet_median(const std::string& name) const;
  double ratio(const std::string& name) const;

 private:
  static constexpr double kQuiet = 1.1;       ///< an empty loop takes at most so many times its best
  static constexpr std::size_t kEnough = 10;  ///< rounds to tell a median from
  struct Results {
    std::string name;
    std::vector<double> ns;  // by round
    std::vector<double> ratio;
    std::vector<double> empty_ns;  // the slower of the empty loops before and after
  };
  bool has_enough() const;
  /// Of the rounds that were quiet.
  std::vector<double> quiet(const Results& results, const std::vector<double>& values) const;
  const Results* find(const std::string& name) const;

  std::string floor_name_;
  std::function<double(std::uint64_t n)> floor_;
  std::vector<Case> cases_;
  std::vector<Results> results_;
};

double median_of(std::vector<double> values);

/// Keeps the compiler from moving work across it or leaving it out.
inline void barrier() { asm volatile("" ::: "memory"); }

// The groups of cases, one file each.
/// The floor under every timer of this kind, `n` times.
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
