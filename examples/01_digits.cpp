// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A complete training program: a small convolutional network learns handwritten digits without a framework, and Takt
// shows the time of each part of a step. Succeeds if the network classifies 95 % of unseen images correctly. Run it
// with --help for its options. The table is printed at the end, and files are in the run's directory.
#include "digits_data.hpp"
#include "digits_net.hpp"

#include <takt/takt.hpp>

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>

namespace {

constexpr double kWanted = 0.95;               // share of the test images
constexpr std::size_t kTrainingImages = 1437;  // the other 360 are the test set

struct Options {
  std::string data = TAKT_EXAMPLE_DATA_DIR "/digits.csv";
  int epochs = 15;
  std::size_t batch = 64;
  float rate = 0.05F;
  std::uint32_t seed = 1;
  bool trials = false;
};

/// The minibatches of a dataset, in order, each built in the same buffer.
class Loader {
 public:
  Loader(const digits::Dataset& images, std::size_t batch) : images_(images), batch_(batch) {}

  class Batches {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = digits::Minibatch;
    using difference_type = std::ptrdiff_t;
    using pointer = const digits::Minibatch*;
    using reference = const digits::Minibatch&;

    Batches(Loader& loader, std::size_t first) : loader_(&loader), first_(first) { loader_->gather(first_); }
    reference operator*() const { return loader_->minibatch_; }
    Batches& operator++() {
      first_ += loader_->batch_;
      loader_->gather(first_);
      return *this;
    }
    bool operator!=(std::nullptr_t) const { return loader_->minibatch_.size() != 0; }

   private:
    Loader* loader_;
    std::size_t first_;
  };
  Batches begin() { return {*this, 0}; }
  std::nullptr_t end() const { return nullptr; }

 private:
  void gather(std::size_t first) {
    takt::Scope s(takt::IO);
    const std::int64_t bytes = images_.gather(first, batch_, minibatch_);
    if (bytes > 0) { s.bytes(bytes); }
  }

  const digits::Dataset& images_;
  const std::size_t batch_;
  digits::Minibatch minibatch_;
};

/// A progress line of image counts, only on a terminal.
class Progress {
 public:
  void show(int epoch, std::size_t done, std::size_t total) const {
    if (terminal_) { std::fprintf(stderr, "\repoch %d: %zu of %zu images", epoch, done, total); }
  }
  void clear() const {
    if (terminal_) { std::fputs("\r\x1b[K", stderr); }
  }

 private:
  bool terminal_ = isatty(STDERR_FILENO) == 1;
};

/// The network, its images, and the run that records it.
class Training {
 public:
  Training(const Options& options, takt::Session& session)
      : options_(options), session_(session), random_(options.seed), network_(random_) {}

  void load() {
    takt::Scope s(takt::IO);
    std::int64_t bytes = 0;
    digits::Dataset all = digits::read_csv(options_.data, bytes);
    s.bytes(bytes);
    if (all.size() <= kTrainingImages) { throw std::runtime_error(options_.data + ": fewer than 1438 images"); }
    std::mt19937 same_for_all_seeds(1);
    all.shuffle(same_for_all_seeds);
    std::tie(training_, test_) = all.split(kTrainingImages);
  }

  // [snippet: training-loop]
  /// Trains on all training images once. Returns the accuracy on the test images after it.
  double epoch(int number) {
    takt::Scope epoch(takt::Epoch);
    {
      takt::Scope s(takt::Other);
      training_.shuffle(random_);
    }
    std::size_t done = 0;
    Loader loader(training_, options_.batch);
    for (const digits::Minibatch& images : takt::trials(session_, loader, trial_options())) {
      takt::Scope batch(takt::Batch);
      {
        takt::Scope s(takt::Forward);
        loss_ = network_.forward(images);
      }
      {
        takt::Scope s(takt::Backward);
        network_.backward(images);
      }
      {
        takt::Scope s(takt::Optimizer);
        network_.step(options_.rate);
      }
      {
        takt::Scope s(takt::Other);
        progress_.show(number, done += images.size(), training_.size());
      }
      batch.items(images.count());
      session_.metric("loss", loss_);
    }
    const double accuracy = validate();
    session_.metric("test_accuracy", accuracy);
    return accuracy;
  }
  // [end]

  /// Returns true if the loop ran trials and then ended, instead of training.
  bool was_in_trials() const {
    const auto trials = session_.snapshot().trials;
    return trials != nullptr && !trials->went_on;
  }
  /// Returns the loss of the last batch.
  float loss() const { return loss_; }
  void clear_progress() const { progress_.clear(); }

 private:
  // [snippet: trial-options]
  /// Returns options for trials from --trials or TAKT_TRIALS; the loader can restart with other images, and the
  /// training state can be restored.
  takt::TrialOptions trial_options() {
    takt::TrialOptions trials = takt::TrialOptions::from_env();
    if (options_.trials) { trials.io = trials.synthetic = trials.full = true; }
    trials.batch_place = "host";
    trials.time_loader = false;  // Loader has a region with bytes
    trials.reset = [this] { training_.shuffle(random_); };
    trials.save = [this] { saved_.emplace(network_, random_, training_); };
    trials.restore = [this] { std::tie(network_, random_, training_) = *saved_; };
    return trials;
  }
  // [end]

  double validate() {
    takt::Scope validation(takt::Validation);
    std::size_t hits = 0;
    for (std::size_t first = 0; first < test_.size(); first += options_.batch) {
      {
        takt::Scope s(takt::IO);
        s.bytes(test_.gather(first, options_.batch, images_));
      }
      {
        takt::Scope s(takt::Forward);
        network_.forward(images_);
      }
      {
        takt::Scope s(takt::Other);
        hits += network_.hits(images_);
      }
    }
    validation.items(test_.count());
    return static_cast<double>(hits) / static_cast<double>(test_.size());
  }

  const Options& options_;
  takt::Session& session_;
  std::mt19937 random_;
  digits::Network network_;
  digits::Dataset training_;
  digits::Dataset test_;
  digits::Minibatch images_;
  std::optional<std::tuple<digits::Network, std::mt19937, digits::Dataset>> saved_;  // state before trials
  Progress progress_;
  float loss_ = 0;
};

// [snippet: params]
void describe(const Options& options, takt::Session& session) {
  session.param("epochs", options.epochs);
  session.param("batch", options.batch);
  session.param("lr", options.rate);
  session.param("seed", options.seed);
  session.tag("model", "conv3x3x16-dense64-dense10");
}
// [end]

/// Trains. Returns true if the network is accurate enough.
bool run(const Options& options) {
  // [snippet: session]
  takt::Session session("digits");
  describe(options, session);
  Training training(options, session);
  training.load();
  // [end]
  double accuracy = 0;
  for (int number = 1; number <= options.epochs; ++number) {
    accuracy = training.epoch(number);
    training.clear_progress();
    if (training.was_in_trials()) { return true; }
    std::printf("epoch %2d of %d  loss %.4f  test accuracy %.1f %%\n", number, options.epochs,
                static_cast<double>(training.loss()), 100 * accuracy);
    std::fflush(stdout);
  }
  if (accuracy >= kWanted) { return true; }
  std::fprintf(stderr, "digits: test accuracy %.1f %% is below %.0f %%; try more --epochs or another --lr\n",
               100 * accuracy, 100 * kWanted);
  session.fail();
  return false;
}

/// Declares the command-line options.
void declare(CLI::App& app, Options& options) {
  app.option_defaults()->always_capture_default();
  app.add_option("--data", options.data, "digits.csv, see examples/data/README.md")->type_name("PATH");
  app.add_option("--epochs", options.epochs, "passes over the training images")->check(CLI::Range(1, 10'000));
  app.add_option("--batch", options.batch, "images in a step")->check(CLI::Range(std::size_t{1}, kTrainingImages));
  app.add_option("--lr", options.rate, "learning rate")->check(CLI::Range(1e-6, 10.0));
  app.add_option("--seed", options.seed, "random seed for the weights and the order of the images");
  app.add_flag("--trials", options.trials, "run trials: is the loader or the network the limit? (instead of training)");
  app.failure_message(CLI::FailureMessage::help);
  app.callback([&options] {  // before a run exists that can fail
    if (std::ifstream(options.data)) { return; }
    throw CLI::ValidationError("--data", "cannot open '" + options.data + "'; give the path of digits.csv");
  });
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Trains a small network on handwritten digits and shows where the time goes.");
  declare(app, options);
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "digits: %s\n", error.what());
    return 2;
  }
}
