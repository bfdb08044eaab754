// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/exporters/prometheus.hpp>
#include <takt/session.hpp>

#include <filesystem>

int main() {
  takt::PrometheusOptions options;
  options.directory = "metrics";
  std::filesystem::remove_all(options.directory);
  std::filesystem::create_directory(options.directory);
  takt::SessionOptions quiet;
  quiet.files = quiet.table = false;
  takt::Session session("run", quiet);
  session.add(takt::PrometheusExporter(options));
  return session.close() && !std::filesystem::is_empty(options.directory) ? 0 : 1;
}
