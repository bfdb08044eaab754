// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#ifdef PROXY_ON_GPU  // the runtime's header is included
#define PROXY_BOTH __host__ __device__
#else
#define PROXY_BOTH
#endif

namespace proxy {

/// A small recurrent network: reads the metrics of a mesh node step by step, and decides if the node is to relax. Owns
/// nothing.
struct Network {
  static constexpr int kMetrics = 5;
  static constexpr int kSteps = 10;
  static constexpr int kHidden = 16;
  static constexpr int kValues = kMetrics * kSteps;  // per node
  static constexpr int kWeights = kMetrics * kHidden + kHidden * kHidden + 2 * kHidden + 1;

  const float* weights;  ///< from metrics, from hidden units, biases, to the output, its bias

  /// Returns the output for one node; above 0: relax it. \param node kMetrics rows of kSteps values.
  PROXY_BOTH float output(const float* node) const {
    const float* const from_metrics = weights;
    const float* const from_hidden = from_metrics + kMetrics * kHidden;
    const float* const bias = from_hidden + kHidden * kHidden;
    const float* const to_output = bias + kHidden;
    float hidden[kHidden] = {};
    for (int step = 0; step < kSteps; ++step) {
      float next[kHidden];
      for (int unit = 0; unit < kHidden; ++unit) {
        float sum = bias[unit];
        for (int metric = 0; metric < kMetrics; ++metric) {
          sum += node[metric * kSteps + step] * from_metrics[metric * kHidden + unit];
        }
        for (int other = 0; other < kHidden; ++other) { sum += hidden[other] * from_hidden[other * kHidden + unit]; }
        next[unit] = std::tanh(sum);
      }
      for (int unit = 0; unit < kHidden; ++unit) { hidden[unit] = next[unit]; }
    }
    float sum = to_output[kHidden];
    for (int unit = 0; unit < kHidden; ++unit) { sum += hidden[unit] * to_output[unit]; }
    return sum;
  }
};

/// Writes the network's answer for one node of a batch; a kernel does this for all nodes at once.
struct Relax {
  Network network;
  const float* nodes;
  std::uint8_t* answers;

  PROXY_BOTH void operator()(int node, int) const {
    const std::size_t at = static_cast<std::size_t>(node);
    answers[at] = network.output(nodes + at * static_cast<std::size_t>(Network::kValues)) > 0 ? 1 : 0;
  }
};

}  // namespace proxy
