// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A network learns handwritten digits; timings, parameters and metrics are written for Weights & Biases, to a directory
// "wandb" in the working directory or in WANDB_DIR. With an API key (WANDB_API_KEY, or netrc) they are also sent while
// the program runs. Without one, or with WANDB_MODE=offline, "wandb sync" uploads them; the program prints that
// command. docs/wandb.md has more.
#include "digits_data.hpp"
#include "digits_net.hpp"

#include <takt/exporters/wandb.hpp>
#include <takt/takt.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <random>

namespace {

constexpr std::size_t kBatch = 64;
constexpr float kRate = 0.05F;

/// Returns true if everything was written, and sent if a key is set.
bool train() {
  std::int64_t bytes = 0;
  digits::Dataset images = digits::read_csv(TAKT_EXAMPLE_DATA_DIR "/digits.csv", bytes);
  std::mt19937 random(1);
  digits::Network network(random);
  digits::Minibatch some;
  // [snippet: wandb]
  takt::Session session("digits");
  session.add(takt::WandbExporter::from_env());
  session.param("lr", kRate);
  for (int number = 0; number < 3; ++number) {
    takt::Scope epoch(takt::Epoch);
    images.shuffle(random);
    for (std::size_t first = 0; first < images.size(); first += kBatch) {
      takt::Scope batch(takt::Batch);
      takt::Scope s(takt::IO);
      images.gather(first, kBatch, some);
      s.lap(takt::Forward);
      session.metric("loss", network.forward(some));
      s.lap(takt::Backward);
      network.backward(some);
      network.step(kRate);
      batch.items(some.count());
    }
  }
  const bool written = session.close();
  // [end]
  return written;
}

}  // namespace

int main() {
  try {
    std::puts(train() ? "done" : "done, but not everything was written and sent");
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "digits: %s\n", error.what());
    return 2;
  }
}
