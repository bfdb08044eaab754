// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/predict.hpp"

#include "cli/commands.hpp"
#include "measure/predictions.hpp"
#include "support/catch.hpp"
#include "support/mentions.hpp"
#include "support/scratch.hpp"

#include <takt/error.hpp>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

using takt::MeasuredFeatures;
using takt::Measurement;
using takt::cli::Measurements;
using takt::cli::parse_point;
using takt::cli::predict_at;
using takt::cli::Prediction;
using takt::cli::RankDirectory;
using takt_test::contains;
using takt_test::mentions;

namespace {

constexpr std::size_t kLatencyCost = 0;
constexpr std::size_t kMemoryCost = 1;
constexpr std::size_t kEnergyCost = 2;

std::shared_ptr<Measurement> sized(const std::string& name, const MeasuredFeatures& features, double ms, double mb = 0,
                                   double joules = 0) {
  auto measurement = std::make_shared<Measurement>();
  measurement->name = name;
  measurement->features = features;
  measurement->host.n = 30;
  measurement->host.mean_ns = ms * 1e6;
  if (mb > 0) { measurement->memory_bytes = static_cast<std::int64_t>(mb * 1e6); }
  if (joules > 0) { measurement->joules = joules; }
  return measurement;
}

/// Returns measurements of "net, batch B" with the given milliseconds.
Measurements net_of(const std::vector<std::pair<int, double>>& batches) {
  Measurements measurements;
  for (const auto& [batch, ms] : batches) {
    measurements.push_back(sized("net, batch " + std::to_string(batch), {{"batch", batch}}, ms, 100 + 5.0 * batch));
  }
  return measurements;
}

std::string refusal_of_prediction(const Measurements& measurements, const std::string& at,
                                  const std::string& pattern = "") {
  try {
    predict_at(measurements, parse_point(at), pattern);
  } catch (const takt::Error& error) { return error.what(); }
  return "";
}

}  // namespace

TEST_CASE("Predict: latency and energy are a power law between two sizes, memory is a line") {
  Measurements measurements;
  for (const int batch : {64, 1, 8, 16}) {  // in any order
    measurements.push_back(sized("net, batch " + std::to_string(batch), {{"batch", batch}}, 3 * std::pow(batch, 0.7),
                                 100 + 5.0 * batch, 2 * std::pow(batch, 0.9)));
  }
  const Prediction found = predict_at(measurements, {{"batch", 24}}, "");
  CHECK(found.name == "net, batch 24");
  CHECK(found.sizes == 4);
  CHECK(found.min == 1);
  CHECK(found.max == 64);
  REQUIRE(found.between.size() == 2);
  CHECK(found.between[0]->name == "net, batch 16");
  CHECK(found.between[1]->name == "net, batch 64");
  CHECK(found.costs[kLatencyCost]->amount == Approx(3 * std::pow(24, 0.7)).epsilon(1e-12));
  CHECK(found.costs[kMemoryCost]->amount == Approx(220).epsilon(1e-12));
  CHECK(found.costs[kEnergyCost]->amount == Approx(2 * std::pow(24, 0.9)).epsilon(1e-12));
}

TEST_CASE("Predict: only the two nearest sizes matter") {
  const Prediction found = predict_at(net_of({{1, 9}, {4, 10}, {16, 40}, {64, 1}}), {{"batch", 8}}, "");
  CHECK(found.costs[kLatencyCost]->amount == Approx(20).epsilon(1e-12));  // 8 is the geometric mean of 4 and 16
  CHECK_FALSE(found.costs[kEnergyCost].has_value());
}

TEST_CASE("Predict: from six sizes on, the largest error of inner sizes from their neighbours bounds the interval") {
  const std::vector<std::pair<int, double>> sizes = {{1, 1.3}, {2, 2.2}, {5, 4}, {10, 9.5}, {20, 14}, {50, 40}};
  const Prediction found = predict_at(net_of(sizes), {{"batch", 7}}, "");
  double largest = 0;
  for (std::size_t at = 1; at + 1 < sizes.size(); ++at) {
    const auto [low, low_ms] = sizes[at - 1];
    const auto [high, high_ms] = sizes[at + 1];
    const double slope = (std::log(high_ms) - std::log(low_ms)) / (std::log(high) - std::log(low));
    const double log_ms = std::log(low_ms) + slope * (std::log(sizes[at].first) - std::log(low));
    largest = std::max(largest, std::fabs(log_ms - std::log(sizes[at].second)));
  }
  REQUIRE(found.costs[kLatencyCost]->factor.has_value());
  CHECK(found.costs[kLatencyCost]->left_out == 4);
  CHECK(*found.costs[kLatencyCost]->factor == Approx(std::exp(largest)).epsilon(1e-12));
  CHECK(largest > 0.1);
  CHECK(*found.costs[kMemoryCost]->factor == Approx(1).epsilon(1e-12));
  const Prediction five = predict_at(net_of({{1, 1}, {2, 2}, {5, 4}, {10, 9}, {20, 14}}), {{"batch", 7}}, "");
  CHECK(five.costs[kLatencyCost]->left_out == 3);
  CHECK_FALSE(five.costs[kLatencyCost]->factor.has_value());
}

TEST_CASE("Predict: a measured size is its own measurement, without an interval") {
  const Prediction found =
      predict_at(net_of({{1, 1}, {2, 2}, {5, 4}, {10, 9.5}, {20, 14}, {50, 40}}), {{"batch", 10}}, "");
  REQUIRE(found.between.size() == 1);
  CHECK(found.costs[kLatencyCost]->amount == Approx(9.5));
  CHECK_FALSE(found.costs[kLatencyCost]->factor.has_value());
  CHECK(predict_at(net_of({{1, 1}, {8, 2}}), {{"batch", 1}}, "").costs[kLatencyCost]->amount == Approx(1));
  CHECK(predict_at(net_of({{1, 1}, {8, 2}}), {{"batch", 8}}, "").costs[kLatencyCost]->amount == Approx(2));
}

TEST_CASE("Predict: a cost that a neighbour lacks is unknown") {
  Measurements measurements = net_of({{1, 1}, {8, 2}, {64, 4}});
  auto without = std::make_shared<Measurement>(*measurements[1]);
  without->memory_bytes.reset();
  measurements[1] = without;
  const Prediction found = predict_at(measurements, {{"batch", 16}}, "");
  CHECK(found.costs[kLatencyCost].has_value());
  CHECK_FALSE(found.costs[kMemoryCost].has_value());
}

TEST_CASE("Predict: refuses to leave the measured range, and names it") {
  const Measurements measurements = net_of({{2, 1}, {8, 2}, {64, 4}});
  for (const char* at : {"batch=1", "batch=65", "batch=-3", "batch=0"}) {
    CHECK(mentions(refusal_of_prediction(measurements, at), {"batch", "range", "2 to 64"}));
  }
  CHECK(mentions(refusal_of_prediction(net_of({{8, 2}}), "batch=8"), {"two", "batch", "8"}));
  CHECK(mentions(refusal_of_prediction(net_of({{0, 2}, {8, 2}}), "batch=4"), {"batch", "net, batch 0", "above 0"}));
}

TEST_CASE("Predict: refuses measurements of several models until one is chosen") {
  Measurements measurements = net_of({{1, 1}, {8, 2}});
  for (const int batch : {2, 16}) {
    measurements.push_back(sized("resnet50, batch " + std::to_string(batch), {{"batch", batch}}, 10.0 * batch));
  }
  CHECK(mentions(refusal_of_prediction(measurements, "batch=4"), {"net, batch 1", "resnet50, batch 2", "--name"}));
  CHECK(predict_at(measurements, {{"batch", 4}}, "resnet*").costs[kLatencyCost]->amount == Approx(40));
  CHECK(mentions(refusal_of_prediction(measurements, "batch=4", "vgg*"), {"vgg*", "net, batch 1"}));
  // Names without their size are of one model only if the user says so.
  const Measurements words = {sized("small", {{"batch", 1}}, 1), sized("large", {{"batch", 100}}, 100)};
  CHECK(mentions(refusal_of_prediction(words, "batch=10"), {"small", "large", "--name"}));
  CHECK(predict_at(words, {{"batch", 10}}, "*").costs[kLatencyCost]->amount == Approx(10));
  CHECK(predict_at(words, {{"batch", 10}}, "*").name == "batch=10");
  measurements.push_back(sized("net 2, batch 8", {{"batch", 8}}, 3));
  CHECK(mentions(refusal_of_prediction(measurements, "batch=4", "net*"),
                 {"batch = 8", "net, batch 8", "net 2, batch 8", "--name"}));
}

TEST_CASE("Predict: other features select measurements, and may not differ without a value") {
  Measurements measurements;
  for (const int size : {128, 224}) {
    for (const int batch : {1, 4}) {
      measurements.push_back(sized("net " + std::to_string(size) + ", batch " + std::to_string(batch),
                                   {{"batch", batch}, {"size", size}, {"parameters", 25e6}}, size * batch));
    }
  }
  CHECK(mentions(refusal_of_prediction(measurements, "batch=2"), {"size", "size=VALUE", "--name"}));
  CHECK(predict_at(measurements, {{"batch", 2}, {"size", 128}}, "").costs[kLatencyCost]->amount == Approx(256));
  CHECK(predict_at(measurements, {{"size", 192}, {"batch", 4}}, "").costs[kLatencyCost]->amount == Approx(768));
  CHECK(predict_at(measurements, {{"size", 192}, {"batch", 4}}, "").name == "net 192, batch 4");
  CHECK(mentions(refusal_of_prediction(measurements, "batch=2,size=200"), {"size = 200", "128, 224"}));
  CHECK(mentions(refusal_of_prediction(measurements, "width=2"), {"width", "batch, parameters, size"}));
  measurements = {sized("net, batch 1", {{"batch", 1}}, 1), sized("net, batch 4", {{"batch", 4}, {"half", 1}}, 4)};
  CHECK(mentions(refusal_of_prediction(measurements, "batch=2"), {"half"}));
}

TEST_CASE("Predict: the size in a name is replaced, but not other numbers") {
  const auto name = [](const std::string& low, const std::string& high) {
    return predict_at({sized(low, {{"batch", 8}}, 1), sized(high, {{"batch", 16}}, 2)}, {{"batch", 12}}, "*").name;
  };
  CHECK(name("net8, batch 8", "net8, batch 16") == "net8, batch 12");
  CHECK(name("net 8x8", "net 16x16") == "net 12x12");
  CHECK(name("b8", "b16") == "b12");
  CHECK(name("net 1.8, b8", "net 1.8, b16") == "net 1.8, b12");
  CHECK(name("net 88", "net 1616") == "batch=12");
  CHECK(name("8", "16") == "12");
}

TEST_CASE("Predict: a point is parsed strictly") {
  CHECK(parse_point("batch=24,size=0.5") == MeasuredFeatures{{"batch", 24}, {"size", 0.5}});
  for (const char* text : {"", "batch", "batch=", "=3", "batch=2x", "batch=nan", "batch=1e999", "batch=1,", ",batch=1",
                           "a b=1", "batch=0x10", "batch=1,batch=2", "batch= 1", "\x1b[2J=1"}) {
    INFO(text);
    CHECK_FALSE(takt::cli::why_no_point(text).empty());
    CHECK_FALSE(contains(takt::cli::why_no_point(text), "\x1b"));
  }
  CHECK(takt::cli::why_no_point("batch=1e3").empty());
}

TEST_CASE("Predict: predict-check reads the CSV, and a table and JSON have the same figures") {
  const std::vector<Prediction> found = {
      predict_at(net_of({{1, 1}, {2, 2}, {5, 4}, {10, 9}, {20, 14}, {50, 40}}), {{"batch", 4}}, ""),
      predict_at(net_of({{1, 1}, {2, 2}}), {{"batch", 2}}, "")};
  const std::string csv = takt::cli::predictions_csv(found);
  const auto costs = takt::detail::read_model_costs(csv, "p.csv");
  REQUIRE(costs.size() == 2);
  CHECK(costs[0].name == "net, batch 4");
  CHECK(costs[0].amounts[kLatencyCost] == found[0].costs[kLatencyCost]->amount);
  CHECK(costs[0].amounts[kMemoryCost] == found[0].costs[kMemoryCost]->amount);
  CHECK_FALSE(costs[0].amounts[kEnergyCost].has_value());
  const takt::detail::CsvTable table(csv, "p.csv");
  const double low = found[0].costs[kLatencyCost]->amount / found[0].costs[kLatencyCost]->factor.value_or(0);
  CHECK(table.amount(0, table.column("latency_ms_low")) == low);
  CHECK_FALSE(table.amount(1, table.column("latency_ms_low")).has_value());
  CHECK(table.amount(0, table.column("feature.batch")) == 4.0);
  const std::string text = takt::cli::predictions_table(found, {});
  CHECK(takt_test::line_mentions(text, {"net, batch 4", "between", "net, batch 2", "net, batch 5"}));
  CHECK(takt_test::line_mentions(text, {"net, batch 2", "measured"}));
  CHECK(takt_test::line_mentions(text, {"latency_ms", "4 measured values", "neighbours"}));
  CHECK_FALSE(contains(text, "energy_j"));
}

TEST_CASE("Predict: names the MIG slice for the predicted memory if the measurements have one device") {
  Measurements measurements;
  for (const int batch : {1, 10}) {
    auto each = sized("net, batch " + std::to_string(batch), {{"batch", batch}}, batch, 1000.0 * batch);
    each->mig_device = "A100-40GB";
    measurements.push_back(each);
  }
  const std::string json = takt::cli::predictions_json("d", {predict_at(measurements, {{"batch", 6}}, "")});
  CHECK(contains(json, "\"2g.10gb\""));
  auto other = std::make_shared<Measurement>(*measurements[1]);
  other->mig_device = "H100-80GB";
  measurements[1] = other;
  CHECK_FALSE(contains(takt::cli::predictions_json("d", {predict_at(measurements, {{"batch", 6}}, "")}), "2g.10gb"));
}

TEST_CASE("Results file: of several ranks, the newest attempt's lowest rank counts, in any order") {
  const takt_test::Scratch scratch;
  const auto rank = [&](const std::string& name) {
    std::filesystem::create_directories(scratch.path(name));
    takt_test::write_text(scratch.path(name + "/results.csv"), "");
    return RankDirectory(scratch.path(name));
  };
  const auto used = [](const std::vector<RankDirectory>& directories) {
    const std::string name = takt::cli::rank_with("results.csv", directories).name();
    CHECK(takt::cli::rank_with("results.csv", {directories.rbegin(), directories.rend()}).name() == name);
    return name;
  };
  const RankDirectory ten = rank("rank-10-0-5");
  const RankDirectory two = rank("rank-2-0-100");
  CHECK(used({ten, two}) == "rank-2-0-100");
  CHECK(used({ten, two, rank("rank-2-0-99")}) == "rank-2-0-100");
  CHECK(used({two, rank("rank-3-1-7")}) == "rank-3-1-7");
  std::filesystem::create_directories(scratch.path("rank-0-0-1"));
  CHECK(used({two, RankDirectory(scratch.path("rank-0-0-1"))}) == "rank-2-0-100");
  CHECK_THROWS_WITH(takt::cli::rank_with("results.csv", {RankDirectory(scratch.path("rank-0-0-1"))}),
                    takt_test::containing("no results.csv"));
}
