// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A network learns handwritten digits; timings, parameters and metrics go to the MLflow server in MLFLOW_TRACKING_URI.
// Without it, the program reports that and trains anyway. docs/mlflow.md has commands for a test server, docs/mantik.md
// those for Mantik.
#include "digits_data.hpp"
#include "digits_net.hpp"

#include <takt/exporters/mlflow.hpp>
#include <takt/takt.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <random>

namespace {

constexpr std::size_t kBatch = 64;
constexpr float kRate = 0.05F;

/// Returns true if everything was delivered.
bool train() {
  std::int64_t bytes = 0;
  digits::Dataset images = digits::read_csv(TAKT_EXAMPLE_DATA_DIR "/digits.csv", bytes);
  std::mt19937 random(1);
  digits::Network network(random);
  digits::Minibatch some;
  // [snippet: mlflow]
  takt::Session session("digits");
  session.add(takt::MlflowExporter::from_env());
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
  const bool delivered = session.close();
  // [end]
  return delivered;
}

}  // namespace

int main() {
  try {
    std::puts(train() ? "done" : "done, but not everything was delivered");
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "digits: %s\n", error.what());
    return 2;
  }
}
