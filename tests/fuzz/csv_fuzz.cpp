// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Parses any bytes as a file of predictions. Builds with libFuzzer or with standalone_main.cpp.
#include <takt/error.hpp>

#include "measure/predictions.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

using namespace takt;

namespace {

void require(bool holds, const char* what) {
  if (holds) { return; }
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

/// Checks that an error is one line of bounded length.
void check_error(const std::string& what) {
  require(what.size() < 1000, "an error is bounded");
  for (const char each : what) {
    require(static_cast<unsigned char>(each) >= 0x20 && each != 0x7F, "an error is one line");
  }
}

void read(std::string_view text) {
  try {
    const std::vector<detail::ModelCosts> models = detail::read_model_costs(text, "f.csv");
    const detail::PredictionCheck check = detail::check_predictions(models, models);
    for (const detail::CheckedCost& cost : check.costs) {
      for (const detail::CheckedPrediction& each : cost.models) {
        require(each.error <= 0, "a prediction that is right has no error");
      }
    }
  } catch (const Error& error) { check_error(error.what()); }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  read(bytes);
  read("name,latency_ms,memory_mb,energy_j\n" + bytes);
  read("name,latency_ms\n\"" + bytes + "\",1\n");
  return 0;
}
