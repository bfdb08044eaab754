// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A key names a region and its kind of work. One constexpr line defines a key of your own. takt::key() makes one from a
// name that is known only at run time, here the layers of a network whose depth is a command-line argument. Reports
// group the time by kind: compute, comm, io, wait, other.
#include <takt/takt.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

// [snippet: constexpr-key]
inline constexpr takt::Key Tokenize{"Tokenize", takt::Kind::io};
// [end]

int main(int argc, char** argv) {
  const int depth = argc > 1 ? std::atoi(argv[1]) : 4;
  // [snippet: run-time-key]
  std::vector<const takt::Key*> layers;  // look up each one once, outside the loop
  for (int layer = 0; layer < depth; ++layer) {
    layers.push_back(&takt::key("layer " + std::to_string(layer), takt::Kind::compute));
  }
  // [end]

  std::vector<double> values(1000);
  for (int step = 0; step < 20; ++step) {
    {
      takt::Scope s(Tokenize);
      for (std::size_t at = 0; at < values.size(); ++at) { values[at] = static_cast<double>(at % 7) - 3.0; }
    }
    for (const takt::Key* layer : layers) {
      takt::Scope s(*layer);
      for (double& value : values) { value = value > 0 ? 0.9 * value : 0.1 * value; }
    }
  }

  std::size_t found = 0;
  const takt::Snapshot snapshot = takt::snapshot();
  for (const takt::PathStats& path : snapshot.paths) {
    std::printf("%-10s %-8s %3llu calls\n", path.name.c_str(), takt::to_string(path.kind),
                static_cast<unsigned long long>(path.host.n()));
    found += path.host.n() == 20 ? 1U : 0U;
  }
  return found == layers.size() + 1 && values[0] < 0 ? 0 : 1;
}
