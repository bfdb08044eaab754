// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/takt.hpp>
#include <takt/torch.hpp>

#include "support/catch.hpp"
#include "torch_helpers.hpp"

#include <torch/autograd.h>
#include <torch/nn.h>
#include <torch/optim.h>

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

using namespace takt_test;

TEST_CASE("TorchOps: operators are regions inside the open one, down to the depth limit") {
  const Since since;
  takt::TorchOps ops(each_step());
  takt::TorchOps deep(each_step(2));
  const at::Tensor a = at::ones({2, 2});
  {
    takt::Scope s(takt::Forward);
    const takt::TorchOps::Step step(ops);
    REQUIRE(step.sampled());
    at::linear(a, a);
  }
  CHECK(since.calls("Forward/aten::linear") == 1);
  CHECK(since.at("Forward/aten::linear").kind == takt::Kind::compute);
  CHECK(since.calls("Forward/aten::linear/aten::matmul") == 0);
  {
    takt::Scope s(takt::Forward);
    const takt::TorchOps::Step step(deep);
    at::linear(a, a);
    at::relu(a);
  }
  at::relu(a);  // not a step
  CHECK(since.calls("Forward/aten::linear") == 2);
  CHECK(since.calls("Forward/aten::linear/aten::matmul") == 1);
  CHECK(since.calls("Forward/aten::linear/aten::matmul/aten::mm") == 0);
  CHECK(since.calls("Forward/aten::relu") == 1);
  CHECK_FALSE(at::hasCallbacks());
}

TEST_CASE("TorchOps: samples one step in n, including the first, and a nested step has no effect") {
  const Since since;
  takt::TorchOpsOptions options;
  options.every = 3;
  takt::TorchOps ops(options);
  for (int n = 0; n < 7; ++n) {
    const takt::TorchOps::Step step(ops);
    CHECK(step.sampled() == (n % 3 == 0));
    takt::TorchOps inner(each_step());
    if (step.sampled()) { CHECK_FALSE(takt::TorchOps::Step(inner).sampled()); }
    operation("sampled");
  }
  CHECK(since.calls("sampled") == 3);
}

TEST_CASE("TorchOps: invalid options are rejected") {
  for (const takt::TorchOpsOptions& options : {takt::TorchOpsOptions{0, 1, 1}, {1, 0, 1}, {1, 1, 0}}) {
    CHECK_THROWS_AS(takt::TorchOps(options), takt::Error);
  }
}

TEST_CASE("TorchOps: no step is sampled while recording is off") {
  takt::TorchOps ops(each_step());
  takt::set_enabled(false);
  {
    const takt::TorchOps::Step step(ops);
    CHECK_FALSE(step.sampled());
  }
  takt::set_enabled(true);
  CHECK(takt::TorchOps::Step(ops).sampled());
}

TEST_CASE("TorchOps: autograd nodes are regions under Backward, on the training thread and on autograd's threads") {
  const Since since;
  takt::TorchOps ops(each_step(2));
  const takt::TorchOps::Step step(ops);
  at::Tensor w = at::ones({2, 2}).requires_grad_();
  {
    takt::Scope s(takt::Backward);
    at::mm(w, w).sum().backward();
  }
  CHECK(since.calls("Backward/aten::mm") == 1);
  CHECK(since.calls("Backward/MmBackward0") == 1);
  CHECK(since.calls("Backward/MmBackward0/MmBackward0") == 0);
  const std::uint64_t around = since.calls("Backward");
  on_thread_of_autograd([] {
    operation("autograd::engine::evaluate_function: Node0", RecordScope::FUNCTION,
              [] { operation("Node0", RecordScope::BACKWARD_FUNCTION, [] { operation("aten::inside"); }); });
    operation("aten::outside");
  });
  CHECK(since.calls("Backward") == around + 1);
  CHECK(since.calls("Backward/Node0") == 1);
  CHECK(since.calls("Backward/Node0/aten::inside") == 1);
  CHECK(since.calls("aten::outside") == 1);
}

namespace {

/// Returns the operators since the phase was read.
takt::TorchOperators operator-(const takt::TorchOperators& now, const takt::TorchOperators& before) {
  return {now.calls - before.calls, now.ns - before.ns};
}

template <class Optimizer>
void train(takt::TorchOps& ops, Optimizer& optimizer, at::Tensor& w, bool metric_between) {
  const takt::TorchOps::Step step(ops);
  at::relu(at::ones({2, 2}));  // data: no gradients
  const at::Tensor loss = at::mm(w, w).sum();
  optimizer.zero_grad();
  loss.backward();
  if (metric_between) {  // then another backward pass, so that this is no optimizer
    {
      const at::NoGradGuard no_grad;
      at::relu(w);
    }
    at::mul(w, w).sum().backward();
  }
  optimizer.step();
  static_cast<void>(loss.item<float>());  // with gradients on
}

}  // namespace

TEMPLATE_TEST_CASE("TorchOps: the phases of a loop without regions of its own", "", torch::optim::SGD,
                   torch::optim::Adam) {
  takt::TorchOps ops(each_step());
  at::Tensor w = at::ones({2, 2}).requires_grad_();
  TestType optimizer({w}, 0.1);
  train(ops, optimizer, w, false);  // creates the optimizer's state
  const Since since;
  const takt::TorchPhases before = takt::TorchOps::phases();
  train(ops, optimizer, w, false);
  const takt::TorchPhases once = takt::TorchOps::phases();
  CHECK(once.steps == before.steps + 1);
  CHECK((once.forward - before.forward).calls == 2);    // mm, sum
  CHECK((once.backward - before.backward).calls == 3);  // SumBackward0, MmBackward0, AccumulateGrad
  const std::uint64_t updates = (once.optimizer - before.optimizer).calls;
  CHECK(updates >= 1);
  CHECK((once.optimizer - before.optimizer).ns > 0);
  CHECK((once.other - before.other).calls >= 3);  // ones, relu, item
  // All together are what the regions at the top say, and nothing counts twice.
  const auto calls = [](const takt::TorchPhases& all) {
    return all.forward.calls + all.backward.calls + all.optimizer.calls + all.other.calls;
  };
  CHECK(calls(once) - calls(before) == since.calls_at_top() - since.calls("Backward"));

  train(ops, optimizer, w, true);
  const takt::TorchPhases twice = takt::TorchOps::phases();
  CHECK((twice.forward - once.forward).calls == 4);
  CHECK((twice.backward - once.backward).calls == 6);
  CHECK((twice.optimizer - once.optimizer).calls == updates);
  CHECK((twice.other - once.other).calls > (once.other - before.other).calls);
}

TEST_CASE("TorchOps: nodes on autograd's own threads are of the backward phase, and what follows them there is not") {
  takt::TorchOps ops(each_step());
  const takt::TorchPhases before = takt::TorchOps::phases();
  {
    const takt::TorchOps::Step step(ops);
    on_thread_of_autograd([] {
      operation("autograd::engine::evaluate_function: Node0", RecordScope::FUNCTION,
                [] { operation("Node0", RecordScope::BACKWARD_FUNCTION, [] { operation("aten::inside"); }); });
      const at::NoGradGuard no_grad;
      operation("aten::outside");
    });
    operation("my block", RecordScope::USER_SCOPE);
    const at::NoGradGuard no_grad;
    operation("aten::add_");
  }
  const takt::TorchPhases after = takt::TorchOps::phases();
  CHECK((after.backward - before.backward).calls == 1);
  CHECK((after.other - before.other).calls == 1);
  CHECK((after.optimizer - before.optimizer).calls == 1);
  CHECK((after.forward - before.forward).calls == 0);
}

TEST_CASE("TorchOps: nested backward passes on autograd's own thread pool") {
  const Since since;
  takt::TorchOps ops(each_step());
  const takt::TorchOps::Step step(ops);
  std::atomic<int> others{0};
  const std::thread::id mine = std::this_thread::get_id();
  std::function<void(int)> descend = [&](int left) {
    const at::AutoGradMode enabled(true);
    at::Tensor x = at::ones({1}).requires_grad_();
    at::Tensor y = x * 2;
    y.register_hook([&, left](const at::Tensor&) {
      others += std::this_thread::get_id() == mine ? 0 : 1;
      if (left > 0) { descend(left - 1); }
    });
    y.sum().backward();
  };
  {
    takt::Scope s(takt::Backward);
    descend(80);  // beyond a depth of 60 the engine uses another thread
  }
  CHECK(others > 0);
  CHECK(since.at("Backward/SumBackward0").host.n() > 0);
}

TEST_CASE("TorchOps: an operator's exception ends its region, and the next one has the right parent") {
  const Since since;
  takt::TorchOps ops(each_step());
  const takt::TorchOps::Step step(ops);
  const at::Tensor a = at::ones({2, 3});
  takt::Scope s(takt::Forward);
  CHECK_THROWS(at::mm(a, a));
  CHECK_THROWS_AS(operation("throws", RecordScope::FUNCTION, [] { throw std::runtime_error("no"); }),
                  std::runtime_error);
  at::relu(a);
  CHECK(since.calls("Forward/aten::mm") == 1);
  CHECK(since.calls("Forward/throws") == 1);
  CHECK(since.calls("Forward/aten::relu") == 1);
}

TEST_CASE("TorchOps: a step and its TorchOps may end while another thread is inside an operator") {
  const Since since;
  std::atomic<int> stage{0};
  const auto reach = [&](int wanted) {
    while (stage.load() < wanted) { std::this_thread::yield(); }
  };
  std::thread autograd;
  {
    takt::TorchOps ops(each_step());
    const takt::TorchOps::Step step(ops);
    autograd = std::thread([&, state = at::ThreadLocalState()] {
      const at::ThreadLocalStateGuard guard(state);
      operation("begun before", RecordScope::BACKWARD_FUNCTION, [&] {
        stage = 1;
        reach(2);
      });
      operation("begun after", RecordScope::BACKWARD_FUNCTION);
    });
    reach(1);
  }
  stage = 2;
  autograd.join();
  CHECK(since.calls("Backward/begun before") == 1);
  CHECK(since.calls("Backward/begun after") == 0);
}

TEST_CASE("TorchOps: names drop the parts that differ between calls") {
  const auto name = takt::detail::torch_name_of;
  CHECK(name("ProfilerStep#12") == "ProfilerStep");
  CHECK(name("AddmmBackward0") == "AddmmBackward0");
  CHECK(name("autograd::engine::evaluate_function: AddmmBackward0") == "AddmmBackward0");
  CHECK(name("MulBackward0, seq = 17") == "MulBackward0");
  CHECK(name("layer 12") == "layer 12");
  CHECK(name("#7") == "#7");
  CHECK(name("C#") == "C#");
  CHECK(name("a, seq2seq") == "a, seq2seq");
  CHECK(name("a, seq = b") == "a, seq = b");
  CHECK(name(", seq = 1") == ", seq = 1");
  CHECK(name("").empty());
}

TEST_CASE("TorchOps: long names that differ only at their ends are separate rows, as for keys") {
  const Since since;
  takt::TorchOps ops(each_step());
  const takt::TorchOps::Step step(ops);
  for (const char* const end : {"1a", "2a", "3a"}) {
    const std::string name = std::string(260, 'n') + end;
    operation(name.c_str());
    CHECK(since.calls(takt::key(name.c_str(), takt::Kind::compute).name()) == 1);
  }
}

TEST_CASE("TorchOps: the TorchOps with the largest name limit decides") {
  const auto names = std::make_unique<takt::detail::TorchNames>();
  names->allow(2);
  names->allow(1);
  CHECK(names->find("first") != nullptr);
  CHECK(names->find("second") != nullptr);
  CHECK(names->find("third") == nullptr);
  CHECK(names->find("first") == names->find("first"));
}

TEST_CASE("torch_stream: a CPU-only libtorch has no stream, and a region has host time") {
  const Since since;
  CHECK(takt::torch_stream() == takt::StreamRef());
  { takt::Scope s(takt::IO, takt::torch_stream()); }
  CHECK(since.calls("IO") == 1);
}

// Must be last: it uses up all names.
TEST_CASE("TorchOps: a million operators of 40 000 names respect the name limit, on two threads") {
  const Since since;
  takt::TorchOps ops(each_step(2, 200));
  const takt::TorchOps::Step step(ops);
  constexpr int kNames = 40'000;
  const auto run = [] {
    for (int n = 0; n < 500'000; ++n) {
      operation(("made up " + std::to_string(n % kNames)).c_str(), RecordScope::USER_SCOPE, [] { operation("leaf"); });
    }
  };
  std::thread other([&, state = at::ThreadLocalState()] {
    const at::ThreadLocalStateGuard guard(state);
    run();
  });
  run();
  other.join();
  std::uint64_t reported = since.calls("(further operators)");
  for (int n = 0; n < kNames && n < 400; ++n) { reported += since.calls("made up " + std::to_string(n)); }
  CHECK(reported == 1'000'000);
  CHECK(since.calls("(further operators)") > 900'000);
  CHECK(since.calls("made up 300") == 0);
  CHECK(takt::TorchOps::missed() == 0);
}
