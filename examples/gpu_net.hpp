// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// A network with one hidden layer, as operations on single elements. A kernel applies an operation to all elements at
// once, the host to one after the other, so the host can check the GPU's results.

#include "gpu_runtime.hpp"

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

namespace gpu {

struct Shape {
  int samples;  ///< samples per batch
  int inputs;
  int hidden;
  int outputs;
};

/// Pointers to the numbers of a network, on the device or on the host; all row by row. Owns nothing.
struct Network {
  Shape shape;
  float* first;   ///< weights, inputs x hidden
  float* second;  ///< weights, hidden x outputs
  float* hidden;  ///< samples x hidden
  float* error;   ///< samples x outputs
  float* slope;   ///< hidden layer, samples x hidden
  float* first_gradient;
  float* second_gradient;
  float* loss;  ///< one per sample

  /// Returns the total number of values.
  static std::size_t size(const Shape& s) {
    const std::size_t weights = count(s.inputs, s.hidden) + count(s.hidden, s.outputs);
    return 2 * weights + 2 * count(s.samples, s.hidden) + count(s.samples, s.outputs) + count(s.samples, 1);
  }
  static std::size_t count(int rows, int columns) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  }
  /// \param memory space for size() values; the weights are first.
  Network(const Shape& s, float* memory)
      : shape(s),
        first(memory),
        second(first + count(s.inputs, s.hidden)),
        hidden(second + count(s.hidden, s.outputs)),
        error(hidden + count(s.samples, s.hidden)),
        slope(error + count(s.samples, s.outputs)),
        first_gradient(slope + count(s.samples, s.hidden)),
        second_gradient(first_gradient + count(s.inputs, s.hidden)),
        loss(second_gradient + count(s.hidden, s.outputs)) {}
};

/// A batch: samples x inputs, then samples x wanted outputs. Owns nothing.
struct Batch {
  const float* inputs;
  const float* wanted;

  static std::size_t size(const Shape& s) {
    return Network::count(s.samples, s.inputs) + Network::count(s.samples, s.outputs);
  }
  Batch(const Shape& s, const float* memory) : inputs(memory), wanted(memory + Network::count(s.samples, s.inputs)) {}
};

__host__ __device__ inline std::size_t at(int row, int column, int columns) {
  return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) + static_cast<std::size_t>(column);
}
__host__ __device__ inline float dot(const float* a, int step_a, const float* b, int step_b, int count) {
  float sum = 0;
  for (int k = 0; k < count; ++k) { sum += a[at(k, 0, step_a)] * b[at(k, 0, step_b)]; }
  return sum;
}

// The operations on one element.
struct Hidden {
  Network n;
  Batch b;
  __host__ __device__ void operator()(int row, int column) const {
    const Shape& s = n.shape;
    const float sum = dot(b.inputs + at(row, 0, s.inputs), 1, n.first + column, s.hidden, s.inputs);
    n.hidden[at(row, column, s.hidden)] = sum > 0 ? sum : 0;
  }
};
struct Error {
  Network n;
  Batch b;
  __host__ __device__ void operator()(int row, int column) const {
    const Shape& s = n.shape;
    const float output = dot(n.hidden + at(row, 0, s.hidden), 1, n.second + column, s.outputs, s.hidden);
    n.error[at(row, column, s.outputs)] = output - b.wanted[at(row, column, s.outputs)];
  }
};
struct Loss {
  Network n;
  __host__ __device__ void operator()(int row, int) const {
    const float* const error = n.error + at(row, 0, n.shape.outputs);
    n.loss[row] = dot(error, 1, error, 1, n.shape.outputs);
  }
};
struct Slope {
  Network n;
  __host__ __device__ void operator()(int row, int column) const {
    const Shape& s = n.shape;
    const float sum = dot(n.error + at(row, 0, s.outputs), 1, n.second + at(column, 0, s.outputs), 1, s.outputs);
    n.slope[at(row, column, s.hidden)] = n.hidden[at(row, column, s.hidden)] > 0 ? sum : 0;
  }
};
struct SecondGradient {
  Network n;
  __host__ __device__ void operator()(int row, int column) const {
    const Shape& s = n.shape;
    n.second_gradient[at(row, column, s.outputs)] =
        dot(n.hidden + row, s.hidden, n.error + column, s.outputs, s.samples);
  }
};
struct FirstGradient {
  Network n;
  Batch b;
  __host__ __device__ void operator()(int row, int column) const {
    const Shape& s = n.shape;
    n.first_gradient[at(row, column, s.hidden)] = dot(b.inputs + row, s.inputs, n.slope + column, s.hidden, s.samples);
  }
};
struct Descend {
  float* weights;
  const float* gradient;
  int columns;
  float rate;
  __host__ __device__ void operator()(int row, int column) const {
    weights[at(row, column, columns)] -= rate * gradient[at(row, column, columns)];
  }
};

/// Applies an operation to `rows` x `columns` elements, starting at row `begin`.
template <class Operation>
__global__ void for_each(Operation operation, int begin, int rows, int columns) {
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int row = static_cast<int>(blockIdx.y);
  if (row < rows && column < columns) { operation(begin + row, column); }
}

/// Runs operations on a stream.
class OnDevice {
 public:
  explicit OnDevice(GPU(Stream_t) stream) : stream_(stream) {}
  template <class Operation>
  void operator()(const Operation& operation, int rows, int columns, int begin = 0) const {
    constexpr unsigned kThreads = 128;
    const dim3 blocks((static_cast<unsigned>(columns) + kThreads - 1) / kThreads, static_cast<unsigned>(rows));
    GPU_LAUNCH(for_each<Operation>, blocks, dim3(kThreads), stream_, operation, begin, rows, columns);
    GPU_CHECK(GPU(GetLastError)());
  }

 private:
  GPU(Stream_t) stream_;
};
/// Runs the same operations immediately on the host.
struct OnHost {
  template <class Operation>
  void operator()(const Operation& operation, int rows, int columns, int begin = 0) const {
    for (int row = begin; row < begin + rows; ++row) {
      for (int column = 0; column < columns; ++column) { operation(row, column); }
    }
  }
};

// The parts of a training step, run by OnDevice or OnHost.
template <class Do>
void hidden_layer(const Do& each, const Network& n, const Batch& b, int begin, int rows) {
  each(Hidden{n, b}, rows, n.shape.hidden, begin);
}
template <class Do>
void output_layer(const Do& each, const Network& n, const Batch& b) {
  each(Error{n, b}, n.shape.samples, n.shape.outputs);
  each(Loss{n}, n.shape.samples, 1);
}
template <class Do>
void backward(const Do& each, const Network& n, const Batch& b) {
  each(Slope{n}, n.shape.samples, n.shape.hidden);
  each(SecondGradient{n}, n.shape.hidden, n.shape.outputs);
  each(FirstGradient{n, b}, n.shape.inputs, n.shape.hidden);
}
template <class Do>
void descend(const Do& each, const Network& n, float rate) {
  const float scaled = rate / static_cast<float>(n.shape.samples);
  each(Descend{n.first, n.first_gradient, n.shape.hidden, scaled}, n.shape.inputs, n.shape.hidden);
  each(Descend{n.second, n.second_gradient, n.shape.outputs, scaled}, n.shape.hidden, n.shape.outputs);
}

/// Returns the mean loss over a batch's samples.
inline double mean_loss(const float* loss, int samples) {
  double sum = 0;
  for (int row = 0; row < samples; ++row) { sum += static_cast<double>(loss[row]); }
  return sum / samples;
}

/// Random values with mean 0 and variance 1, fast to generate.
class RandomValue {
 public:
  explicit RandomValue(std::mt19937& random) : random_(random) {}
  float operator()() { return uniform_(random_); }

 private:
  std::mt19937& random_;
  std::uniform_real_distribution<float> uniform_{-1.7320508F, 1.7320508F};
};

/// Returns small random initial weights.
inline std::vector<float> random_weights(const Shape& s, std::mt19937& random) {
  RandomValue value(random);
  std::vector<float> weights(Network::count(s.inputs, s.hidden) + Network::count(s.hidden, s.outputs));
  const std::size_t first = Network::count(s.inputs, s.hidden);
  for (std::size_t k = 0; k < weights.size(); ++k) {
    weights[k] = value() / std::sqrt(static_cast<float>(k < first ? s.inputs : s.hidden));
  }
  return weights;
}

/// Returns a batch of random inputs; the wanted outputs are sums of some of them, clipped at 0.
inline std::vector<float> random_batch(const Shape& s, std::mt19937& random) {
  constexpr int kTerms = 4;
  RandomValue value(random);
  std::vector<float> batch(Batch::size(s));
  float* const wanted = batch.data() + Network::count(s.samples, s.inputs);
  for (int row = 0; row < s.samples; ++row) {
    float* const inputs = batch.data() + at(row, 0, s.inputs);
    for (int column = 0; column < s.inputs; ++column) { inputs[column] = value(); }
    for (int column = 0; column < s.outputs; ++column) {
      float sum = 0;
      for (int term = 0; term < kTerms; ++term) { sum += inputs[(column + term) % s.inputs]; }
      wanted[at(row, column, s.outputs)] = sum > 0 ? sum : 0;
    }
  }
  return batch;
}

}  // namespace gpu
