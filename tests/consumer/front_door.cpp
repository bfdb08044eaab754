// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/takt.hpp>

inline constexpr takt::Key Optimizer{"Optimizer", takt::Kind::compute};

int main() {
  takt::Session session("consumer");
  for (int i = 0; i < 3; ++i) {
    takt::Scope batch(takt::Batch);
    takt::Scope scope(Optimizer);
  }
  const takt::Snapshot snapshot = takt::snapshot();
  return snapshot.paths.size() == 2 && snapshot.path_name(1) == "Batch/Optimizer" && snapshot.paths[1].host.n() == 3
             ? 0
             : 1;
}
