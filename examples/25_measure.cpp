// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Measures the cost of a function: a network layer with three batch sizes. Shows latency, its interval, and with
// TAKT_SAMPLE_MS=10 energy. results.csv in the run directory has a line for each, and `takt predict takt-runs --at
// batch=24` predicts another.
#include <takt/takt.hpp>

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kInputs = 128;
constexpr std::size_t kOutputs = 64;

/// A dense layer with a rectifier.
class Layer {
 public:
  Layer() : weights_(kInputs * kOutputs) {
    for (std::size_t at = 0; at < weights_.size(); ++at) { weights_[at] = static_cast<float>(at % 13) - 6; }
  }
  /// \param x samples of kInputs each. \param y receives kOutputs for each.
  void infer(const std::vector<float>& x, std::vector<float>& y) const {
    for (std::size_t sample = 0; sample * kInputs < x.size(); ++sample) {
      for (std::size_t output = 0; output < kOutputs; ++output) {
        float sum = 0;
        for (std::size_t input = 0; input < kInputs; ++input) {
          sum += weights_[output * kInputs + input] * x[sample * kInputs + input];
        }
        y[sample * kOutputs + output] = sum > 0 ? sum : 0;
      }
    }
  }

 private:
  std::vector<float> weights_;
};

}  // namespace

int main() {
  takt::Session session("measured layer");
  const Layer net;
  // [snippet: measure]
  for (const int batch : {1, 8, 64}) {
    const std::vector<float> x(static_cast<std::size_t>(batch) * kInputs, 0.5F);
    std::vector<float> y(static_cast<std::size_t>(batch) * kOutputs);
    takt::MeasureOptions options;
    options.items = batch;
    options.features = {{"batch", batch}};
    const takt::Measurement found = takt::measure(
        session, "layer, batch " + std::to_string(batch), [&] { net.infer(x, y); }, options);
    std::printf("batch %d: %.3f ms, %.0f samples/s\n", batch, found.host.median_ns / 1e6, found.items_per_s());
  }
  // [end]
  return session.close() ? 0 : 1;
}
