// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Makes steps without training, for Prometheus, until a file appears.
//   prometheus_program <name of the run> <ms of IO> <ms of computing> <ms of communication> <directory>
//     <directory>/<name>.end ends it; <directory>/<name>.hang makes it hang in a step
#include <takt/exporters/prometheus.hpp>
#include <takt/takt.hpp>

#include <cstdlib>
#include <filesystem>
#include <string>

#include <poll.h>

namespace {

constexpr takt::Key kOdd{"a \"b\" \\ c/d", takt::Kind::io};

/// Lets time pass without using a processor.
void pass(const char* ms) { ::poll(nullptr, 0, std::atoi(ms)); }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) { return 2; }
  const std::string directory = argv[5];
  const std::string name = argv[1];
  // [snippet: add]
  takt::Session session(name);
  session.add(takt::PrometheusExporter::from_env());  // nothing without TAKT_PROMETHEUS_DIR
  // [end]
  session.tag("team", name + "s");
  if (name == "fast") { session.tag("an odd tag", "quote\" backslash\\ line\nfeed \xFF"); }
  const auto has_file = [&](const char* suffix) { return std::filesystem::exists(directory + "/" + name + suffix); };
  while (!has_file(".end")) {
    takt::Scope epoch(takt::Epoch);
    for (int step = 0; step < 50 && !has_file(".end"); ++step) {
      takt::Scope batch(takt::Batch);
      {
        takt::Scope io(takt::IO);
        pass(argv[2]);
      }
      {
        takt::Scope forward(takt::Forward);
        pass(argv[3]);
      }
      {
        takt::Scope comm(takt::Comm);
        pass(argv[4]);
      }
      { takt::Scope odd(kOdd); }
      batch.items(32);
      while (has_file(".hang")) { pass("20"); }
    }
  }
  return session.close() ? 0 : 1;
}
