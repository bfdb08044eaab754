// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "driver.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <random>
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

void Rounds::run(unsigned rounds) {
  for (const Case& each : cases_) { results_.push_back({each.name, {}}); }
  std::vector<std::size_t> order(cases_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random(1);
  for (const Case& each : cases_) { each.run(each.n / 10 + 1); }  // warm-up
  for (unsigned round = 0; round < rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t index : order) { results_[index].ns.push_back(cases_[index].run(cases_[index].n)); }
  }
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

double Rounds::ratio(const std::string& name, const std::string& floor) const {
  const Results* results = find(name);
  const Results* base = find(floor);
  if (results == nullptr || base == nullptr) { return 0; }
  std::vector<double> ratios;
  for (std::size_t round = 0; round < results->ns.size(); ++round) {
    ratios.push_back(results->ns[round] / base->ns[round]);
  }
  return median_of(std::move(ratios));
}

void Rounds::print(const std::string& floor) const {
  std::printf("%-44s %10s %10s %16s\n", "ns each", "median", "min", "x two TSC reads");
  for (const Results& each : results_) {
    std::printf("%-44s %10.2f %10.2f %16.2f\n", each.name.c_str(), median_of(each.ns),
                *std::min_element(each.ns.begin(), each.ns.end()), ratio(each.name, floor));
  }
}

}  // namespace takt_bench
