// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Several processes train one network: each takes its share of a batch, and MPI_Allreduce sums the gradients. Takt
// treats them all as one run, under any launcher:
//     mpirun -n 4 example_23_mpi_training [--epochs N] [--slow-rank R --by MS]
#include "digits_data.hpp"
#include "digits_net.hpp"

#include <takt/mpi.hpp>
#include <takt/takt.hpp>

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace {

constexpr double kWanted = 0.95;
constexpr std::size_t kTrainingImages = 1437;
constexpr std::size_t kBatch = 64;  // over all ranks
constexpr float kRate = 0.05F;

struct Options {
  std::string data = TAKT_EXAMPLE_DATA_DIR "/digits.csv";
  int epochs = 15;
  int slow_rank = -1;
  int by_ms = 0;
};

Options read_options(int argc, char** argv) {
  Options options;
  for (int at = 1; at + 1 < argc; at += 2) {
    const std::string name = argv[at];
    const int value = std::atoi(argv[at + 1]);
    if (name == "--epochs") {
      options.epochs = value;
    } else if (name == "--slow-rank") {
      options.slow_rank = value;
    } else if (name == "--by") {
      options.by_ms = value;
    } else {
      throw std::runtime_error(name +
                               ": unknown option; the options are --epochs N, --slow-rank RANK and --by MILLISECONDS");
    }
  }
  return options;
}

/// The ranks and their common operations.
class Ranks {
 public:
  Ranks() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  int rank() const { return rank_; }
  std::size_t index() const { return static_cast<std::size_t>(rank_); }
  std::size_t count() const { return static_cast<std::size_t>(size_); }

  void add_up(std::vector<float>& values) const {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
  double add_up(double value) const {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return value;
  }

 private:
  int rank_ = 0;
  int size_ = 1;
};

/// This rank's part of a range of `count` that starts at `first`.
struct Share {
  Share(const Ranks& ranks, std::size_t first, std::size_t count)
      : begin(first + count * ranks.index() / ranks.count()),
        size(first + count * (ranks.index() + 1) / ranks.count() - begin) {}
  std::size_t begin;
  std::size_t size;
};

class Training {
 public:
  Training(const Options& options, const Ranks& ranks)
      : options_(options), ranks_(ranks), random_(1), network_(random_) {
    takt::Scope s(takt::IO);
    std::int64_t bytes = 0;
    digits::Dataset all = digits::read_csv(options.data, bytes);
    s.bytes(bytes);
    all.shuffle(random_);  // the same on all ranks, like the weights
    std::tie(training_, test_) = all.split(kTrainingImages);
  }

  // [snippet: step]
  void step(std::size_t first, std::size_t count) {
    takt::Scope batch(takt::Batch);
    const Share share(ranks_, first, count);
    {
      takt::Scope s(takt::IO);
      training_.gather(share.begin, share.size, images_);
    }
    if (share.size != 0) { compute(static_cast<float>(share.size) / static_cast<float>(count)); }
    {
      takt::Scope s(takt::Comm);
      for (std::vector<float>* each : network_.gradients()) { ranks_.add_up(*each); }
    }
    {
      takt::Scope s(takt::Optimizer);
      network_.step(kRate);
    }
    batch.items(images_.count());  // this rank's samples
  }
  // [end]

  void epoch() {
    takt::Scope epoch(takt::Epoch);
    training_.shuffle(random_);
    for (std::size_t first = 0; first < training_.size(); first += kBatch) {
      step(first, std::min(kBatch, training_.size() - first));
    }
  }

  /// Returns the accuracy on the test images.
  double accuracy() {
    takt::Scope s(takt::Validation);
    const Share share(ranks_, 0, test_.size());
    std::size_t hits = 0;
    if (share.size != 0) {
      test_.gather(share.begin, share.size, images_);
      network_.forward(images_);
      hits = network_.hits(images_);
    }
    return ranks_.add_up(static_cast<double>(hits)) / static_cast<double>(test_.size());
  }

 private:
  /// Runs forward and backward. The gradient is that of this share's mean; `weight` is the share's part of the batch.
  void compute(float weight) {
    {
      takt::Scope s(takt::Forward);
      network_.forward(images_);
    }
    takt::Scope s(takt::Backward);
    network_.backward(images_);
    for (std::vector<float>* each : network_.gradients()) {
      for (float& value : *each) { value *= weight; }
    }
    if (ranks_.rank() == options_.slow_rank) { work_for(options_.by_ms); }
  }

  static void work_for(int ms) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
    while (std::chrono::steady_clock::now() < end) {}
  }

  const Options& options_;
  const Ranks& ranks_;
  std::mt19937 random_;
  digits::Network network_;
  digits::Dataset training_;
  digits::Dataset test_;
  digits::Minibatch images_;
};

bool run(const Options& options) {
  // [snippet: session]
  takt::Session session("mpi-digits", takt::mpi::options());  // between MPI_Init and MPI_Finalize, on all ranks
  // [end]
  const Ranks ranks;
  Training training(options, ranks);
  for (int number = 0; number < options.epochs; ++number) { training.epoch(); }
  const double accuracy = training.accuracy();
  // [snippet: reduce]
  takt::mpi::reduce(session);  // on all ranks: rank 0 prints the table of the job
  // [end]
  if (ranks.rank() == 0) { std::printf("test accuracy %.1f %% on %zu ranks\n", 100 * accuracy, ranks.count()); }
  return accuracy >= kWanted;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 0;
  try {
    status = run(read_options(argc, argv)) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "23_mpi_training: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 2);  // the others would wait for this rank forever
  }
  MPI_Finalize();
  return status;
}
