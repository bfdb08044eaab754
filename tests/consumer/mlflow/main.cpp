// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>
#include <takt/exporters/mlflow.hpp>

int main() {
  takt::MlflowOptions options;
  options.tracking_uri = "http://127.0.0.1:1";
  const takt::MlflowExporter exporter(options);
  options.tracking_uri = "localhost:5000";
  try {
    const takt::MlflowExporter none(options);
  } catch (const takt::Error&) { return exporter.name()[0] == 'm' ? 0 : 1; }
  return 2;
}
