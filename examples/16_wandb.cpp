// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Timings, parameters and metrics are written down for Weights & Biases, in a folder "wandb" below the working directory, or where
// WANDB_DIR says. The program prints the command that uploads them. docs/wandb.md has more.
#include <takt/exporters/wandb.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include <cstdio>
#include <vector>

int main() {
  std::vector<double> values(20'000, 1.0);
  // [snippet: wandb]
  takt::Session session("wandb");
  session.add(takt::WandbExporter::from_env());
  session.param("lr", 0.25);
  for (int step = 0; step < 200; ++step) {
    takt::Scope batch(takt::Batch);
    double loss = 0;
    {
      takt::Scope s(takt::Forward);
      for (const double value : values) { loss += (value - 3) * (value - 3); }
    }
    {
      takt::Scope s(takt::Backward);
      for (double& value : values) { value -= 0.25 * (value - 3); }
    }
    batch.items(static_cast<int>(values.size()));
    session.metric("loss", loss);
  }
  // [end]
  const bool written = session.close();
  std::printf("%s\n", written ? "done" : "done, but not everything was written");
  return values[0] > 2.9 ? 0 : 1;
}
