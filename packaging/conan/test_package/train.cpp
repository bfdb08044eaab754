// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/takt.hpp>

int main() {
  takt::Session session("conan");
  for (int step = 0; step < 3; ++step) {
    const takt::Scope batch(takt::Batch);
    const takt::Scope forward(takt::Forward);
  }
  return takt::snapshot().paths.size() == 2 ? 0 : 1;
}
