// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporter.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

TAKT_BEGIN_NAMESPACE

/// Which region has to fit into which budget.
struct SlackOptions {
  std::string region;               ///< name of its key; it counts wherever it stands in a Batch, its outermost call
  std::chrono::nanoseconds budget;  ///< slack time of one cycle, which is a Batch; above 0
  bool on_stream = false;           ///< stream spans instead of host time
  bool warmup = false;              ///< cycles of warm-up count, too
};

/// What a region took of its budget, over cycles.
struct SlackUse {
  std::uint64_t cycles = 0;    ///< that count
  std::uint64_t left_out = 0;  ///< warm-up, and where a stream span is missing
  double budget_ns = 0;        ///< of one cycle
  double mean_ns = 0;          ///< of the region in a cycle
  double stdev_ns = 0;         ///< of a sample; 0 below two cycles
  std::uint64_t max_ns = 0;
  double coverage = 0;               ///< mean / budget; slack-time coverage in percent is 100 times that
  std::uint64_t exposed_cycles = 0;  ///< in which it took longer than the budget
  double exposed_ns = 0;             ///< mean over all cycles of what lies beyond the budget
};

/// Tells whether a region, such as the inference beside a simulation, fits into the slack time of each cycle. It looks
/// at each step of the Session it is added to. Copies share one store, so keep one and add the other:
///
///     takt::Slack slack({"Inference", std::chrono::milliseconds(40)});
///     session.add(slack);
///     ...
///     session.close();
///     double percent = 100 * slack.use().coverage;
///
/// The measure is SCC of CRADL, the inference proxy of a multi-physics code. Any thread.
class TAKT_EXPORT Slack final : public Exporter {
 public:
  /// \throws takt::Error for a budget that is not above 0, and for a region without a name.
  explicit Slack(SlackOptions options);
  ~Slack() override;
  Slack(const Slack&);
  Slack& operator=(const Slack&);

  const char* name() const noexcept override { return "slack"; }
  ExportResult export_snapshot(const Snapshot& snapshot) override;

  /// As of the steps that were collected: all of them after Session::close().
  SlackUse use() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

TAKT_END_NAMESPACE
