// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "digits_data.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace digits {

/// The weights of one layer, their gradient and their velocity. `In` rows of `Out` weights, then a row of biases.
template <std::size_t In, std::size_t Out>
class Weights {
 public:
  /// Draws the weights like He et al. (2015) for rectified units; biases are 0.
  explicit Weights(std::mt19937& random) {
    const float limit = std::sqrt(6.0F / static_cast<float>(In));
    for (std::size_t at = 0; at < In * Out; ++at) {
      value_[at] = limit * (static_cast<float>(random()) / 2147483648.0F - 1.0F);
    }
  }

  const float* row(std::size_t in) const { return &value_[in * Out]; }
  const float* bias() const { return row(In); }
  float* gradient_row(std::size_t in) { return &gradient_[in * Out]; }
  float* bias_gradient() { return gradient_row(In); }
  std::vector<float>& gradient() { return gradient_; }

  /// Makes one step of gradient descent with momentum and resets the gradient to 0.
  void step(float rate, float momentum) {
    for (std::size_t at = 0; at < value_.size(); ++at) {
      velocity_[at] = momentum * velocity_[at] - rate * gradient_[at];
      value_[at] += velocity_[at];
      gradient_[at] = 0;
    }
  }

 private:
  static constexpr std::size_t kCount = (In + 1) * Out;
  std::vector<float> value_ = std::vector<float>(kCount);
  std::vector<float> gradient_ = std::vector<float>(kCount);
  std::vector<float> velocity_ = std::vector<float>(kCount);
};

/// to += x * from: this loop and the next one take most of the time.
template <std::size_t Size>
void add_scaled(float x, const float* from, float* to) {
  for (std::size_t at = 0; at < Size; ++at) { to[at] += x * from[at]; }
}
template <std::size_t Size>
float dot(const float* a, const float* b) {
  std::array<float, 2> sum{};  // two chains of additions instead of one
  for (std::size_t at = 0; at < Size; at += 2) {
    sum[0] += a[at] * b[at];
    sum[1] += a[at + 1] * b[at + 1];
  }
  return sum[0] + sum[1];
}

/// A fully connected layer.
template <std::size_t In, std::size_t Out>
class Dense {
 public:
  explicit Dense(std::mt19937& random) : weights_(random) {}

  void forward(const float* in, float* out) const {
    std::copy_n(weights_.bias(), Out, out);
    for (std::size_t i = 0; i < In; ++i) {
      if (in[i] != 0) { add_scaled<Out>(in[i], weights_.row(i), out); }
    }
  }
  void backward(const float* in, const float* out_gradient, float* in_gradient) {
    add_scaled<Out>(1, out_gradient, weights_.bias_gradient());
    for (std::size_t i = 0; i < In; ++i) {
      // An input of 0 is the output of a rectifier that passes no gradient.
      if (in[i] == 0) {
        in_gradient[i] = 0;
        continue;
      }
      in_gradient[i] = dot<Out>(out_gradient, weights_.row(i));
      add_scaled<Out>(in[i], out_gradient, weights_.gradient_row(i));
    }
  }
  void step(float rate, float momentum) { weights_.step(rate, momentum); }
  std::vector<float>& gradient() { return weights_.gradient(); }

 private:
  Weights<In, Out> weights_;
};

/// A 3 x 3 window over an 8 x 8 image with a border of zeros; the channels of a pixel are adjacent.
template <std::size_t Channels>
class Convolution {
 public:
  explicit Convolution(std::mt19937& random) : weights_(random) {}

  void forward(const float* image, float* out) const {
    for (std::size_t pixel = 0; pixel < kPixels; ++pixel) {
      std::copy_n(weights_.bias(), Channels, out + pixel * Channels);
    }
    for_each_tap(image, [&](float x, std::size_t tap, std::size_t pixel) {
      add_scaled<Channels>(x, weights_.row(tap), out + pixel * Channels);
    });
  }
  void backward(const float* image, const float* out_gradient) {
    for (std::size_t pixel = 0; pixel < kPixels; ++pixel) {
      add_scaled<Channels>(1, out_gradient + pixel * Channels, weights_.bias_gradient());
    }
    for_each_tap(image, [&](float x, std::size_t tap, std::size_t pixel) {
      add_scaled<Channels>(x, out_gradient + pixel * Channels, weights_.gradient_row(tap));
    });
  }
  void step(float rate, float momentum) { weights_.step(rate, momentum); }
  std::vector<float>& gradient() { return weights_.gradient(); }

 private:
  /// Calls visit(input, weight index, output pixel) for each pair that the window connects.
  template <class Visit>
  static void for_each_tap(const float* image, Visit visit) {
    for (std::size_t pixel = 0; pixel < kPixels; ++pixel) {
      for (std::size_t tap = 0; tap < 9; ++tap) {
        const std::size_t y = pixel / kSide + tap / 3;  // one too large, to stay unsigned
        const std::size_t x = pixel % kSide + tap % 3;
        if (y < 1 || y > kSide || x < 1 || x > kSide) { continue; }
        const float input = image[(y - 1) * kSide + x - 1];
        if (input != 0) { visit(input, tap, pixel); }
      }
    }
  }

  Weights<9, Channels> weights_;
};

/// Convolution, rectifier and 2 x 2 maximum, dense layer, rectifier, dense layer, softmax.
class Network {
 public:
  explicit Network(std::mt19937& random) : convolution_(random), hidden_(random), output_(random) {}

  /// Classifies a batch and keeps the data for backward(). Returns the mean cross entropy.
  float forward(const Minibatch& batch) {
    values_.resize(batch.size());
    float loss = 0;
    for (std::size_t image = 0; image < batch.size(); ++image) {
      Values& values = values_[image];
      convolution_.forward(&batch.pixels[image * kPixels], values.convolved.data());
      pool(values);
      hidden_.forward(values.pooled.data(), values.hidden.data());
      for (float& unit : values.hidden) { unit = std::max(unit, 0.0F); }
      output_.forward(values.hidden.data(), values.probability.data());
      softmax(values.probability);
      loss -= std::log(std::max(values.probability[batch.labels[image]], 1e-12F));
    }
    return loss / static_cast<float>(batch.size());
  }

  /// Adds the gradients of the mean loss of the last batch of forward().
  void backward(const Minibatch& batch) {
    Values gradient;
    for (std::size_t image = 0; image < batch.size(); ++image) {
      const Values& values = values_[image];
      for (std::size_t digit = 0; digit < kClasses; ++digit) {
        const float wanted = digit == batch.labels[image] ? 1.0F : 0.0F;
        gradient.probability[digit] = (values.probability[digit] - wanted) / static_cast<float>(batch.size());
      }
      output_.backward(values.hidden.data(), gradient.probability.data(), gradient.hidden.data());
      hidden_.backward(values.pooled.data(), gradient.hidden.data(), gradient.pooled.data());
      unpool(values, gradient);
      convolution_.backward(&batch.pixels[image * kPixels], gradient.convolved.data());
    }
  }

  /// Moves the weights against the gradient.
  void step(float rate) {
    convolution_.step(rate, kMomentum);
    hidden_.step(rate, kMomentum);
    output_.step(rate, kMomentum);
  }

  /// The gradients of the three layers, for training with several processes.
  std::array<std::vector<float>*, 3> gradients() {
    return {&convolution_.gradient(), &hidden_.gradient(), &output_.gradient()};
  }

  /// Returns the number of correctly classified images in the last batch of forward().
  std::size_t hits(const Minibatch& batch) const {
    std::size_t count = 0;
    for (std::size_t image = 0; image < batch.size(); ++image) {
      const auto& probability = values_[image].probability;
      const auto guess = std::max_element(probability.begin(), probability.end()) - probability.begin();
      count += guess == batch.labels[image] ? 1U : 0U;
    }
    return count;
  }

 private:
  static constexpr float kMomentum = 0.9F;
  static constexpr std::size_t kChannels = 16;
  static constexpr std::size_t kHalf = kSide / 2;
  static constexpr std::size_t kHidden = 64;

  /// Layer outputs for one image; also their gradients.
  struct Values {
    std::array<float, kPixels * kChannels> convolved{};
    std::array<float, kHalf * kHalf * kChannels> pooled{};
    std::array<float, kHidden> hidden{};
    std::array<float, kClasses> probability{};
  };

  /// Returns the index in `convolved` of corner `corner` (0 to 3) of the 2 x 2 block of pooled value `at`.
  static std::size_t corner_of(std::size_t at, std::size_t corner) {
    const std::size_t block = at / kChannels;
    const std::size_t y = block / kHalf * 2 + corner / 2;
    const std::size_t x = block % kHalf * 2 + corner % 2;
    return (y * kSide + x) * kChannels + at % kChannels;
  }
  static void pool(Values& values) {
    for (std::size_t at = 0; at < values.pooled.size(); ++at) {
      float best = 0;  // starting at 0 includes the rectifier
      for (std::size_t corner = 0; corner < 4; ++corner) {
        best = std::max(best, values.convolved[corner_of(at, corner)]);
      }
      values.pooled[at] = best;
    }
  }
  static void unpool(const Values& values, Values& gradient) {
    gradient.convolved.fill(0);
    for (std::size_t at = 0; at < values.pooled.size(); ++at) {
      for (std::size_t corner = 0; corner < 4 && values.pooled[at] > 0; ++corner) {
        const std::size_t place = corner_of(at, corner);
        if (values.convolved[place] != values.pooled[at]) { continue; }
        gradient.convolved[place] = gradient.pooled[at];
        break;
      }
    }
  }
  static void softmax(std::array<float, kClasses>& values) {
    const float max = *std::max_element(values.begin(), values.end());
    float sum = 0;
    for (float& value : values) {
      value = std::exp(value - max);
      sum += value;
    }
    for (float& value : values) { value /= sum; }
  }

  Convolution<kChannels> convolution_;
  Dense<kHalf * kHalf * kChannels, kHidden> hidden_;
  Dense<kHidden, kClasses> output_;
  std::vector<Values> values_;
};

}  // namespace digits
