// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Gradients of several micro-batches are summed before the optimizer updates the weights once. Takt's step is the
// optimizer's step: the Batch encloses all its micro-batches, which have a key of their own. So each step has one row,
// with the time of its micro-batches, and samples per second are those of the training.
#include <takt/exporters/memory.hpp>
#include <takt/takt.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

// [snippet: micro-batch-key]
inline constexpr takt::Key MicroBatch{"MicroBatch"};
// [end]

constexpr int kSteps = 40;
constexpr int kMicroBatches = 4;  // gradients that make one step
constexpr int kSamples = 16;      // per micro-batch

/// Fits y = 3 x.
struct Line {
  double slope = 0;
  double gradient = 0;

  static std::vector<double> load(int number) {
    std::vector<double> inputs;
    inputs.reserve(kSamples);
    for (int sample = 0; sample < kSamples; ++sample) { inputs.push_back((number + sample) % 10 / 10.0); }
    return inputs;
  }
  std::vector<double> forward(const std::vector<double>& inputs) const {
    std::vector<double> errors;
    errors.reserve(inputs.size());
    for (const double x : inputs) { errors.push_back((slope - 3) * x); }
    return errors;
  }
  void backward(const std::vector<double>& inputs, const std::vector<double>& errors) {
    for (std::size_t at = 0; at < inputs.size(); ++at) {
      gradient += 2 * errors[at] * inputs[at] / (kMicroBatches * kSamples);
    }
  }
  void update() {
    slope -= gradient;
    gradient = 0;
  }
};

static void train(Line& line) {
  // [snippet: gradient-accumulation]
  for (int step = 0; step < kSteps; ++step) {
    takt::Scope batch(takt::Batch);  // one optimizer step: one row
    for (int part = 0; part < kMicroBatches; ++part) {
      takt::Scope micro(MicroBatch);
      takt::Scope s(takt::IO);
      const std::vector<double> inputs = Line::load(step + part);
      s.lap(takt::Forward);
      const std::vector<double> errors = line.forward(inputs);
      s.lap(takt::Backward);
      line.backward(inputs, errors);  // adds to the gradients
      batch.items(kSamples);          // adds to the samples of the step
    }
    TAKT_SCOPE(takt::Optimizer);
    line.update();
  }
  // [end]
}

/// Returns the number of calls of the path in this row's step.
static std::uint32_t calls_of(const takt::Snapshot& snapshot, const takt::Row& row, const std::string& path) {
  for (const takt::Cell& cell : row.cells) {
    if (cell.path < snapshot.paths.size() && snapshot.path_name(cell.path) == path) { return cell.calls; }
  }
  return 0;
}

int main() {
  takt::SessionOptions options;
  options.files = false;
  options.table = false;
  options.background = false;
  const takt::MemoryExporter memory;
  Line line;
  takt::Session session("accumulation", options);
  session.add(memory);
  train(line);
  session.close();

  const takt::Snapshot last = memory.last();
  const std::vector<takt::Row> rows = memory.rows();
  bool right = rows.size() == kSteps && last.series.size() == 1;
  for (const takt::Row& row : rows) {
    right = right && row.items == kMicroBatches * kSamples;
    right = right && calls_of(last, row, "Batch/MicroBatch") == kMicroBatches;
    right = right && calls_of(last, row, "Batch/MicroBatch/Backward") == kMicroBatches;
    right = right && calls_of(last, row, "Batch/Optimizer") == 1;
  }
  if (!right) { return 1; }
  // After warm-up: samples of the steps over their periods.
  const takt::Throughput& of = last.series[0].throughput;
  const double samples_per_s =
      static_cast<double>(of.steps) * kMicroBatches * kSamples / (static_cast<double>(of.period_ns) / 1e9);
  right = of.steps == kSteps - 10 && std::abs(of.items_per_s - samples_per_s) < 1e-6 * samples_per_s;
  std::printf("%zu rows of %lld samples in %d micro-batches, %.0f samples/s, slope %.4f\n", rows.size(),
              static_cast<long long>(rows[0].items), kMicroBatches, of.items_per_s, line.slope);
  return right && std::abs(line.slope - 3) < 0.01 ? 0 : 1;
}
