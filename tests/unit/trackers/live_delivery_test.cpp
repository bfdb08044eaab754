// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/live_delivery.hpp"

#include <takt/snapshot.hpp>

#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/scratch.hpp"

#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

using namespace takt_test;
using std::chrono::milliseconds;
using takt::ExportResult;
using takt::detail::Claim;
using takt::detail::LiveDelivery;

namespace {

constexpr takt::detail::Tracker kLiveDeliveryTracker{"abacus", "Abacus", "takt sync --to abacus", "abacus.json",
                                                     "abacus.lease"};

/// Calls to a LiveRun, and its scripted results.
struct Script {
  std::vector<std::string> calls;
  Claim claim = Claim::ours;
  std::string why;
  takt::detail::FileLease* lease = nullptr;
  bool begins = true;
  bool throws = false;
  bool stopped = false;
};

class ScriptedRun : public takt::detail::LiveRun {
 public:
  explicit ScriptedRun(Script& script) : script_(script) {}
  bool begin(const takt::Snapshot&, Claim claim, const std::string& why, takt::detail::FileLease* lease) override {
    script_.calls.emplace_back("begin");
    script_.claim = claim;
    script_.why = why;
    script_.lease = lease;
    if (script_.throws) { throw std::bad_alloc(); }
    return script_.begins;
  }
  ExportResult take(const takt::Snapshot&) override {
    script_.calls.emplace_back("take");
    return ExportResult::ok;
  }
  bool flush(milliseconds) override {
    script_.calls.emplace_back("flush");
    return true;
  }
  bool finish(milliseconds) override {
    script_.calls.emplace_back("finish");
    return true;
  }
  bool stopped() const noexcept override { return script_.stopped; }

 private:
  Script& script_;
};

struct LiveDeliveryRig {
  LiveDeliveryRig() {
    snapshot.run.directory = scratch.path("rank-0-0-1");
    REQUIRE(::mkdir(snapshot.run.directory.c_str(), 0700) == 0);
  }
  std::unique_ptr<LiveDelivery> delivery(bool all_ranks = false) {
    return std::make_unique<LiveDelivery>(kLiveDeliveryTracker, all_ranks, std::make_unique<ScriptedRun>(script));
  }
  std::string lease() const { return kLiveDeliveryTracker.lease_file(snapshot.run.directory); }

  const Scratch scratch;
  takt::Snapshot snapshot;
  Script script;
};

using Calls = std::vector<std::string>;

}  // namespace

TEST_CASE("live delivery: starts a run once, holds the lease meanwhile, and returns it") {
  LiveDeliveryRig rig;
  const auto delivery = rig.delivery();
  CHECK(delivery->flush(milliseconds(0)));
  delivery->begin(rig.snapshot);
  CHECK(rig.script.claim == Claim::ours);
  CHECK(rig.script.lease != nullptr);
  CHECK(exists(rig.lease()));
  CHECK(delivery->export_snapshot(rig.snapshot) == ExportResult::ok);
  CHECK(delivery->flush(milliseconds(0)));
  CHECK(delivery->shutdown(milliseconds(0)));
  CHECK_FALSE(exists(rig.lease()));
  CHECK(rig.script.calls == Calls{"begin", "take", "flush", "finish"});
}

TEST_CASE("live delivery: only rank 0 of a run with ranks delivers, unless all are to") {
  LiveDeliveryRig rig;
  rig.snapshot.run.rank = 1;
  const auto silent = rig.delivery();
  CHECK(silent->export_snapshot(rig.snapshot) == ExportResult::ok);
  CHECK(silent->shutdown(milliseconds(0)));
  CHECK(rig.script.calls.empty());
  CHECK_FALSE(exists(rig.lease()));
  CHECK(rig.delivery(true)->export_snapshot(rig.snapshot) == ExportResult::ok);
  CHECK(rig.script.calls == Calls{"begin", "take"});
}

TEST_CASE("live delivery: reports another process that has started or holds the lease, and may leave the run to it") {
  LiveDeliveryRig rig;
  const auto first = rig.delivery();
  first->begin(rig.snapshot);
  const auto second = rig.delivery();
  second->begin(rig.snapshot);
  CHECK(rig.script.claim == Claim::taken);
  CHECK(rig.script.lease == nullptr);
  CHECK(contains(rig.script.why, rig.lease()));

  write_text(kLiveDeliveryTracker.cursor_file(rig.snapshot.run.directory), "{}");
  rig.script.begins = false;
  const auto third = rig.delivery();
  third->begin(rig.snapshot);
  CHECK(rig.script.claim == Claim::started);
  CHECK(rig.script.why == kLiveDeliveryTracker.cursor_file(rig.snapshot.run.directory));
  rig.script.calls.clear();
  CHECK(third->export_snapshot(rig.snapshot) == ExportResult::ok);
  CHECK_FALSE(third->flush(milliseconds(0)));
  CHECK_FALSE(third->shutdown(milliseconds(0)));
  CHECK(rig.script.calls.empty());
  CHECK(exists(rig.lease()));  // that of the first
}

TEST_CASE("live delivery: after a stop it leaves the run to takt sync at once") {
  LiveDeliveryRig rig;
  const auto delivery = rig.delivery();
  delivery->begin(rig.snapshot);
  rig.script.stopped = true;
  delivery->export_snapshot(rig.snapshot);
  CHECK_FALSE(exists(rig.lease()));
}

TEST_CASE("live delivery: a run that could not start for lack of memory is left to others") {
  LiveDeliveryRig rig;
  rig.script.throws = true;
  const auto delivery = rig.delivery();
  CHECK_THROWS_AS(delivery->begin(rig.snapshot), std::bad_alloc);
  CHECK_FALSE(exists(rig.lease()));
  CHECK(delivery->export_snapshot(rig.snapshot) == ExportResult::ok);
  CHECK_FALSE(delivery->shutdown(milliseconds(0)));
  CHECK(rig.script.calls == Calls{"begin"});
}

TEST_CASE("live delivery: a forked child delivers nothing and leaves the lease to the parent") {
  LiveDeliveryRig rig;
  auto delivery = rig.delivery();
  auto unused = rig.delivery();
  delivery->begin(rig.snapshot);
  CHECK(in_child([&] {
          rig.script.calls.clear();
          unused->begin(rig.snapshot);
          const bool dropped = delivery->export_snapshot(rig.snapshot) == ExportResult::drop;
          const bool sent = delivery->flush(milliseconds(0)) || delivery->shutdown(milliseconds(0));
          delivery.reset();
          return dropped && !sent && rig.script.calls.empty() && exists(rig.lease()) ? 0 : 1;
        }) == 0);
  CHECK(exists(rig.lease()));
}

TEST_CASE("live delivery: having no run to deliver is not a failure") {
  LiveDeliveryRig rig;
  LiveDelivery delivery(kLiveDeliveryTracker, false, nullptr);
  CHECK(delivery.export_snapshot(rig.snapshot) == ExportResult::ok);
  CHECK(delivery.flush(milliseconds(0)));
  CHECK(delivery.shutdown(milliseconds(0)));
  CHECK_FALSE(exists(rig.lease()));
}
