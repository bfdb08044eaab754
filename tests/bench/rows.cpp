// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "driver.hpp"

#include "process/process.hpp"

#include <takt/takt.hpp>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

namespace takt_bench {
namespace {

/// Runs steps with `columns` columns; `batch_key` decides if they are recorded as rows.
double steps(std::uint64_t n, unsigned columns, const takt::Key& batch_key) {
  std::vector<const takt::Key*> keys;
  for (unsigned column = 0; column < columns; ++column) {
    keys.push_back(&takt::key(("column " + std::to_string(column)).c_str()));
  }
  // An enclosing key separates steps of different widths.
  const takt::Key& around = takt::key(("width " + std::to_string(columns)).c_str());
  takt::Scope outer(around);
  double sum = 0;
  constexpr std::uint64_t kPart = 100;  // steps that fit into the outbox; the collector's time is not measured
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
  rounds.run(quick ? 5 : 31);
  std::printf("\n%-44s %10s %28s\n", "step rows (ns a step)", "median", "in quiet rounds, a column");
  double few = 0;
  double many = 0;
  for (const unsigned columns : {4U, 16U, 64U}) {
    const std::string width = std::to_string(columns) + " columns";
    const double row = rounds.median(width + ", rows") - rounds.median(width + ", no rows");
    const double quiet = rounds.quiet_median(width + ", rows") - rounds.quiet_median(width + ", no rows");
    std::printf("%-44s %10.1f ", width.c_str(), row);
    if (std::isnan(quiet)) {
      std::printf("%28s\n", "-");
    } else {
      std::printf("%28.1f\n", quiet / columns);
    }
    (columns == 4 ? few : many) = std::isnan(quiet) ? row : quiet;
  }
  const double column = (many - few) / 60;
  std::printf("%-44s %10.1f + %.1f a column\n", "a row, by those of 4 and of 64 columns", few - 4 * column, column);
}

}  // namespace takt_bench
