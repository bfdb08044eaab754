// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "measure/predictions.hpp"

#include <takt/error.hpp>

#include "support/catch.hpp"
#include "support/mentions.hpp"

#include <string>
#include <vector>

using takt::detail::check_predictions;
using takt::detail::PredictionCheck;
using takt::detail::read_model_costs;
using takt_test::mentions;

namespace {

constexpr std::size_t kLatency = 0;
constexpr std::size_t kMemory = 1;
constexpr std::size_t kEnergy = 2;

std::string prediction_check_refusal_of(const std::string& text) {
  try {
    read_model_costs(text, "f.csv");
  } catch (const takt::Error& error) { return error.what(); }
  return "";
}

}  // namespace

TEST_CASE("Prediction check: matches predictions and measurements by name") {
  const auto predicted = read_model_costs("name,latency_ms,energy_j\nb,2,7\na,1.1,\nx,1,1\n", "p.csv");
  const auto measured =
      read_model_costs("memory_mb,name,latency_ms,runs,energy_j\n10,a,1,30,5\n20,b,4,30,0\n30,y,1,30,1\n", "m.csv");
  const PredictionCheck check = check_predictions(predicted, measured);
  REQUIRE(check.any());
  REQUIRE(check.costs[kLatency].models.size() == 2);
  CHECK(check.costs[kLatency].models[0].name == "b");
  CHECK(check.costs[kLatency].models[0].measured == 4.0);
  CHECK(check.costs[kLatency].models[0].predicted == 2.0);
  CHECK(check.costs[kLatency].models[0].error == Approx(0.5));
  CHECK(check.costs[kLatency].models[1].error == Approx(0.1));
  CHECK(check.costs[kLatency].error.mape == Approx(0.3));
  CHECK(check.costs[kLatency].error.n == 2);
  CHECK(check.costs[kMemory].models.empty());
  REQUIRE(check.costs[kEnergy].models.size() == 1);  // no prediction for a
  CHECK(check.costs[kEnergy].models[0].error < 0);   // 0 was measured
  CHECK(check.costs[kEnergy].error.n == 0);
  CHECK(check.only_predicted == std::vector<std::string>{"x"});
  CHECK(check.only_measured == std::vector<std::string>{"y"});
}

TEST_CASE("Prediction check: is empty without a common name") {
  const PredictionCheck check = check_predictions(read_model_costs("name,latency_ms\na,1\n", "p"),
                                                  read_model_costs("name,memory_mb\na,1\n", "m"));
  CHECK_FALSE(check.any());
  CHECK(check.only_predicted.size() == 1);
  CHECK(check.only_measured.size() == 1);
}

TEST_CASE("Model costs: missing or duplicate columns and names are refused with their line") {
  for (const char* text : {"latency_ms\n1\n", "name,latency\na,1\n"}) {
    CHECK(
        mentions(prediction_check_refusal_of(text), {"f.csv, line 1", "name", "latency_ms", "memory_mb", "energy_j"}));
  }
  CHECK(mentions(prediction_check_refusal_of("name,latency_ms\na,1\n,2\n"), {"f.csv, line 3", "name"}));
  CHECK(mentions(prediction_check_refusal_of("name,latency_ms\na,1\nb,1\na,2\n"), {"f.csv, line 4", "'a'", "line 2"}));
  CHECK(mentions(prediction_check_refusal_of("name,latency_ms\na,one\n"), {"f.csv, line 2", "latency_ms", "'one'"}));
}
