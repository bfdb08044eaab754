// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Times one operator of libtorch as a region.
#include <takt/takt.hpp>
#include <takt/torch.hpp>

int main() {
  takt::TorchOps ops;
  const takt::TorchOps::Step step(ops);
  takt::Scope s(takt::Forward, takt::torch_stream());
  at::RecordFunction operation(at::RecordScope::FUNCTION);
  return operation.isActive() ? 0 : 1;
}
