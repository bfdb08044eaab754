// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Runs a small training loop and sends it to MLflow or, with a WANDB_API_KEY, to W&B. Each line of standard input is a
// number of steps to make, answered with "done <steps so far>". At the end of the input it prints "result <bits of the
// training result>" and "delivered 0" or "delivered 1".
//   network_program endless <log>: steps until it is killed; logs two numbers per step: the step, and its end
//                                  in ns of CLOCK_MONOTONIC
#include <takt/exporters/mlflow.hpp>
#ifdef HAS_WANDB
#include <takt/exporters/wandb.hpp>
#endif
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Steps without a duration would record rows faster than they are collected.
void pause() {
  const std::int64_t until = now_ns() + 100'000;
  while (now_ns() < until) {}
}

class Training {
 public:
  explicit Training(takt::Session& session) : session_(session) {}

  void step() {
    takt::Scope batch(takt::Batch);
    { const takt::Scope io(takt::IO); }
    {
      const takt::Scope forward(takt::Forward);
      weight_ += std::sin(weight_ + static_cast<double>(steps_)) / 8;
      pause();
    }
    session_.metric("weight", weight_);
    batch.items(1);
    ++steps_;
  }
  std::int64_t steps() const { return steps_; }
  double weight() const { return weight_; }

 private:
  takt::Session& session_;
  std::int64_t steps_ = 0;
  double weight_ = 1;
};

void ready() {
  std::puts("ready");
  std::fflush(stdout);
}

void endless(Training& training, const char* path) {
  const int log = ::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  while (log >= 0) {
    training.step();
    pause();
    const std::int64_t record[] = {training.steps() - 1, now_ns()};
    if (::write(log, record, sizeof record) != static_cast<ssize_t>(sizeof record)) { return; }
    if (training.steps() == 1) { ready(); }
  }
}

void on_demand(Training& training) {
  ready();
  char line[32];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    for (long left = std::strtol(line, nullptr, 10); left > 0; --left) { training.step(); }
    std::printf("done %lld\n", static_cast<long long>(training.steps()));
    std::fflush(stdout);
  }
}

void add_exporters(takt::Session& session) {
  takt::MlflowOptions mlflow = takt::MlflowOptions::from_env();
  mlflow.every_step = true;
  mlflow.artifacts = false;
  if (!mlflow.tracking_uri.empty()) { session.add(takt::MlflowExporter(mlflow)); }
#ifdef HAS_WANDB
  takt::WandbOptions wandb = takt::WandbOptions::from_env();
  wandb.every_step = true;
  wandb.files = false;
  if (!wandb.api_key.empty()) { session.add(takt::WandbExporter(wandb)); }
#endif
}

}  // namespace

int main(int count, char** arguments) {
  takt::Session session("network");
  add_exporters(session);
  Training training(session);
  if (count > 2 && std::string(arguments[1]) == "endless") {
    endless(training, arguments[2]);
  } else {
    on_demand(training);
  }
  const bool delivered = session.close();
  std::printf("result %a\ndelivered %d\n", training.weight(), delivered ? 1 : 0);
  return 0;
}
