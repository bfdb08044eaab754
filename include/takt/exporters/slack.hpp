// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporter.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

TAKT_BEGIN_NAMESPACE

/// A region and its time budget.
struct SlackOptions {
  std::string region;               ///< key name; counts anywhere in a Batch, outermost call only
  std::chrono::nanoseconds budget;  ///< slack time of one cycle, which is a Batch; above 0
  bool on_stream = false;           ///< stream spans instead of host time
  bool warmup = false;              ///< include warm-up cycles
  /// Mesh nodes of the simulation that share the budget: all of them, or those of one rank, which may be a fraction;
  /// 0: unknown.
  double nodes = 0;
};

/// A region's use of its budget, over cycles.
struct SlackUse {
  std::uint64_t cycles = 0;    ///< counted cycles
  std::uint64_t left_out = 0;  ///< warm-up cycles, and cycles without a stream span
  double budget_ns = 0;        ///< per cycle
  double mean_ns = 0;          ///< region's time per cycle
  double stdev_ns = 0;         ///< sample standard deviation; 0 below two cycles
  std::uint64_t max_ns = 0;
  double coverage = 0;               ///< mean / budget; slack-time coverage in percent is 100 times that
  std::uint64_t exposed_cycles = 0;  ///< cycles in which it exceeded the budget
  double exposed_ns = 0;             ///< time beyond the budget, mean over all cycles
  double nodes = 0;                  ///< nodes that the region processed per cycle: the items of the Batch; 0: unknown
  double node_ns = 0;                ///< region's time per such node and cycle; 0: unknown
  double node_budget_ns = 0;         ///< budget / SlackOptions::nodes; 0: unknown
  double node_coverage = 0;          ///< node_ns / node_budget_ns: coverage per node; 0: unknown
};

/// Measures if a region, such as inference next to a simulation, fits into the slack time of each cycle. Receives each
/// step of its Session. Copies share one store: keep one and add the other to the Session:
///
///     takt::Slack slack({"Inference", std::chrono::milliseconds(40)});
///     session.add(slack);
///     ...
///     session.close();
///     double percent = 100 * slack.use().coverage;
///
/// The measures are SCC and SCCN (per node) of CRADL, the inference proxy of a multi-physics code. Any thread.
class TAKT_EXPORT Slack final : public Exporter {
 public:
  /// \throws takt::Error for a budget of 0 or less, a region without a name, and nodes that are no number from 0.
  explicit Slack(SlackOptions options);
  ~Slack() override;
  Slack(const Slack&);
  Slack& operator=(const Slack&);

  const char* name() const noexcept override { return "slack"; }
  ExportResult export_snapshot(const Snapshot& snapshot) override;

  /// Returns the result for the steps collected so far: all of them after Session::close().
  SlackUse use() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

TAKT_END_NAMESPACE
