// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Writes TorchScript models for the inference proxy into a directory. All read (nodes, 5 metrics, 10 steps). one.pt
// returns a number per node, above 0 if its metrics in the last step have a sum above 2.5; two.pt returns two numbers,
// the second of which is then the larger one; three.pt returns three, which the proxy refuses.
#include <torch/script.h>

#include <cstdio>
#include <string>

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: torch_models DIR\n");
    return 2;
  }
  const std::string sum = "def forward(self, nodes):\n  above = nodes[:, :, 9].sum(1) - self.limit\n  return ";
  const std::string codes[][2] = {
      {"one", "above"}, {"two", "torch.stack([-above, above], 1)"}, {"three", "torch.stack([above, above, above], 1)"}};
  for (const auto& each : codes) {
    torch::jit::Module model(each[0]);
    model.register_parameter("limit", torch::tensor(2.5F), false);
    model.define(sum + each[1] + "\n");
    model.save(std::string(arguments[1]) + "/" + each[0] + ".pt");
  }
  return 0;
}
