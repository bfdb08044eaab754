// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/exporters/tensorboard.hpp>
#include <takt/session.hpp>

#include <filesystem>

/// Returns true if the directory contains a file at any depth.
bool has_file(const char* directory) {
  for (const auto& each : std::filesystem::recursive_directory_iterator(directory)) {
    if (each.is_regular_file()) { return true; }
  }
  return false;
}

int main() {
  takt::TensorboardOptions options;
  options.directory = "logs";
  std::filesystem::remove_all(options.directory);
  takt::SessionOptions quiet;
  quiet.files = quiet.table = false;
  takt::Session session("run", quiet);
  session.add(takt::TensorboardExporter(options));
  return session.close() && has_file("logs") ? 0 : 1;
}
