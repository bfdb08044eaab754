// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>
#include <takt/exporters/wandb.hpp>

int main() {
  takt::WandbOptions options;
  options.mode = takt::WandbMode::offline;
  const takt::WandbExporter exporter(options);
  options.run_id = "a/b";
  try {
    const takt::WandbExporter none(options);
  } catch (const takt::Error&) { return exporter.name()[0] == 'w' ? 0 : 1; }
  return 2;
}
