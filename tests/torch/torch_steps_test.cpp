// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Assignment of operators to steps, and the open regions of their threads.
#include <takt/takt.hpp>
#include <takt/torch.hpp>

#include "support/catch.hpp"
#include "torch_helpers.hpp"

#include <ATen/ThreadLocalState.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace takt_test;

namespace {

/// Runs two operators, one inside the other.
void nested() {
  operation("outer", RecordScope::FUNCTION, [] { operation("inner"); });
}

void on_thread(const std::function<void()>& work) { std::thread(work).join(); }

}  // namespace

TEST_CASE("TorchOps: an operator that ends on another thread keeps its pair, and the depth of both threads") {
  const Since since;
  takt::TorchOps ops(each_step());
  {
    const takt::TorchOps::Step step(ops);
    auto outer = std::make_unique<at::RecordFunction>(RecordScope::FUNCTION);
    outer->before("outer");
    on_thread([&] { outer.reset(); });
    operation("after it");
  }
  const takt::TorchOps::Step step(ops);
  operation("later");
  CHECK(since.calls("outer") == 1);
  CHECK(since.calls("after it") == 1);
  CHECK(since.calls("later") == 1);
}

TEST_CASE("TorchOps: operators that end out of order leave nothing open") {
  const Since since;
  takt::TorchOps ops(each_step(2));
  const takt::TorchOps::Step step(ops);
  for (int n = 0; n < 3; ++n) {
    auto first = std::make_unique<at::RecordFunction>(RecordScope::FUNCTION);
    first->before("first");
    auto second = std::make_unique<at::RecordFunction>(RecordScope::FUNCTION);
    second->before("second");
    first.reset();
    second.reset();
  }
  takt::Scope s(takt::Forward);
  nested();
  CHECK(since.calls("first") == 3);
  CHECK(since.calls("Forward/outer/inner") == 1);
}

TEST_CASE("TorchOps: each of two threads keeps the depth of its own TorchOps") {
  const Since since;
  takt::TorchOps flat(each_step(1));
  takt::TorchOps deep(each_step(2));
  const takt::Scope s(takt::Forward);
  const takt::TorchOps::Step step(flat);
  on_thread([&] {
    const takt::Scope other(takt::IO);
    const takt::TorchOps::Step deeper(deep);
    nested();
    on_thread([&] { const takt::TorchOps::Step third(flat); });
    nested();
  });
  nested();
  CHECK(since.calls("Forward/outer") == 1);
  CHECK(since.calls("Forward/outer/inner") == 0);
  CHECK(since.calls("IO/outer/inner") == 2);
}

TEST_CASE("TorchOps: a thread with the state of a step keeps its depth while others start steps") {
  const Since since;
  takt::TorchOps ops(each_step());
  const takt::TorchOps::Step step(ops);
  on_thread_of_autograd([&] {
    operation("outer", RecordScope::FUNCTION, [&] {
      on_thread([&] {
        const takt::TorchOps::Step other(ops);
        operation("elsewhere");
      });
      operation("inner");
    });
  });
  CHECK(since.calls("outer") == 1);
  CHECK(since.calls("elsewhere") == 1);
  CHECK(since.calls("outer/inner") == 0);
}

TEST_CASE("TorchOps: a thread with the state of a step that starts its own reports each operator once") {
  const Since since;
  takt::TorchOps ops(each_step(2));
  const takt::TorchOps::Step step(ops);
  on_thread_of_autograd([&] {
    const takt::TorchOps::Step own(ops);
    CHECK_FALSE(own.sampled());
    nested();
  });
  CHECK(since.calls("outer") == 1);
  CHECK(since.calls("outer/outer") == 0);
  CHECK(since.calls("outer/inner") == 1);
}

TEST_CASE("TorchOps: the state of an ended step reports nothing, whatever steps are running") {
  const Since since;
  takt::TorchOps ops(each_step());
  std::optional<at::ThreadLocalState> old;
  {
    const takt::TorchOps::Step step(ops);
    old.emplace();
  }
  const auto echo = [&] {
    const at::ThreadLocalStateGuard guard(*old);
    operation("echo");
    const takt::TorchOps::Step step(ops);
    CHECK(step.sampled());
    operation("told");
  };
  on_thread([&] {
    const takt::TorchOps::Step going_on(ops);
    on_thread(echo);
  });
  CHECK(since.calls("echo") == 0);
  CHECK(since.calls("told") == 1);
  CHECK(since.calls("told/told") == 0);
}

TEST_CASE("TorchOps: temporarily using the state of another step keeps what is open in the first") {
  const Since since;
  takt::TorchOps ops(each_step());
  const takt::TorchOps::Step step(ops);
  const at::ThreadLocalState first;
  on_thread([&] {
    const takt::TorchOps::Step other(ops);
    const at::ThreadLocalState second;
    const at::ThreadLocalStateGuard in_the_first(first);
    operation("outer", RecordScope::FUNCTION, [&] {
      {
        const at::ThreadLocalStateGuard in_the_second(second);
        operation("of the second");
      }
      operation("inner");
    });
  });
  CHECK(since.calls("outer/of the second") == 1);
  CHECK(since.calls("outer/inner") == 0);
}

TEST_CASE("TorchOps: steps beyond the maximum number at a time count as missed") {
  takt::TorchOps ops(each_step());
  std::vector<takt::detail::TorchStep*> taken;
  while (takt::detail::TorchStep* const step = takt::detail::torch_steps.take()) { taken.push_back(step); }
  const std::uint64_t missed = takt::TorchOps::missed();
  CHECK_FALSE(takt::TorchOps::Step(ops).sampled());
  CHECK_FALSE(at::hasCallbacks());
  CHECK(takt::TorchOps::missed() == missed + 1);
  for (takt::detail::TorchStep* const step : taken) { step->end(); }
  CHECK(taken.size() == takt::detail::TorchSteps::kMax);
  CHECK(takt::TorchOps::Step(ops).sampled());
}
