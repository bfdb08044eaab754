// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/takt.hpp>
#include <takt/torch.hpp>

#include "support/catch.hpp"
#include "torch_helpers.hpp"

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

using namespace takt_test;

namespace {

/// A collective whose process group reports it.
struct Collective final : c10d::Work {
  explicit Collective(const std::vector<at::Tensor>& tensors)
      : Work(0, c10d::OpType::ALLREDUCE, "gloo:all_reduce", tensors) {}
  void done() { finish(); }
};

// [snippet: comm-wait]
/// Called on the stream that must wait, which is not NCCL's own.
void wait_for(c10d::Work& work) {
  takt::Scope s(takt::CommWait, takt::torch_stream());
  work.wait();
}
// [end]

/// Returns the program's counts so far for that name.
takt::TorchCollective counted(const std::string& name) {
  for (const takt::TorchCollective& each : takt::TorchOps::collectives()) {
    if (each.name == name) { return each; }
  }
  return {};
}

/// A collective of 28 bytes, reported as a process group does when the program or the dispatcher calls it.
void all_reduce() { c10::make_intrusive<Collective>(std::vector<at::Tensor>{at::ones({3}), at::ones({2, 2})})->done(); }

/// Counts of all_reduce(), of the dispatcher's call around it, and of bytes, since construction.
class Counted {
 public:
  std::uint64_t calls() const { return counted("gloo:all_reduce").calls - reported_.calls; }
  std::uint64_t bytes() const { return counted("gloo:all_reduce").input_bytes - reported_.input_bytes; }
  std::uint64_t unreported() const { return counted("gloo:all_reduce").without_bytes - reported_.without_bytes; }
  std::uint64_t dispatched() const { return counted("c10d::allreduce_").calls - dispatched_.calls; }
  std::uint64_t dispatched_unreported() const {
    return counted("c10d::allreduce_").without_bytes - dispatched_.without_bytes;
  }

 private:
  const takt::TorchCollective reported_ = counted("gloo:all_reduce");
  const takt::TorchCollective dispatched_ = counted("c10d::allreduce_");
};

}  // namespace

TEST_CASE("TorchOps: a collective is not a region, and its calls and bytes are recorded") {
  const Since since;
  takt::TorchOps ops(each_step());
  const Counted now;
  const takt::TorchOps::Step step(ops);
  {
    takt::Scope s(takt::Backward);
    const auto work = c10::make_intrusive<Collective>(std::vector<at::Tensor>{at::ones({3}), at::ones({2, 2})});
    operation("aten::meanwhile");
    std::thread other([&] { work->done(); });
    wait_for(*work);
    other.join();
  }
  CHECK(since.calls("Backward/CommWait") == 1);
  CHECK(since.calls("Backward/aten::meanwhile") == 1);
  CHECK(since.calls("gloo:all_reduce") == 1);
  CHECK(since.at("gloo:all_reduce").kind == takt::Kind::comm);
  CHECK(now.calls() == 1);
#ifdef NDEBUG
  CHECK(now.unreported() == 0);
#endif
  CHECK(now.bytes() == (1 - now.unreported()) * 7 * sizeof(float));
}

TEST_CASE("TorchOps: a collective inside an operator counts below the depth limit, too, and is not a region") {
  const Since since;
  const Counted now;
  takt::TorchOps ops(each_step());
  const takt::TorchOps::Step step(ops);
  operation("a hook of backward", RecordScope::FUNCTION, all_reduce);
  CHECK(now.calls() == 1);
  CHECK(now.bytes() == (1 - now.unreported()) * 7 * sizeof(float));
  CHECK(since.calls("a hook of backward") == 1);
  CHECK(since.calls("a hook of backward/gloo:all_reduce") == 0);
}

TEST_CASE("TorchOps: a collective through the dispatcher counts once, with the data of its process group") {
  for (const unsigned depth : {1U, 2U, 3U}) {
    const Counted now;
    takt::TorchOps ops(each_step(depth));
    const takt::TorchOps::Step step(ops);
    operation("c10d::allreduce_", RecordScope::FUNCTION, all_reduce);
    operation("deeper", RecordScope::FUNCTION,
              [] { operation("c10d::allreduce_", RecordScope::FUNCTION, all_reduce); });
    CHECK(now.calls() == 2);
    CHECK(now.dispatched() == 0);
    CHECK(now.bytes() == (2 - now.unreported()) * 7 * sizeof(float));
  }
}

TEST_CASE("TorchOps: a collective whose process group reports nothing counts as the dispatcher's, without bytes") {
  const Since since;
  const Counted now;
  takt::TorchOps ops(each_step());
  const takt::TorchOps::Step step(ops);
  operation("c10d::allreduce_");
  operation("deeper", RecordScope::FUNCTION, [] { operation("c10d::allreduce_"); });
  CHECK(now.dispatched() == 2);
  CHECK(now.dispatched_unreported() == 2);
  CHECK(now.calls() == 0);
  CHECK(since.calls("c10d::allreduce_") == 1);
  CHECK(since.at("c10d::allreduce_").kind == takt::Kind::comm);
}

TEST_CASE("TorchOps: a scope of the program is not a collective, whatever its name") {
  const Since since;
  takt::TorchOps ops(each_step());
  const takt::TorchOps::Step step(ops);
  operation("mpi: rank loop", RecordScope::USER_SCOPE);
  CHECK(counted("mpi: rank loop").calls == 0);
  CHECK(since.at("mpi: rank loop").kind == takt::Kind::other);
}
