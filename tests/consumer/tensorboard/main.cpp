// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/exporters/tensorboard.hpp>
#include <takt/snapshot.hpp>

#include <filesystem>

/// Whether there is a file below a folder.
bool has_file(const char* folder) {
  for (const auto& each : std::filesystem::recursive_directory_iterator(folder)) {
    if (each.is_regular_file()) { return true; }
  }
  return false;
}

int main() {
  takt::TensorboardOptions options;
  options.directory = "logs";
  takt::Snapshot snapshot;
  snapshot.run.id = "run";
  snapshot.finished = true;
  std::filesystem::remove_all(options.directory);
  takt::TensorboardExporter exporter(options);
  const bool taken = exporter.export_snapshot(snapshot) == takt::ExportResult::ok;
  return taken && exporter.shutdown(std::chrono::milliseconds(10'000)) && has_file("logs") ? 0 : 1;
}
