// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// The header that needs libtorch, before all others and twice.
#include <takt/torch.hpp>
// clang-format off
#include <takt/torch.hpp>
// clang-format on

takt::StreamRef stream() { return takt::torch_stream(); }
bool sampled(takt::TorchOps& ops) { return takt::TorchOps::Step(ops).sampled(); }
