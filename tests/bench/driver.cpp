// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "driver.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>
#include <thread>
#include <utility>

namespace takt_bench {

double timed(std::uint64_t n, const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double, std::nano> passed = std::chrono::steady_clock::now() - begin;
  return passed.count() / static_cast<double>(n);
}

double median_of(std::vector<double> values) {
  if (values.empty()) { return 0; }
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double on_two_threads(std::uint64_t n, void (*work)(std::uint64_t)) {
  std::atomic<int> ready{0};
  double ns[2] = {};
  std::thread threads[2];
  for (int index = 0; index < 2; ++index) {
    threads[index] = std::thread([&, index] {
      work(1000);
      ready.fetch_add(1);
      while (ready.load() < 2) {}
      ns[index] = timed(n, [&] { work(n); });
    });
  }
  for (std::thread& thread : threads) { thread.join(); }
  // the slower of two threads is slower than a single one even if they do not disturb each other
  return (ns[0] + ns[1]) / 2;
}

namespace {

double empty_loop() {
  constexpr std::uint64_t kLong = 200'000;
  return timed(kLong, [] {
    for (std::uint64_t i = 0; i < kLong; ++i) { barrier(); }
  });
}

}  // namespace

void Rounds::run(unsigned rounds) {
  for (const Case& each : cases_) { results_.push_back({each.name, {}, {}, {}}); }
  std::vector<std::size_t> order(cases_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random(1);
  for (const Case& each : cases_) { each.run(each.n / 10 + 1); }  // warm-up
  for (unsigned round = 0; round < rounds || (round < 4 * rounds && !has_enough()); ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t index : order) {
      const Case& each = cases_[index];
      const auto& floor = each.floor ? each.floor : floor_;
      const double empty_before = empty_loop();
      const double before = floor ? floor(each.n / 2) : 1;
      const double ns = each.run(each.n);
      const double after = floor ? floor(each.n / 2) : 1;
      results_[index].ns.push_back(ns);
      results_[index].ratio.push_back(2 * ns / (before + after));
      results_[index].empty_ns.push_back(std::max(empty_before, empty_loop()));
    }
  }
}

bool Rounds::has_enough() const {
  return std::all_of(results_.begin(), results_.end(),
                     [this](const Results& each) { return quiet(each, each.ratio).size() >= kEnough; });
}

const Rounds::Results* Rounds::find(const std::string& name) const {
  const auto found =
      std::find_if(results_.begin(), results_.end(), [&](const Results& each) { return each.name == name; });
  return found == results_.end() ? nullptr : &*found;
}

double Rounds::median(const std::string& name) const {
  const Results* results = find(name);
  return results == nullptr ? 0 : median_of(results->ns);
}

double Rounds::ratio(const std::string& name) const {
  const Results* results = find(name);
  return results == nullptr ? 0 : median_of(results->ratio);
}

double Rounds::quiet_median(const std::string& name) const {
  const Results* results = find(name);
  const std::vector<double> values = results == nullptr ? std::vector<double>() : quiet(*results, results->ns);
  return values.size() < kEnough ? std::nan("") : median_of(values);
}

std::vector<double> Rounds::quiet(const Results& results, const std::vector<double>& values) const {
  double best = results.empty_ns.front();
  for (const Results& each : results_) {
    best = std::min(best, *std::min_element(each.empty_ns.begin(), each.empty_ns.end()));
  }
  std::vector<double> found;
  for (std::size_t round = 0; round < values.size(); ++round) {
    if (results.empty_ns[round] <= kQuiet * best) { found.push_back(values[round]); }
  }
  return found;
}

void Rounds::print() const {
  std::printf("%-44s %10s %10s   x %s %17s\n", "ns each", "median", "min", floor_name_.c_str(), "in quiet rounds");
  for (const Results& each : results_) {
    const std::vector<double> ratios = quiet(each, each.ratio);
    std::printf("%-44s %10.2f %10.2f %17.2f ", each.name.c_str(), median_of(each.ns),
                *std::min_element(each.ns.begin(), each.ns.end()), median_of(each.ratio));
    if (ratios.size() < kEnough) {
      std::printf("%17s", "-");
    } else {
      std::printf("%9.2f of %4zu", median_of(ratios), ratios.size());
    }
    std::printf("\n");
  }
}

}  // namespace takt_bench
