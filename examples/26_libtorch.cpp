// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// The network of 01_digits.cpp with libtorch: the table has the time of each module, and of operators in sampled steps.
// Succeeds if the network classifies 95 % of unseen images correctly.
#include "digits_data.hpp"

#include <takt/takt.hpp>
#include <takt/torch.hpp>

#include <torch/nn.h>
#include <torch/optim/sgd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <random>
#include <string>
#include <tuple>

inline constexpr takt::Key Convolution{"convolution", takt::Kind::compute};
inline constexpr takt::Key Dense{"dense", takt::Kind::compute};

namespace {

constexpr double kWanted = 0.95;
constexpr std::size_t kTrainingImages = 1437;
constexpr std::size_t kBatch = 64;
constexpr int kEpochs = 15;

// [snippet: modules]
/// A convolution and two dense layers. A region around a module times it.
struct NetworkImpl : torch::nn::Module {
  NetworkImpl() {
    register_module("convolution", convolution);
    register_module("dense", dense);
  }
  torch::Tensor forward(const torch::Tensor& images) {
    torch::Tensor found;
    {
      takt::Scope s(Convolution, takt::torch_stream());
      found = torch::max_pool2d(torch::relu(convolution(images)), 2);
    }
    takt::Scope s(Dense, takt::torch_stream());
    return torch::log_softmax(dense->forward(found.flatten(1)), 1);
  }

  torch::nn::Conv2d convolution{torch::nn::Conv2dOptions(1, 16, 3).padding(1)};
  torch::nn::Sequential dense{torch::nn::Linear(256, 64), torch::nn::ReLU(), torch::nn::Linear(64, 10)};
};
TORCH_MODULE(Network);
// [end]

/// Returns images as libtorch tensors, which still use the memory of `batch`.
std::tuple<torch::Tensor, torch::Tensor> tensors_of(digits::Minibatch& batch) {
  const auto side = static_cast<std::int64_t>(digits::kSide);
  return {torch::from_blob(batch.pixels.data(), {batch.count(), 1, side, side}),
          torch::from_blob(batch.labels.data(), {batch.count()}, torch::kUInt8).to(torch::kLong)};
}

class Training {
 public:
  explicit Training(takt::Session& session) : session_(session) {
    takt::Scope s(takt::IO);
    std::int64_t bytes = 0;
    digits::Dataset all = digits::read_csv(TAKT_EXAMPLE_DATA_DIR "/digits.csv", bytes);
    s.bytes(bytes);
    all.shuffle(random_);
    std::tie(training_, test_) = all.split(kTrainingImages);
  }

  // [snippet: step]
  void epoch() {
    takt::Scope epoch(takt::Epoch);
    training_.shuffle(random_);
    for (std::size_t first = 0; first < training_.size(); first += kBatch) {
      takt::Scope batch(takt::Batch);
      const takt::TorchOps::Step step(ops_);  // operators are regions in one step of 50
      {
        takt::Scope io(takt::IO);
        training_.gather(first, kBatch, images_);
      }
      const auto [pixels, labels] = tensors_of(images_);
      {
        takt::Scope forward(takt::Forward, takt::torch_stream());
        loss_ = torch::nll_loss(network_->forward(pixels), labels);
      }
      {
        takt::Scope backward(takt::Backward, takt::torch_stream());
        optimizer_.zero_grad();
        loss_.backward();
      }
      {
        takt::Scope optimizer(takt::Optimizer, takt::torch_stream());
        optimizer_.step();
      }
      batch.items(images_.count());
      session_.metric("loss", loss_.item<double>());
    }
  }
  // [end]

  double accuracy() {
    takt::Scope validation(takt::Validation);
    const torch::NoGradGuard no_gradients;
    test_.gather(0, test_.size(), images_);
    const auto [pixels, labels] = tensors_of(images_);
    return network_->forward(pixels).argmax(1).eq(labels).to(torch::kDouble).mean().item<double>();
  }

 private:
  takt::Session& session_;
  std::mt19937 random_{1};
  digits::Dataset training_;
  digits::Dataset test_;
  digits::Minibatch images_;
  Network network_;
  torch::optim::SGD optimizer_{network_->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9)};
  takt::TorchOps ops_;
  torch::Tensor loss_;
};

}  // namespace

int main() {
  try {
    takt::Session session("libtorch");
    torch::manual_seed(1);
    Training training(session);
    for (int number = 0; number < kEpochs; ++number) { training.epoch(); }
    const double accuracy = training.accuracy();
    session.metric("test_accuracy", accuracy);
    std::printf("test accuracy %.1f %%\n", 100 * accuracy);
    if (accuracy >= kWanted) { return 0; }
    session.fail();
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "libtorch: %s\n", error.what());
    return 2;
  }
}
