// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb_upload.hpp"

#include "backoff.hpp"
#include "fault.hpp"
#include "http.hpp"
#include "wandb_config.hpp"
#include "wandb_files.hpp"
#include "wandb_folder.hpp"
#include "wandb_log_reader.hpp"
#include "wandb_replay.hpp"
#include "wandb_requests.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Time = WandbUpload::Time;

// Of a request: less than the 10 MiB that the server takes, a row of 4 MiB included.
constexpr std::size_t kMostLineBytes = std::size_t{2} << 20U;
constexpr milliseconds kLongestRateWait(60'000);

bool is_good(const HttpReply& reply) { return reply.status >= 200 && reply.status < 300; }

bool is_object(const std::string& body) { return nlohmann::json::parse(body, nullptr, false).is_object(); }

}  // namespace

struct WandbUpload::Impl {
  Impl(const WandbOptions& given, const std::string& log_file, std::uint64_t lines_there, const WandbTimes& given_times)
      : options(given),
        times(given_times),
        folder(log_file.substr(0, log_file.rfind('/'))),
        log(log_file),
        in_folder(std::make_shared<FolderFiles>(folder)),
        http(wandb_http_options(given, given_times.tries.connect)),
        files(given, given_times.tries.connect, given_times.file, in_folder),
        reader(log_file, [from = in_folder, name = name_part(log_file)](
                             std::uint64_t offset, std::size_t most,
                             std::string& bytes) { return from->read(name, offset, most, bytes); }),
        lines_before(lines_there),
        backoff(given_times.tries) {}

  bool deliver(Time until, bool all);
  bool prepare(bool all);
  void read();
  bool prepare_end();
  void start();
  void answered(const HttpReply& reply);
  void resume_told(const HttpReply& reply);
  void upserted(const HttpReply& reply);
  void not_understood(const HttpReply& reply);
  void streamed(const HttpReply& reply);
  void files_created(const HttpReply& reply);
  void file_sent(const HttpReply& reply);
  void pace(const HttpReply& reply);
  void try_again(const HttpReply& reply);
  void succeeded();
  void stop(const std::string& why);
  void report(const char* cause, const std::string& line) const { report_fault(cause, http.without_secrets(line)); }
  bool ask(WandbKind what, HttpRequest with);

  WandbOptions options;
  WandbTimes times;
  std::string folder;
  std::string log;
  std::shared_ptr<const FolderFiles> in_folder;
  Http http;
  WandbFiles files;
  WandbLogReader reader;
  WandbReplay replay;
  std::uint64_t lines_before;  // the server has from an earlier process
  Backoff backoff;

  WandbKind kind = WandbKind::upsert;
  HttpRequest request;   // the same until it is answered
  bool pending = false;  // there is one
  bool sent = false;     // it is under way
  WandbPlace place;      // empty before the server has told it
  std::string run;
  WandbStream stream;
  std::uint64_t lines = 0;  // that the server has
  std::uint64_t told_config = 0;
  std::uint64_t told_summary = 0;
  std::uint64_t asked_version = 0;  // of what the request tells

  Time due{};
  Time last_sent{};
  Time not_before{};   // after a failure
  Time paced_until{};  // by the server's allowance
  bool hurried = false;
  bool ended = false;
  bool stopped = false;
  bool told_stop = false;
  bool knows_others = false;  // whether there is a run of that id
  std::uint64_t answers = 0;
};

bool WandbUpload::Impl::deliver(Time until, bool all) {
  while (!stopped && !ended) {
    if (!sent) {
      if (!prepare(all)) { return !stopped; }
      // Trying again soon costs one request; waiting longer than the program lasts costs the data.
      if (all && !backoff.asked_to_wait() && !std::exchange(hurried, true)) { not_before = Time(); }
      if (const Time begin = std::max(not_before, paced_until); begin > steady_clock::now()) {
        if (begin >= until) { return false; }
        std::this_thread::sleep_until(begin);
      }
      start();
    }
    HttpReply reply;
    Http& used = kind == WandbKind::file ? files.http() : http;
    if (!used.wait(until, reply)) { return false; }
    sent = false;
    answered(reply);
    if (steady_clock::now() >= until) { break; }
  }
  return ended && !stopped;
}

/// Whether there is a request to send now.
bool WandbUpload::Impl::prepare(bool all) {
  if (pending) { return true; }
  read();
  if (stopped || !replay.begun()) { return false; }
  if (place.run.empty() && options.resume != WandbResume::unset && !knows_others) {
    return ask(WandbKind::resume, wandb_resume_status(replay.identity(), options));
  }
  const bool end = replay.exit_code().has_value();
  const Time now = steady_clock::now();
  const bool is_due = all || end || now >= due;
  if (place.run.empty() || (is_due && told_config != replay.config_version())) {
    asked_version = replay.config_version();
    WandbIdentity identity = replay.identity();
    if (!place.run.empty()) {
      identity.entity = place.entity;
      identity.project = place.project;
    }
    return ask(WandbKind::upsert, wandb_upsert(identity, place.run.empty(), replay.config(wandb_producer()), options));
  }
  const bool news = !stream.lines.empty() || told_summary != replay.summary_version();
  if (is_due && news) {
    stream.summary = told_summary == replay.summary_version() ? "" : replay.summary();
    asked_version = replay.summary_version();
    return ask(WandbKind::stream, wandb_stream(place, stream));
  }
  if (end) { return prepare_end(); }
  if (now < last_sent + times.heartbeat) { return false; }
  stream.summary.clear();
  asked_version = told_summary;
  return ask(WandbKind::stream, wandb_stream(place, stream));
}

/// The next rows of the log, as many as one request may carry.
void WandbUpload::Impl::read() {
  while (stream.lines.empty() && !replay.exit_code().has_value()) {
    WandbLogReader::Found found = WandbLogReader::Found::record;
    std::string record;
    while (replay.line_bytes() < kMostLineBytes && found == WandbLogReader::Found::record) {
      found = reader.next(record);
      if (found == WandbLogReader::Found::record) { replay.take(record); }
      if (replay.exit_code().has_value()) { found = WandbLogReader::Found::nothing; }
    }
    if (found == WandbLogReader::Found::damage) { return stop(reader.problem()); }
    std::vector<std::string> read = replay.take_lines();
    stream.offset = replay.lines() - read.size();
    const std::uint64_t known = lines_before > stream.offset ? lines_before - stream.offset : 0;
    const auto skipped = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(known, read.size()));
    read.erase(read.begin(), read.begin() + skipped);
    stream.offset += static_cast<std::uint64_t>(skipped);
    lines = stream.offset;
    stream.lines = std::move(read);
    if (found != WandbLogReader::Found::record) { return; }
  }
}

/// All rows are there: files, and then the end.
bool WandbUpload::Impl::prepare_end() {
  switch (files.next(replay, http.url())) {
    case WandbFiles::Next::places:
      return ask(WandbKind::create_files, wandb_create_files(place, files.names(), options));
    case WandbFiles::Next::file:
      return ask(WandbKind::file, files.request());
    case WandbFiles::Next::nothing:
      break;
  }
  stream = WandbStream();
  stream.uploaded = files.sent();
  stream.complete = true;
  stream.exit_code = *replay.exit_code();
  asked_version = told_summary;
  return ask(WandbKind::stream, wandb_stream(place, stream));
}

bool WandbUpload::Impl::ask(WandbKind what, HttpRequest with) {
  kind = what;
  request = std::move(with);
  pending = true;
  return true;
}

void WandbUpload::Impl::start() {
  (kind == WandbKind::file ? files.http() : http).start(request);
  sent = true;
  last_sent = steady_clock::now();
  if (kind == WandbKind::stream) { due = last_sent + times.transmit; }
}

void WandbUpload::Impl::answered(const HttpReply& reply) {
  pace(reply);
  switch (kind) {
    case WandbKind::resume:
      return resume_told(reply);
    case WandbKind::upsert:
      return upserted(reply);
    case WandbKind::stream:
      return streamed(reply);
    case WandbKind::create_files:
      return files_created(reply);
    case WandbKind::file:
      return file_sent(reply);
  }
}

/// What is left of the server's allowance is shared out over its time.
void WandbUpload::Impl::pace(const HttpReply& reply) {
  if (reply.rate_remaining < 0 || reply.rate_reset_s <= 0) { return; }
  const double wait_s = std::min(reply.rate_reset_s, 3600.0) / std::max(reply.rate_remaining, 1.0);
  const milliseconds wait(static_cast<std::int64_t>(wait_s * 1e3));
  paced_until = steady_clock::now() + std::min(wait, kLongestRateWait);
}

void WandbUpload::Impl::succeeded() {
  pending = hurried = false;
  ++answers;
  backoff.reset();
}

void WandbUpload::Impl::resume_told(const HttpReply& reply) {
  bool is_there = false;
  if (!is_good(reply) || !wandb_resume_told(reply.body, is_there)) { return not_understood(reply); }
  const std::string why = wandb_resume_refusal(options.resume, is_there, replay.identity().id);
  if (!why.empty()) { return stop(why); }
  knows_others = true;
  succeeded();
}

void WandbUpload::Impl::upserted(const HttpReply& reply) {
  if (is_good(reply) && wandb_upserted(reply.body, place)) {
    run = place.entity + "/" + place.project + "/" + place.run;
    told_config = asked_version;
    return succeeded();
  }
  not_understood(reply);
}

/// Of a request of GraphQL without which nothing else can be sent.
void WandbUpload::Impl::not_understood(const HttpReply& reply) {
  const std::string errors = is_good(reply) ? wandb_errors(reply.body) : "";
  if (!errors.empty()) { return stop(errors); }
  if (is_good(reply) || wandb_may_pass(kind, reply.status)) { return try_again(reply); }
  stop(wandb_told(reply, http) + wandb_cure(reply));
}

void WandbUpload::Impl::streamed(const HttpReply& reply) {
  if (!is_good(reply) && !wandb_may_pass(kind, reply.status)) {
    return stop(wandb_told(reply, http) + wandb_cure(reply));
  }
  if (!is_good(reply) || !is_object(reply.body)) { return try_again(reply); }
  lines += stream.lines.size();
  told_summary = asked_version;
  stream.lines.clear();
  if (wandb_wants_stop(reply.body) && !std::exchange(told_stop, true)) {
    report("wandb.stop",
           "somebody has asked W&B to stop this run, which Takt does not do; end the program if you agree");
  }
  if (stream.complete) {
    ended = true;
    if (files.missing() == 0) { write_new_file(*in_folder, name_part(log) + ".synced", ""); }
  }
  succeeded();
}

void WandbUpload::Impl::files_created(const HttpReply& reply) {
  std::vector<WandbTarget> targets;
  if (is_good(reply) && wandb_created_files(reply.body, targets)) {
    files.placed(std::move(targets));
    return succeeded();
  }
  const bool refused = is_good(reply) ? !wandb_errors(reply.body).empty() : !wandb_may_pass(kind, reply.status);
  if (!refused) { return try_again(reply); }
  files.give_up();
  report("wandb.file", "W&B takes no files: " + wandb_told(reply, http) + wandb_cure(reply));
  succeeded();
}

void WandbUpload::Impl::file_sent(const HttpReply& reply) {
  switch (files.answered(reply)) {
    case WandbFiles::Outcome::taken:
      return succeeded();
    case WandbFiles::Outcome::again:
      return try_again(reply);
    case WandbFiles::Outcome::lost:
      pending = false;
      return;
  }
}

void WandbUpload::Impl::try_again(const HttpReply& reply) {
  backoff.failed();
  not_before = steady_clock::now() + backoff.wait(reply);
  const bool file = kind == WandbKind::file;
  const std::string told = file ? fmt::format("HTTP {} {}", reply.status, reply.error) : wandb_told(reply, http);
  report("wandb.away", fmt::format("W&B at {} does not answer as it should: {}. It is tried again; {} has everything",
                                   http.url(), told, folder));
}

void WandbUpload::Impl::stop(const std::string& why) {
  stopped = true;
  pending = false;
  stream = WandbStream();
  report("wandb.refused", fmt::format("nothing more is sent to W&B at {}: {}. The run goes on; this uploads it: {}",
                                      http.url(), why, wandb_upload_command(folder, options.resume, !run.empty())));
}

bool WandbUpload::available() noexcept { return true; }
void WandbUpload::check(const WandbOptions& options) { const Http probe(wandb_http_options(options, milliseconds(1))); }

WandbUpload::WandbUpload(const WandbOptions& options, const std::string& log_file, std::uint64_t lines,
                         const WandbTimes& times)
    : impl_(std::make_unique<Impl>(options, log_file, lines, times)) {}
WandbUpload::~WandbUpload() = default;

bool WandbUpload::deliver(Time until, bool all) { return impl_->deliver(until, all); }

void WandbUpload::give_up_files() {
  Impl& impl = *impl_;
  const bool waits = impl.kind == WandbKind::file || (impl.kind == WandbKind::create_files && !impl.sent);
  if (impl.ended) { return; }
  if (impl.pending && waits) {
    impl.pending = impl.sent = false;
    impl.not_before = Time();
  }
  impl.files.give_up();
}

bool WandbUpload::ended() const noexcept { return impl_->ended; }
bool WandbUpload::complete() const noexcept { return impl_->ended && impl_->files.missing() == 0; }
bool WandbUpload::stopped() const noexcept { return impl_->stopped; }
std::uint64_t WandbUpload::lines() const noexcept { return impl_->lines; }
std::uint64_t WandbUpload::answers() const noexcept { return impl_->answers; }
bool WandbUpload::asking() const noexcept { return impl_->sent; }
const std::string& WandbUpload::url() const noexcept { return impl_->http.url(); }
const std::string& WandbUpload::run() const noexcept { return impl_->run; }

}  // namespace detail
TAKT_END_NAMESPACE
