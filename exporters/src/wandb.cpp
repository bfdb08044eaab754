// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/exporters/wandb.hpp>

#include <takt/snapshot.hpp>

#include "wandb_config.hpp"
#include "wandb_run.hpp"

#include <chrono>
#include <memory>
#include <utility>

#include <unistd.h>

TAKT_BEGIN_NAMESPACE

using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct WandbExporter::Impl {
  explicit Impl(const WandbOptions& options) : all_ranks(options.all_ranks) {
    if (options.mode != WandbMode::disabled) { run = std::make_unique<detail::WandbRun>(options); }
  }

  bool is_forked() const { return ::getpid() != pid; }

  bool all_ranks;
  std::unique_ptr<detail::WandbRun> run;  // none where nothing is written
  pid_t pid = ::getpid();
};

WandbExporter::WandbExporter(const WandbOptions& options) {
  if (options.mode != WandbMode::disabled) { detail::check_wandb_options(options); }
  impl_ = std::make_unique<Impl>(options);
}

WandbExporter WandbExporter::from_env() { return WandbExporter(WandbOptions::from_env()); }

WandbExporter::~WandbExporter() = default;
WandbExporter::WandbExporter(WandbExporter&&) noexcept = default;
WandbExporter& WandbExporter::operator=(WandbExporter&&) noexcept = default;

ExportResult WandbExporter::export_snapshot(const Snapshot& snapshot) {
  Impl& impl = *impl_;
  if (impl.is_forked()) { return ExportResult::drop; }  // the file is the parent's
  if (snapshot.run.rank != 0 && !impl.all_ranks) { impl.run.reset(); }
  return impl.run == nullptr || impl.run->take(snapshot) ? ExportResult::ok : ExportResult::drop;
}

bool WandbExporter::flush(milliseconds) {
  Impl& impl = *impl_;
  return !impl.is_forked() && (impl.run == nullptr || impl.run->flush());
}

bool WandbExporter::shutdown(milliseconds deadline) {
  Impl& impl = *impl_;
  return !impl.is_forked() && (impl.run == nullptr || impl.run->finish(steady_clock::now() + deadline * 3 / 4));
}

TAKT_END_NAMESPACE
