// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// The first program in docs/tensorboard.md.
// [snippet: train]
#include <takt/exporters/tensorboard.hpp>
#include <takt/takt.hpp>

#include <cmath>

int main() {
  takt::Session session("first");
  session.add(takt::TensorboardExporter::from_env());
  session.param("lr", 0.1);
  for (int number = 0; number < 1000; ++number) {
    takt::Scope batch(takt::Batch);
    takt::Scope forward(takt::Forward);  // ends with the block, as batch does
    session.metric("loss", std::exp(-0.01 * number));
    batch.items(32);
  }
}
// [end]
