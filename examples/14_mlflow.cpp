// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Timings, parameters and metrics go to an MLflow server. MLFLOW_TRACKING_URI says which; without it the program says so and
// trains all the same. docs/mlflow.md has the commands for a server to try it with.
#include <takt/exporters/mlflow.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include <cstdio>
#include <vector>

int main() {
  std::vector<double> values(20'000, 1.0);
  // [snippet: mlflow]
  takt::Session session("mlflow");
  session.add(takt::MlflowExporter::from_env());
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
  const bool delivered = session.close();
  std::printf("%s\n", delivered ? "done" : "done, but not everything was delivered");
  return values[0] > 2.9 ? 0 : 1;
}
