// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A training step on a GPU: a network with one hidden layer learns a function, with its own kernels. During each batch
// the next one is copied on a second stream, and the host runs at most two steps ahead. Takt shows host time and stream
// span of each phase side by side, and adds no wait of its own. Succeeds if the loss falls to a quarter and the first
// losses match the host's results for the same batches. Without a device it reports that and exits with 77. Arguments,
// each followed by a whole number:
//
//     --steps 200  --samples 256  --width 128 (inputs and hidden units)  --pieces 1 (kernels of the hidden layer, each a region)
//     --check 3 (steps that the host repeats, slowly; 0 skips the check of the loss, too)
//
// 19_hip_training_step.hip is the same program for HIP.
#ifdef __HIP__
#include <takt/backends/hip.hpp>
#else
#include <takt/backends/cuda.hpp>
#endif
#include <takt/takt.hpp>

#include "gpu_net.hpp"
#include "gpu_runtime.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <random>
#include <vector>

/// Lets a Scope take the program's own stream type.
template <>
struct takt::StreamTraits<gpu::Stream> {
  static StreamRef ref(const gpu::Stream& stream) noexcept { return StreamTraits<GPU(Stream_t)>::ref(stream); }
};

namespace {

// [snippet: gpu-keys]
constexpr takt::Key Piece{"Piece", takt::Kind::compute};
constexpr takt::Key LossBack{"LossBack", takt::Kind::io};
constexpr takt::Key WaitForBatch{"WaitForBatch", takt::Kind::wait};  // the compute stream waits for the copy
constexpr takt::Key WaitForStep{"WaitForStep", takt::Kind::wait};    // the host waits for step n - 2
// [end]

constexpr int kSlots = 3;         // batches on the device: current, next, and being copied
constexpr int kBatches = 4;       // number of different batches
constexpr int kWarmUp = 10;       // steps
constexpr int kMaxRows = 65'535;  // maximum rows of a grid
constexpr int kSkipped = 77;      // ctest's code for a skipped test
constexpr float kRate = 2.0F;     // per unit of width, because gradients grow with width

struct Options {
  int steps = 200;
  int samples = 256;
  int width = 128;
  int pieces = 1;
  int check = 3;

  gpu::Shape shape() const { return {samples, width, width, 16}; }
  float rate() const { return kRate / static_cast<float>(width); }
};

bool parse(int count, char** arguments, Options& options) {
  struct Known {
    const char* name;
    int* value;
    int min;
  };
  const Known known[] = {{"--steps", &options.steps, kWarmUp + kSlots},
                         {"--samples", &options.samples, 1},
                         {"--width", &options.width, 1},
                         {"--pieces", &options.pieces, 1},
                         {"--check", &options.check, 0}};
  for (int at = 1; at < count; at += 2) {
    const auto* const found = std::find_if(std::begin(known), std::end(known), [&](const Known& each) {
      return std::strcmp(each.name, arguments[at]) == 0;
    });
    if (found == std::end(known) || at + 1 == count || std::atoi(arguments[at + 1]) < found->min) { return false; }
    *found->value = std::atoi(arguments[at + 1]);
  }
  return options.samples <= kMaxRows && options.width <= kMaxRows && options.pieces <= options.samples &&
         options.check <= options.steps;
}

class Training {
 public:
  Training(const Options& options, takt::Session& session)
      : options_(options), session_(session), shape_(options.shape()), memory_(gpu::Network::size(shape_), kDevice) {
    std::mt19937 random(1);
    weights_ = gpu::random_weights(shape_, random);
    for (int k = 0; k < kBatches; ++k) { batches_.push_back(gpu::random_batch(shape_, random)); }
    for (auto& slot : slots_) { slot = std::make_unique<Slot>(shape_); }
    GPU_CHECK(GPU(Memcpy)(memory_.data(), weights_.data(), weights_.size() * sizeof(float), GPU(MemcpyHostToDevice)));
  }

  void run() {
    load(0);
    for (int number = 0; number < options_.steps; ++number) { step(number); }
    for (int last = options_.steps + 1 - kSlots; last < options_.steps; ++last) { finish(last); }
  }

  /// Returns true if the loss fell and the host computes the same.
  bool is_right() const {
    std::vector<float> memory(gpu::Network::size(shape_));
    std::copy(weights_.begin(), weights_.end(), memory.begin());
    const gpu::Network network(shape_, memory.data());
    const gpu::OnHost each;
    bool right = options_.check == 0 || losses_.back() < 0.25 * losses_.front();
    for (int number = 0; number < options_.check; ++number) {
      const gpu::Batch batch(shape_, batches_[static_cast<std::size_t>(number % kBatches)].data());
      gpu::hidden_layer(each, network, batch, 0, shape_.samples);
      gpu::output_layer(each, network, batch);
      gpu::backward(each, network, batch);
      gpu::descend(each, network, options_.rate());
      const double here = gpu::mean_loss(network.loss, shape_.samples);
      const double there = losses_[static_cast<std::size_t>(number)];
      const bool same = std::abs(here - there) <= 1e-3 * here;
      std::printf("step %d: loss %.6f, on the host %.6f%s\n", number, there, here, same ? "" : ": NOT THE SAME");
      right = right && same;
    }
    return right;
  }
  double first_loss() const { return losses_.front(); }
  double last_loss() const { return losses_.back(); }
  /// Returns the time per step after warm-up, end to end.
  double step_ms() const {
    return std::chrono::duration<double, std::milli>(end_ - begin_).count() / (options_.steps - kWarmUp);
  }

 private:
  static constexpr auto kDevice = gpu::Array<float>::Place::device;
  static constexpr auto kHost = gpu::Array<float>::Place::host;

  /// A batch in flight, and its result.
  struct Slot {
    explicit Slot(const gpu::Shape& shape)
        : staged(gpu::Batch::size(shape), kHost),
          batch(gpu::Batch::size(shape), kDevice),
          loss(static_cast<std::size_t>(shape.samples), kHost) {}
    gpu::Array<float> staged;
    gpu::Array<float> batch;
    gpu::Array<float> loss;
    gpu::Event copied;
    gpu::Event worked;
  };

  Slot& slot_of(int number) const { return *slots_[static_cast<std::size_t>(number % kSlots)]; }

  // [snippet: gpu-step]
  void step(int number) {
    takt::Scope batch(takt::Batch, compute_);
    finish(number + 1 - kSlots);  // the next batch uses its slot
    if (number + 1 < options_.steps) { load(number + 1); }
    Slot& slot = slot_of(number);
    const gpu::Network network(shape_, memory_.data());
    const gpu::Batch data(shape_, slot.batch.data());
    const gpu::OnDevice each(compute_);
    {
      takt::Scope wait(WaitForBatch, compute_);
      GPU_CHECK(GPU(StreamWaitEvent)(compute_, slot.copied, 0));
    }
    takt::Scope s(takt::Forward, compute_);
    hidden_layer(each, network, data);
    gpu::output_layer(each, network, data);
    s.lap(takt::Backward);
    gpu::backward(each, network, data);
    s.lap(takt::Optimizer);
    gpu::descend(each, network, options_.rate());
    s.lap(LossBack);
    GPU_CHECK(GPU(MemcpyAsync)(slot.loss.data(), network.loss, slot.loss.bytes(), GPU(MemcpyDeviceToHost), compute_));
    s.bytes(static_cast<std::int64_t>(slot.loss.bytes()));
    GPU_CHECK(GPU(EventRecord)(slot.worked, compute_));
    batch.items(shape_.samples);
  }

  /// Copies a batch to the device while it works on the previous one.
  void load(int number) {
    Slot& slot = slot_of(number);
    const std::vector<float>& batch = batches_[static_cast<std::size_t>(number % kBatches)];
    takt::Scope s(takt::IO, copies_);
    std::copy(batch.begin(), batch.end(), slot.staged.data());
    GPU_CHECK(
        GPU(MemcpyAsync)(slot.batch.data(), slot.staged.data(), slot.batch.bytes(), GPU(MemcpyHostToDevice), copies_));
    GPU_CHECK(GPU(EventRecord)(slot.copied, copies_));
    s.bytes(static_cast<std::int64_t>(slot.batch.bytes()));
  }
  // [end]

  void hidden_layer(const gpu::OnDevice& each, const gpu::Network& network, const gpu::Batch& data) const {
    if (options_.pieces == 1) { return gpu::hidden_layer(each, network, data, 0, shape_.samples); }
    for (int piece = 0; piece < options_.pieces; ++piece) {
      const int begin = shape_.samples * piece / options_.pieces;
      takt::Scope s(Piece, compute_);
      gpu::hidden_layer(each, network, data, begin, shape_.samples * (piece + 1) / options_.pieces - begin);
    }
  }

  /// Waits until the device has finished a step: the program's own limit on how far the host runs ahead.
  void finish(int number) {
    if (number < 0) { return; }
    Slot& slot = slot_of(number);
    {
      takt::Scope wait(WaitForStep);
      GPU_CHECK(GPU(EventSynchronize)(slot.worked));
    }
    end_ = std::chrono::steady_clock::now();
    if (number < kWarmUp) { begin_ = end_; }
    losses_.push_back(gpu::mean_loss(slot.loss.data(), shape_.samples));
    session_.metric("loss", losses_.back(), number);
  }

  const Options& options_;
  takt::Session& session_;
  gpu::Shape shape_;
  std::vector<float> weights_;  // before the first step
  std::vector<std::vector<float>> batches_;
  gpu::Stream compute_;
  gpu::Stream copies_;
  gpu::Array<float> memory_;
  std::unique_ptr<Slot> slots_[kSlots];
  std::vector<double> losses_;
  std::chrono::steady_clock::time_point begin_;  // end of the last warm-up step
  std::chrono::steady_clock::time_point end_;    // end of the last step
};

}  // namespace

int main(int count, char** arguments) {
  Options options;
  if (!parse(count, arguments, options)) {
    std::fprintf(stderr, "usage: %s [--steps n] [--samples n] [--width n] [--pieces n] [--check n]\n", arguments[0]);
    return 2;
  }
  if (!gpu::has_device()) {
    std::printf("no device found: skipped\n");
    return kSkipped;
  }
  takt::Session session("gpu");
  session.param("samples", options.samples);
  session.param("width", options.width);
  Training training(options, session);
  training.run();
  std::printf("loss %.4f, then %.4f; step %.4f ms\n", training.first_loss(), training.last_loss(), training.step_ms());
  if (training.is_right()) { return 0; }
  session.fail();
  return 1;
}
