// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_records.hpp"

#include "base/json_text.hpp"
#include "base/nanoseconds.hpp"
#include "base/version.hpp"

#include <cmath>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr const char* kOldestReader = "0.70.0";

// Fields of Record.
enum : std::uint32_t {
  kNumber = 1,
  kHistory,
  kSummary,
  kConfig = 5,
  kFiles,
  kSystem,
  kMetric = 12,
  kRun = 17,
  kExit,
  kHeader = 21,
  kEnvironment = 26
};

/// `field` repeated: a key and a value each.
void add_items(Protobuf& to, std::uint32_t field, const WandbItems& items) {
  for (const WandbItem& item : items) { to.message(field, Protobuf().text(1, item.key).text(16, item.json)); }
}

}  // namespace

std::string wandb_json(double value) {
  if (std::isnan(value)) { return "NaN"; }
  if (std::isinf(value)) { return value > 0 ? "Infinity" : "-Infinity"; }
  return JsonText(value).text();
}

std::string wandb_json(std::string_view text) { return JsonText(text).text(); }

std::string wandb_producer() { return "takt-" + version_text(); }

Protobuf wandb_time(std::int64_t unix_ns) {
  return Protobuf().number(1, unix_ns / kSecondNs).number(2, unix_ns % kSecondNs);
}

std::string WandbRecords::next(std::uint32_t field, const Protobuf& content) {
  return Protobuf().number(kNumber, ++number_).message(field, content).bytes();
}

std::string WandbRecords::header(std::string_view producer) {
  return next(kHeader, Protobuf().message(1, Protobuf().text(1, producer).text(2, kOldestReader)));
}

std::string WandbRecords::run(const WandbIdentity& identity, const WandbItems& config) {
  Protobuf items;
  add_items(items, 1, config);
  Protobuf run;
  run.text(1, identity.id).text(2, identity.entity).text(3, identity.project).message(4, items);
  run.text(6, identity.group).text(7, identity.job_type).text(8, identity.name).text(9, identity.notes);
  for (const std::string& tag : identity.tags) { run.text(10, tag); }
  run.text(12, identity.sweep_id).text(13, identity.host);
  run.message(17, wandb_time(identity.start_unix_ns));
  if (!identity.commit.empty() || !identity.remote.empty()) {
    run.message(21, Protobuf().text(1, identity.remote).text(2, identity.commit));
  }
  if (identity.resume) { run.number(24, 1); }
  return next(kRun, run);
}

std::string WandbRecords::environment(const Protobuf& message) { return next(kEnvironment, message); }

std::string WandbRecords::axis(const std::string& name) {
  return next(kMetric, Protobuf().text(1, name).message(6, Protobuf().number(3, 1)));
}

std::string WandbRecords::drawn_over(const std::string& glob, const std::string& axis) {
  return next(kMetric, Protobuf().text(2, glob).text(4, axis).message(6, Protobuf().number(1, 1).number(3, 1)));
}

std::string WandbRecords::config(const WandbItems& changed) {
  Protobuf items;
  add_items(items, 1, changed);
  return next(kConfig, items);
}

std::string WandbRecords::history(const WandbItems& row, std::int64_t step) {
  Protobuf history;
  add_items(history, 1, row);
  return next(kHistory, history.message(2, Protobuf().number(1, step)));
}

std::string WandbRecords::system(const WandbItems& metrics, std::int64_t unix_ns) {
  Protobuf system;
  system.message(2, wandb_time(unix_ns));
  add_items(system, 3, metrics);
  return next(kSystem, system);
}

std::string WandbRecords::summary(const WandbItems& changed) {
  Protobuf items;
  add_items(items, 1, changed);
  return next(kSummary, items);
}

std::string WandbRecords::file(const std::string& path) {
  return next(kFiles, Protobuf().message(1, Protobuf().text(1, path)));  // policy and type 0: now, and any
}

std::string WandbRecords::exit(int code, std::int64_t runtime_s) {
  return next(kExit, Protobuf().number(1, code).number(2, runtime_s));
}

}  // namespace detail
TAKT_END_NAMESPACE
