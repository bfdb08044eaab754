// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>
#include <takt/models.hpp>

#include "support/catch.hpp"
#include "support/mentions.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

using takt::prediction_error;

namespace {

double percent_of(double predicted, double measured) { return 100 * prediction_error({predicted}, {measured}).mape; }

std::string prediction_error_refusal_of(const std::vector<double>& predicted, const std::vector<double>& measured) {
  try {
    prediction_error(predicted, measured);
  } catch (const takt::Error& error) { return error.what(); }
  return "";
}

/// Returns true if the value, rounded or cut to the printed digits, equals the paper's.
bool comes_out(double percent, double printed, double digit) {
  const bool rounded = std::fabs(percent - printed) <= digit / 2 * 1.0001;
  const bool cut = percent >= printed && percent < printed + digit;
  return rounded || cut;
}

}  // namespace

TEST_CASE("prediction_error: reproduces ten of DIPPM's twelve percentages and shows that two are misprints") {
  struct Printed {
    const char* what;
    double measured;
    double predicted;
    double percent;
    double digit;
  };
  const std::vector<Printed> table = {
      {"AP1 latency", 176.6, 3.6, 97.9, 0.1},      {"AP1 energy", 55'502, 378, 99.3, 0.1},
      {"AP3 latency", 130, 67, 48.4, 0.1},         {"AP3 memory", 2'135, 3'004, 40.7, 0.1},
      {"AP3 energy", 13'296, 19'564, 47.14, 0.01}, {"AP4 latency", 4.9, 2.7, 44.8, 0.1},
      {"AP4 memory", 2'823, 2'166, 23.2, 0.1},     {"AP5 latency", 8.1, 18.6, 129.6, 0.1},
      {"AP5 memory", 2'733, 2'758, 0.9, 0.1},      {"AP5 energy", 1'278, 4'107, 221.3, 0.1}};
  for (const Printed& each : table) {
    INFO(each.what << ": " << percent_of(each.predicted, each.measured) << ", printed " << each.percent);
    CHECK(comes_out(percent_of(each.predicted, each.measured), each.percent, each.digit));
  }
  // Misprints: neither follows from the numbers next to them.
  const Printed memory{"AP1 memory", 40'227, 219, 99.9, 0.1};
  CHECK_FALSE(comes_out(percent_of(memory.predicted, memory.measured), memory.percent, memory.digit));
  CHECK(percent_of(memory.predicted, memory.measured) == Approx(99.46).margin(0.005));
  const Printed energy{"AP4 energy", 470, 283, 23.7, 0.1};
  CHECK_FALSE(comes_out(percent_of(energy.predicted, energy.measured), energy.percent, energy.digit));
  CHECK(percent_of(energy.predicted, energy.measured) == Approx(39.8).margin(0.05));
}

TEST_CASE("prediction_error: returns the mean, and from three values on a Student's t interval") {
  // Errors of 10, 20 and 60 %: mean 0.3, deviation 0.2646, t for 2 degrees of freedom 4.302653.
  const takt::PredictionError three = prediction_error({110, 80, 160}, {100, 100, 100});
  CHECK(three.n == 3);
  CHECK(three.mape == Approx(0.3));
  CHECK(three.has_interval);
  CHECK(three.low == 0.0);  // clamped at 0
  CHECK(three.high == Approx(0.3 + 4.3026527 * 0.264575 / std::sqrt(3.0)).epsilon(1e-5));
  const takt::PredictionError two = prediction_error({110, 80}, {100, 100});
  CHECK(two.mape == Approx(0.15));
  CHECK_FALSE(two.has_interval);
  const takt::PredictionError same = prediction_error({1.1, 2.2, 3.3, 4.4}, {1, 2, 3, 4});
  CHECK(same.low == Approx(0.1));
  CHECK(same.high == Approx(0.1));
}

TEST_CASE("prediction_error: ignores a measured 0 and values that are not numbers") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(takt_test::mentions(prediction_error_refusal_of({1, 2}, {1, 0}), {"prediction_error()", "measured[1]", "0"}));
  CHECK(takt_test::mentions(prediction_error_refusal_of({1}, {-3}), {"measured[0]", "-3"}));
  CHECK(takt_test::mentions(prediction_error_refusal_of({1}, {nan}), {"measured[0]", "nan"}));
  CHECK(takt_test::mentions(prediction_error_refusal_of({1}, {infinity}), {"measured[0]", "inf"}));
  CHECK(takt_test::mentions(prediction_error_refusal_of({nan}, {1}), {"predicted[0]", "nan"}));
  CHECK(prediction_error_refusal_of({1e300}, {1e-300}).find("predicted[0]") != std::string::npos);
  CHECK(takt_test::mentions(prediction_error_refusal_of({1}, {1, 2}), {"prediction_error()", "1", "2"}));
  CHECK(prediction_error_refusal_of({}, {}).find("no values") != std::string::npos);
  CHECK(prediction_error({0}, {2}).mape == Approx(1));
}
