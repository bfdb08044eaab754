// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Built with -fsanitize=thread, with a library that is not: threads share keys, metrics and a Session.
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace {

void train(takt::Session& session, int thread) {
  for (int step = 0; step < 200; ++step) {
    takt::Scope batch(takt::Batch);
    const std::string shared = "a name that threads share, longer than a small string holds: " + std::to_string(step);
    const takt::Scope region(takt::key(shared.c_str(), takt::Kind::io));
    session.metric(shared, thread);
    batch.items(1);
  }
}

}  // namespace

int main() {
  takt::SessionOptions options = takt::SessionOptions::from_env();
  options.period = std::chrono::milliseconds(10);
  takt::Session session("sanitized", options);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) { threads.emplace_back(train, std::ref(session), thread); }
  for (int look = 0; look < 20; ++look) {
    takt::snapshot();
    session.poll();
  }
  for (std::thread& each : threads) { each.join(); }
  std::printf("closed %d\n", session.close() ? 1 : 0);
}
