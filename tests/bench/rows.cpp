// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "driver.hpp"

#include "process.hpp"

#include <takt/takt.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace takt_bench {
namespace {

/// Steps with so many columns; `batch_key` decides whether they make rows.
double steps(std::uint64_t n, unsigned columns, const takt::Key& batch_key) {
  std::vector<const takt::Key*> keys;
  for (unsigned column = 0; column < columns; ++column) {
    keys.push_back(&takt::key(("column " + std::to_string(column)).c_str()));
  }
  // A key around it keeps steps of different widths apart.
  const takt::Key& around = takt::key(("width " + std::to_string(columns)).c_str());
  takt::Scope outer(around);
  double sum = 0;
  constexpr std::uint64_t kPart = 100;  // steps that fit the outbox; the collector's time is not the program's
  std::uint64_t done = 0;
  for (; done < n; done += kPart) {
    sum += timed(1, [&] {
      for (std::uint64_t step = 0; step < kPart; ++step) {
        takt::Scope batch(batch_key);
        for (const takt::Key* key : keys) {
          takt::Scope s(*key);
          barrier();
        }
      }
    });
    takt::detail::registry().collect(false);
  }
  return sum / static_cast<double>(done);
}

}  // namespace

void print_rows(bool quick) {
  static constexpr takt::Key kNoRows{"a Batch without rows"};
  Rounds rounds;
  for (const unsigned columns : {4U, 16U, 64U}) {
    const std::string width = std::to_string(columns) + " columns";
    const std::uint64_t n = (quick ? 20'000U : 100'000U) / columns;
    rounds.add({width + ", rows", n, [columns](std::uint64_t count) { return steps(count, columns, takt::Batch); }});
    rounds.add({width + ", no rows", n, [columns](std::uint64_t count) { return steps(count, columns, kNoRows); }});
  }
  rounds.run(quick ? 5 : 15);
  const auto row = [&](const std::string& width) {
    return rounds.median(width + " columns, rows") - rounds.median(width + " columns, no rows");
  };
  std::printf("\nstep rows (ns a step, of which nothing is paid between the ends of Batches)\n");
  for (const char* width : {"4", "16", "64"}) {
    std::printf("%-44s %10.1f\n", (std::string(width) + " columns").c_str(), row(width));
  }
  std::printf("%-44s %10.1f\n", "a further column, 16 to 64", (row("64") - row("16")) / 48);
}

}  // namespace takt_bench
