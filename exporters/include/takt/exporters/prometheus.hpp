// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporter.hpp>

#include <chrono>
#include <memory>
#include <string>

TAKT_BEGIN_NAMESPACE

/// Location of a run's metrics for Prometheus. from_env() reads the variable in brackets; a value set in code wins.
struct PrometheusOptions {
  /// [TAKT_PROMETHEUS_DIR] Directory that node_exporter's textfile collector reads; it must exist. Empty: nothing is
  /// written.
  std::string directory;

  /// Returns the defaults, changed by the environment.
  TAKT_EXPORT static PrometheusOptions from_env();
};

/// Writes the figures of each rank to a file for node_exporter's textfile collector, once per period: docs/fleet.md.
/// If the file cannot be written, one line says so, and it is tried again at the next period.
class TAKT_EXPORT PrometheusExporter final : public Exporter {
 public:
  static PrometheusExporter from_env();
  /// Touches no file and does not throw; errors are reported when the run starts.
  explicit PrometheusExporter(const PrometheusOptions& options);
  ~PrometheusExporter() override;
  PrometheusExporter(PrometheusExporter&&) noexcept;
  PrometheusExporter& operator=(PrometheusExporter&&) noexcept;
  const char* name() const noexcept override { return "prometheus"; }
  ExportResult export_snapshot(const Snapshot& snapshot) override;
  bool flush(std::chrono::milliseconds deadline) override;
  bool shutdown(std::chrono::milliseconds deadline) override;
  void begin(const Snapshot& snapshot) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

TAKT_END_NAMESPACE
