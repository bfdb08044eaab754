// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// torch_bench [rounds]: measures the cost of takt::TorchOps for a step of a small network, compared with the same steps
// without it. Each round runs 300 steps of every variant in rotating order; a ratio is the median over rounds.
#include <takt/takt.hpp>
#include <takt/torch.hpp>

#include <torch/nn.h>
#include <torch/optim/sgd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int kSteps = 300;

/// The network of examples/26_libtorch.cpp, on fixed images.
class Training {
 public:
  void step() {
    const takt::Scope batch(takt::Batch);
    takt::Scope s(takt::Forward);
    const at::Tensor loss = torch::nll_loss(torch::log_softmax(network_->forward(images_), 1), labels_);
    s.lap(takt::Backward);
    optimizer_.zero_grad();
    loss.backward();
    s.lap(takt::Other);
    optimizer_.step();
  }

 private:
  torch::nn::Sequential network_{torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 16, 3).padding(1)),
                                 torch::nn::ReLU(),
                                 torch::nn::MaxPool2d(2),
                                 torch::nn::Flatten(),
                                 torch::nn::Linear(256, 64),
                                 torch::nn::ReLU(),
                                 torch::nn::Linear(64, 10)};
  torch::optim::SGD optimizer_{network_->parameters(), torch::optim::SGDOptions(0.01)};
  at::Tensor images_ = at::rand({64, 1, 8, 8});
  at::Tensor labels_ = at::randint(0, 10, {64}, at::kLong);
};

/// Returns the time per step, in µs. \param every 0: without TorchOps.
double steps(Training& training, std::uint32_t every) {
  takt::TorchOpsOptions options;
  if (every != 0) { options.every = every; }
  takt::TorchOps ops(options);
  const auto begin = std::chrono::steady_clock::now();
  for (int n = 0; n < kSteps; ++n) {
    if (every == 0) {
      training.step();
    } else {
      const takt::TorchOps::Step step(ops);
      training.step();
    }
  }
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / kSteps;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 41;
  at::set_num_threads(1);
  Training training;
  const std::array<std::uint32_t, 4> ways = {0, 0, takt::TorchOpsOptions().every, 1};
  const std::array<const char*, 4> names = {"without TorchOps", "without TorchOps, once more",
                                            "TorchOps at its default", "TorchOps, every step"};
  steps(training, 1);
  std::array<std::vector<double>, 4> took;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t at = 0; at < ways.size(); ++at) {
      const std::size_t way = (at + static_cast<std::size_t>(round)) % ways.size();
      took[way].push_back(steps(training, ways[way]));
    }
  }
  for (std::size_t way = 0; way < ways.size(); ++way) {
    std::vector<double> ratios;
    for (std::size_t round = 0; round < took[way].size(); ++round) {
      ratios.push_back(took[way][round] / took[0][round]);
    }
    std::printf("%-28s %8.1f us a step   %+6.2f %%\n", names[way], median(took[way]), 100 * (median(ratios) - 1));
  }
}
