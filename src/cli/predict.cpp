// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/predict.hpp"

#include "base/format.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/run_directory.hpp"
#include "measure/mig_slices.hpp"
#include "report/csv.hpp"
#include "report/text_table.hpp"

#include <takt/error.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fnmatch.h>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

constexpr std::size_t kMemory = 1;  // in kModelCosts
constexpr std::size_t kMinLeftOut = 4;
constexpr std::size_t kMaxNamesShown = 4;

[[noreturn]] void refuse_prediction(const std::string& why) { throw Error("no prediction: " + why); }

std::string number_text(double value) { return detail::format("{}", value); }

std::string shown_measurement(const std::string& name) { return detail::fit(detail::printable(name), 60); }

std::optional<double> value_of_feature(const MeasuredFeatures& features, const std::string& name) {
  for (const auto& [known, value] : features) {
    if (known == name) { return value; }
  }
  return std::nullopt;
}

/// Returns "a, b, c, d, ..." of different texts.
std::string listing(const std::set<std::string>& texts) {
  std::string text;
  std::size_t count = 0;
  for (const std::string& each : texts) {
    if (count == kMaxNamesShown) { return text + ", ..."; }
    text += (count++ == 0 ? "" : ", ") + each;
  }
  return text.empty() ? "none" : text;
}

Measurements named(const Measurements& measurements, const std::string& pattern) {
  Measurements found;
  std::set<std::string> names;
  for (const auto& each : measurements) {
    names.insert(shown_measurement(each->name));
    if (pattern.empty() || ::fnmatch(pattern.c_str(), each->name.c_str(), 0) == 0) { found.push_back(each); }
  }
  if (found.empty()) {
    refuse_prediction(
        detail::format("no measurement's name matches '{}'; names: {}", shown_measurement(pattern), listing(names)));
  }
  return found;
}

/// Returns measurements with this feature, and with this value unless it is empty.
Measurements with_feature(const Measurements& measurements, const std::string& name, std::optional<double> value) {
  Measurements found;
  std::set<std::string> known;
  for (const auto& each : measurements) {
    const std::optional<double> has = value_of_feature(each->features, name);
    if (has && (!value || *has == *value)) { found.push_back(each); }
    if (has && value) { known.insert(number_text(*has)); }
    for (const auto& feature : each->features) {
      if (!value) { known.insert(feature.first); }
    }
  }
  if (!found.empty()) { return found; }
  refuse_prediction(value ? detail::format("no measurement has {} = {}; measured: {}", name, *value, listing(known))
                          : detail::format("no measurement has the feature {} (MeasureOptions::features); features: {}",
                                           name, listing(known)));
}

/// Rejects measurements that differ in features without a value in `at`.
void check_other_features(const Measurements& measurements, const MeasuredFeatures& at) {
  const auto others = [&at](const Measurement& measurement) {
    std::map<std::string, double> features(measurement.features.begin(), measurement.features.end());
    for (const auto& each : at) { features.erase(each.first); }
    return features;
  };
  const std::map<std::string, double> first = others(*measurements.front());
  for (const auto& each : measurements) {
    std::map<std::string, double> all = others(*each);
    for (const auto& [name, value] : first) {
      const auto [same, is_new] = all.emplace(name, value);
      if (!is_new && same->second == value) { all.erase(same); }
    }
    if (all.empty()) { continue; }
    const std::string& differs = all.begin()->first;
    refuse_prediction(
        detail::format("the measurements differ in {}; add {}=VALUE to --at, or choose with --name", differs, differs));
  }
}

/// Returns the name with '\1' for its last size, or each one; empty if it contains none. Names have no '\1'.
std::string without_size(std::string name, const std::string& size, bool each) {
  const auto is_digit = [&name](std::size_t at) { return at < name.size() && name[at] >= '0' && name[at] <= '9'; };
  bool any = false;
  for (std::size_t at = name.rfind(size); at != std::string::npos; at = at == 0 ? at - 1 : name.rfind(size, at - 1)) {
    const std::size_t end = at + size.size();
    const bool begins = at == 0 || (!is_digit(at - 1) && name[at - 1] != '.');
    if (!begins || is_digit(end) || (end < name.size() && name[end] == '.' && is_digit(end + 1))) { continue; }
    name.replace(at, size.size(), 1, '\1');
    any = true;
    if (!each) { break; }
  }
  return any ? name : std::string();
}

/// Returns the names' common form with '\1' for the size; empty: they have none.
std::string common_form(const Measurements& measurements, const std::string& feature) {
  for (const bool each : {false, true}) {
    std::set<std::string> forms;
    for (const auto& measurement : measurements) {
      const double size = value_of_feature(measurement->features, feature).value_or(0);
      forms.insert(without_size(measurement->name, number_text(size), each));
    }
    if (forms.size() == 1 && !forms.begin()->empty()) { return *forms.begin(); }
  }
  return "";
}

std::string point_text(const MeasuredFeatures& at) {
  std::string text;
  for (const auto& [name, value] : at) { text += detail::format("{}{}={}", text.empty() ? "" : ",", name, value); }
  return text;
}

std::string name_of_prediction(std::string form, const MeasuredFeatures& at) {
  if (form.empty()) { return point_text(at); }
  for (std::size_t sign = form.find('\1'); sign != std::string::npos; sign = form.find('\1')) {
    form.replace(sign, 1, number_text(at.front().second));
  }
  return form;
}

/// A measurement and its value of the feature.
struct MeasuredSize {
  double size;
  std::shared_ptr<const Measurement> of;
};

/// Sorts by size. Rejects sizes that are not positive, and two measurements of one size.
std::vector<MeasuredSize> sizes_of(const Measurements& measurements, const std::string& feature) {
  std::vector<MeasuredSize> sizes;
  for (const auto& each : measurements) {
    sizes.push_back({value_of_feature(each->features, feature).value_or(0), each});
    if (sizes.back().size <= 0) {
      refuse_prediction(detail::format("{} of {} is {}; a feature must be above 0 for its logarithm", feature,
                                       shown_measurement(each->name), sizes.back().size));
    }
  }
  std::sort(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.size < b.size; });
  const auto twice =
      std::adjacent_find(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.size == b.size; });
  if (twice != sizes.end()) {
    refuse_prediction(detail::format("two measurements have {} = {}: {}; and {}; choose one model with --name", feature,
                                     twice->size, shown_measurement(twice->of->name),
                                     shown_measurement((twice + 1)->of->name)));
  }
  return sizes;
}

/// Returns an amount in the unit of kModelCosts; empty if it is unknown or 0, which has no logarithm.
std::optional<double> amount_of(const Measurement& measurement, std::size_t cost) {
  const double amount = cost == 0         ? measurement.host.mean_ns / 1e6
                        : cost == kMemory ? static_cast<double>(measurement.memory_bytes.value_or(0)) / 1e6
                                          : measurement.joules.value_or(0);
  return amount > 0 ? std::optional(amount) : std::nullopt;
}

/// Returns the amount at a size between two measured ones.
std::optional<double> amount_between(const MeasuredSize& low, const MeasuredSize& high, double size, std::size_t cost) {
  const std::optional<double> first = amount_of(*low.of, cost);
  const std::optional<double> last = amount_of(*high.of, cost);
  if (!first || !last || low.size == high.size) { return low.size == high.size ? first : std::nullopt; }
  if (cost == kMemory) { return *first + (*last - *first) * (size - low.size) / (high.size - low.size); }
  const double share = std::log(size / low.size) / std::log(high.size / low.size);
  return *first * std::pow(*last / *first, share);
}

/// Predicts each inner size from its neighbours.
void add_left_out(const std::vector<MeasuredSize>& sizes, std::size_t cost, PredictedCost& predicted) {
  double largest = 0;
  for (std::size_t at = 1; at + 1 < sizes.size(); ++at) {
    const std::optional<double> measured = amount_of(*sizes[at].of, cost);
    const std::optional<double> found = amount_between(sizes[at - 1], sizes[at + 1], sizes[at].size, cost);
    if (!measured || !found) { continue; }
    ++predicted.left_out;
    largest = std::max(largest, std::fabs(std::log(*found / *measured)));
  }
  if (predicted.left_out >= kMinLeftOut) { predicted.factor = std::exp(largest); }
}

}  // namespace

Prediction predict_at(const Measurements& measurements, const MeasuredFeatures& at, const std::string& pattern) {
  const auto& [feature, wanted] = at.front();
  Measurements chosen = with_feature(named(measurements, pattern), feature, std::nullopt);
  for (std::size_t each = 1; each < at.size(); ++each) {
    chosen = with_feature(chosen, at[each].first, at[each].second);
  }
  check_other_features(chosen, at);
  const std::string form = common_form(chosen, feature);
  if (form.empty() && pattern.empty()) {
    std::set<std::string> names;
    for (const auto& each : chosen) { names.insert(shown_measurement(each->name)); }
    refuse_prediction(
        detail::format("names that differ in more than {} may be of several models: {}; choose one "
                       "model with --name PATTERN",
                       feature, listing(names)));
  }
  const std::vector<MeasuredSize> sizes = sizes_of(chosen, feature);
  const double min = sizes.front().size;
  const double max = sizes.back().size;
  if (sizes.size() < 2) {
    refuse_prediction(detail::format("it needs two measured values of {}, and only {} was measured", feature, min));
  }
  if (wanted < min || wanted > max) {
    refuse_prediction(detail::format("{} = {} is outside the measured range, {} to {}; measure a value beyond it",
                                     feature, wanted, min, max));
  }
  const auto high = std::lower_bound(sizes.begin(), sizes.end(), wanted,
                                     [](const MeasuredSize& each, double size) { return each.size < size; });
  const auto low = high->size == wanted ? high : high - 1;
  Prediction prediction = {name_of_prediction(form, at), at, sizes.size(), min, max, {low->of}, {}, {}};
  if (low != high) { prediction.between.push_back(high->of); }
  for (std::size_t cost = 0; cost < prediction.costs.size(); ++cost) {
    const std::optional<double> amount = amount_between(*low, *high, wanted, cost);
    if (!amount) { continue; }
    PredictedCost predicted = {*amount, 0, {}};
    if (low != high) { add_left_out(sizes, cost, predicted); }
    prediction.costs[cost] = predicted;
  }
  if (low->of->mig_device == high->of->mig_device) { prediction.mig_device = low->of->mig_device; }
  return prediction;
}

MeasuredFeatures parse_point(const std::string& text) {
  MeasuredFeatures at;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const std::size_t sign = std::min(part.find('='), part.size());
    const std::string name = part.substr(0, sign);
    const std::string number = part.substr(std::min(sign + 1, part.size()));
    double value = 0;
    const auto [stopped, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (!detail::is_feature_name(name) || number.empty() || error != std::errc() ||
        stopped != number.data() + number.size() || !std::isfinite(value)) {
      throw Error(detail::format("'{}' is not NAME=NUMBER, such as batch=24", shown_measurement(part)));
    }
    if (value_of_feature(at, name)) { throw Error(detail::format("{} is given twice", name)); }
    at.emplace_back(name, value);
    begin = end + 1;
  }
  return at;
}

std::string why_no_point(const std::string& text) {
  try {
    parse_point(text);
  } catch (const Error& error) { return error.what(); }
  return "";
}

int predict(const PredictOptions& options) {
  const RankDirectory directory = rank_with(
      "results.json",
      rank_directories(options.run.empty() ? std::vector<std::string>() : std::vector<std::string>{options.run}));
  std::string error;
  const Measurements measurements = read_results(directory, error);
  if (!error.empty()) { throw Error(detail::printable(directory.path()) + "/results.json " + error); }
  if (measurements.empty()) { throw Error(detail::printable(directory.path()) + "/results.json has no measurements"); }
  std::vector<Prediction> predictions;
  for (const std::string& each : options.at) {
    predictions.push_back(predict_at(measurements, parse_point(each), options.name));
  }
  detail::print(stdout, "{}",
                options.form == PredictForm::csv    ? predictions_csv(predictions)
                : options.form == PredictForm::json ? predictions_json(directory.path(), predictions)
                                                    : predictions_table(predictions, options.drawn));
  return 0;
}

namespace {

using detail::JsonText;
using detail::TextTable;
using PredictionLines = std::vector<std::string>;

std::string predicted_text(double amount) { return detail::format("{:.6g}", amount); }

std::optional<detail::MigFit> mig_fit_of(const Prediction& prediction) {
  const std::optional<PredictedCost>& memory = prediction.costs[kMemory];
  if (!memory) { return std::nullopt; }
  return detail::mig_fit(static_cast<std::int64_t>(std::llround(memory->amount * 1e6)), prediction.mig_device);
}

void add_basis(const Prediction& prediction, PredictionLines& lines) {
  const std::string name = detail::printable(prediction.name);
  const std::string& feature = prediction.at.front().first;
  const auto measured = [&feature](const Measurement& of) {
    return detail::format("{} ({} {})", detail::printable(of.name), feature,
                          value_of_feature(of.features, feature).value_or(0));
  };
  const Measurement& low = *prediction.between.front();
  lines.push_back(prediction.between.size() == 1
                      ? detail::format("{}: measured as {}", name, measured(low))
                      : detail::format("{}: between {} and {}, the nearest of {} measured values of {}", name,
                                       measured(low), measured(*prediction.between.back()), prediction.sizes, feature));
  if (const auto fit = mig_fit_of(prediction)) { lines.push_back(name + ": " + mig_text(*fit)); }
}

/// Says what an interval is, or what it needs; a line of several predictions is added once.
void add_interval(const char* cost, const PredictedCost& predicted, PredictionLines& lines) {
  const std::string line = predicted.factor
                               ? detail::format(
                                     "{}: low and high are the prediction divided and multiplied by {:.4g}, the "
                                     "largest error of {} measured values predicted from their neighbours",
                                     cost, *predicted.factor, predicted.left_out)
                               : detail::format(
                                     "{}: no interval: it needs {} measured values with neighbours, thus 6 values, "
                                     "and has {}",
                                     cost, kMinLeftOut, predicted.left_out);
  if (std::find(lines.begin(), lines.end(), line) == lines.end()) { lines.push_back(line); }
}

void add_predicted_cost(std::size_t cost, const std::vector<Prediction>& predictions, detail::Page& page) {
  const char* const head = detail::kModelCosts[cost];
  std::vector<TextTable::Line> lines;
  PredictionLines notes;
  for (const Prediction& each : predictions) {
    const std::optional<PredictedCost>& predicted = each.costs[cost];
    if (!predicted) { continue; }
    const std::optional<double>& factor = predicted->factor;
    lines.push_back({detail::printable(each.name),
                     0,
                     {predicted_text(predicted->amount), factor ? predicted_text(predicted->amount / *factor) : "-",
                      factor ? predicted_text(predicted->amount * *factor) : "-"}});
    if (each.between.size() > 1) { add_interval(head, *predicted, notes); }
  }
  if (lines.empty()) { return; }
  const TextTable table({{"predicted", 0}, {"low", 0}, {"high", 0}}, std::move(lines), page.width(), head);
  page.add({table.head()}, detail::Page::Style::bold);
  page.add(table.body(), detail::Page::Style::plain);
  page.add(notes, detail::Page::Style::dim);
  page.gap();
}

JsonText predicted_json(const std::optional<PredictedCost>& cost) {
  if (!cost) { return {}; }
  const std::optional<double>& factor = cost->factor;
  return {{"predicted", cost->amount},
          {"low", factor ? JsonText(cost->amount / *factor) : JsonText()},
          {"high", factor ? JsonText(cost->amount * *factor) : JsonText()},
          {"left_out", cost->left_out}};
}

JsonText prediction_element(const Prediction& prediction) {
  JsonText at = JsonText::array();
  for (const auto& [name, value] : prediction.at) { at.push_back({{"name", name}, {"value", value}}); }
  JsonText between = JsonText::array();
  for (const auto& each : prediction.between) { between.push_back(each->name); }
  JsonText json = {{"name", prediction.name}, {"features", at},        {"measured", prediction.sizes},
                   {"min", prediction.min},   {"max", prediction.max}, {"between", between}};
  for (std::size_t cost = 0; cost < prediction.costs.size(); ++cost) {
    json.add(detail::kModelCosts[cost], predicted_json(prediction.costs[cost]));
  }
  const auto fit = mig_fit_of(prediction);
  json.add("mig_device", fit ? JsonText(fit->device->name) : JsonText());
  json.add("mig_profile", fit ? JsonText(fit->profile) : JsonText());
  return json;
}

}  // namespace

std::string predictions_table(const std::vector<Prediction>& predictions, const ConsoleOptions& drawn) {
  detail::Page page = detail::page_on_stdout(drawn);
  for (std::size_t cost = 0; cost < detail::kModelCosts.size(); ++cost) { add_predicted_cost(cost, predictions, page); }
  PredictionLines basis;
  for (const Prediction& each : predictions) { add_basis(each, basis); }
  page.add(basis, detail::Page::Style::dim);
  return page.text();
}

std::string predictions_json(const std::string& directory, const std::vector<Prediction>& predictions) {
  JsonText list = JsonText::array();
  for (const Prediction& each : predictions) { list.push_back(prediction_element(each)); }
  const JsonText document = {{"schema", "takt-predict/1"}, {"directory", directory}, {"predictions", list}};
  return detail::printable_json(document.indented()) + "\n";
}

std::string predictions_csv(const std::vector<Prediction>& predictions) {
  std::vector<std::string> features;
  for (const Prediction& prediction : predictions) {
    for (const auto& each : prediction.at) {
      if (std::find(features.begin(), features.end(), each.first) == features.end()) { features.push_back(each.first); }
    }
  }
  std::string text = "name";
  for (const char* each : detail::kModelCosts) { text += detail::format(",{}", each); }
  for (const char* each : detail::kModelCosts) { text += detail::format(",{}_low,{}_high", each, each); }
  for (const std::string& each : features) { text += ",feature." + each; }
  text += '\n';
  const auto field = [](const std::optional<double>& value) { return value ? detail::format(",{}", *value) : ","; };
  for (const Prediction& prediction : predictions) {
    text += detail::csv_field(prediction.name);
    for (const auto& cost : prediction.costs) { text += field(cost ? std::optional(cost->amount) : std::nullopt); }
    for (const auto& cost : prediction.costs) {
      const bool has = cost && cost->factor;
      text += has ? detail::format(",{},{}", cost->amount / *cost->factor, cost->amount * *cost->factor) : ",,";
    }
    for (const std::string& each : features) { text += field(value_of_feature(prediction.at, each)); }
    text += '\n';
  }
  return text;
}

}  // namespace cli
TAKT_END_NAMESPACE
