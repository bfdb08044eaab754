// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_upload.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/report_error.hpp"
#include "trackers/backoff.hpp"
#include "trackers/http.hpp"
#include "wandb/wandb_config.hpp"
#include "wandb/wandb_directory.hpp"
#include "wandb/wandb_requests.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Time = WandbUpload::Time;

constexpr milliseconds kLongestRateWait(60'000);
constexpr milliseconds kNotePause(20);  // if the cursor cannot be saved

bool is_good(const HttpReply& reply) { return reply.status >= 200 && reply.status < 300; }

}  // namespace

struct WandbUpload::Impl {
  Impl(const WandbOptions& given, const std::string& log_file, WandbSent sent_before, Started write_down,
       const WandbTimes& given_times)
      : options(given),
        times(given_times),
        directory(log_file.substr(0, log_file.rfind('/'))),
        log(log_file),
        in_directory(std::make_shared<DirectoryFiles>(directory)),
        http(wandb_http_options(given, given_times.tries.connect)),
        files(given, given_times.tries.connect, given_times.file, in_directory),
        tail(log_file, in_directory),
        replay(tail.replay()),
        before(std::move(sent_before)),
        started(std::move(write_down)),
        behind(before.behind),
        backoff(given_times.tries) {}

  bool deliver(Time until, bool all);
  bool prepare(bool all);
  bool must_ask() const;
  WandbIdentity identity() const;
  bool is_there_from_log();
  void settle_there();
  void end_by_answer();
  void go_behind_newer(std::uint64_t first);
  bool prepare_run(bool is_due);
  bool write_down();
  void read();
  bool prepare_end();
  void start();
  void answered(const HttpReply& reply);
  void resume_reported(const HttpReply& reply);
  void upserted(const HttpReply& reply);
  void not_understood(const HttpReply& reply);
  void streamed(const HttpReply& reply);
  void files_created(const HttpReply& reply);
  void file_sent(const HttpReply& reply);
  void pace(const HttpReply& reply);
  void try_again(const HttpReply& reply);
  void succeeded();
  void stop(const std::string& why);
  void report(const char* cause, const std::string& line) const { report_error(cause, http.without_secrets(line)); }
  bool ask(WandbKind what, HttpRequest with);
  std::string command() const {
    const std::string run_directory = needs_other_id ? "" : before.run_directory;
    return wandb_upload_command(directory, run_directory, options.resume,
                                before.started || reported_lines || needs_other_id);
  }

  WandbOptions options;
  WandbTimes times;
  std::string directory;
  std::string log;
  std::shared_ptr<const DirectoryFiles> in_directory;
  Http http;
  WandbFiles files;
  WandbLogTail tail;
  const WandbReplay& replay;
  WandbSent before;
  Started started;
  WandbBehind behind;
  WandbThere there;  // for a continued run
  Backoff backoff;

  WandbKind kind = WandbKind::upsert;
  HttpRequest request;   // kept until it is answered
  bool pending = false;  // a request exists
  bool sent = false;     // the request is under way
  WandbPlace place;      // empty until the server has sent it
  std::string run;
  WandbStream stream;
  std::uint64_t lines = 0;   // number on the server
  std::uint64_t events = 0;  // number on the server
  std::uint64_t reported_config = 0;
  std::uint64_t reported_summary = 0;
  std::uint64_t asked_version = 0;  // version of the data in the request

  Time due{};
  Time last_sent{};
  Time not_before{};   // wait after a failure
  Time paced_until{};  // wait for the server's rate limit
  bool hurried = false;
  bool ended = false;
  bool stopped = false;
  bool needs_other_id = false;
  bool reported_stop = false;
  bool knows_there = false;     // the server's state of the run is known
  bool written_down = false;    // `behind` is saved
  bool reported_lines = false;  // lines were sent, or may have been
  std::uint64_t answers = 0;
};

bool WandbUpload::Impl::deliver(Time until, bool all) {
  while (!stopped && !ended) {
    if (!sent) {
      if (!prepare(all)) {
        const bool waits = !run.empty() && !written_down;
        if (waits) { std::this_thread::sleep_until(std::min(until, steady_clock::now() + kNotePause)); }
        return !stopped && !waits;
      }
      // An early retry costs one request; waiting past the end of the program costs the data.
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

/// Prepares the next request. Returns whether there is one to send now.
bool WandbUpload::Impl::prepare(bool all) {
  if (pending) { return true; }
  read();
  if (stopped || !replay.started()) { return false; }
  if (must_ask()) { return ask(WandbKind::resume, wandb_resume_status(identity(), options)); }
  if (before.complete) {
    end_by_answer();
    return false;
  }
  const bool end = replay.exit_code().has_value();
  const Time now = steady_clock::now();
  const bool is_due = all || end || now >= due;
  if (prepare_run(is_due)) { return true; }
  if (!write_down()) { return false; }
  const bool has_lines = !stream.lines.empty() || !stream.events.empty();
  const bool news = has_lines || (!behind.newer && reported_summary != replay.summary_version());
  if (is_due && news) {
    stream.summary = behind.newer || reported_summary == replay.summary_version() ? "" : replay.summary();
    asked_version = replay.summary_version();
    reported_lines = reported_lines || has_lines;
    return ask(WandbKind::stream, wandb_stream(place, stream, behind));
  }
  if (behind.newer) {
    ended = end;
    return false;
  }
  if (end) { return prepare_end(); }
  if (now < last_sent + times.heartbeat) { return false; }
  stream.summary.clear();
  asked_version = reported_summary;
  return ask(WandbKind::stream, wandb_stream(place, stream, behind));
}

/// Returns whether the server's state of the run must be queried: for a continued run, and after an outage.
bool WandbUpload::Impl::must_ask() const {
  if (knows_there) { return false; }
  return !place.run.empty() || before.started || before.by_others || options.resume != WandbResume::unset ||
         before.behind.resumed;
}

/// Returns the run's identity, with its location on the server.
WandbIdentity WandbUpload::Impl::identity() const {
  WandbIdentity identity = replay.identity();
  if (!place.run.empty()) {
    identity.entity = place.entity;
    identity.project = place.project;
  }
  return identity;
}

/// Prepares a request that sends the run, or its config, if needed now.
bool WandbUpload::Impl::prepare_run(bool is_due) {
  if (behind.newer) {
    if (place.run.empty()) { place = wandb_place_of(before.run); }
    run = place.entity + "/" + place.project + "/" + place.run;
    return false;
  }
  const bool whole = place.run.empty();
  if (!whole && (!is_due || reported_config == replay.config_version())) { return false; }
  asked_version = replay.config_version();
  WandbIdentity reported = identity();
  if (whole && behind.resumed) {
    // Values not set again keep the server's value.
    reported.storage_id = there.storage_id;
    if (options.name.empty()) { reported.name.clear(); }
    if (reported.tags.empty()) { reported.tags = there.tags; }
    if (reported.notes.empty()) { reported.notes = there.notes; }
  }
  return ask(WandbKind::upsert, wandb_upsert(reported, whole, replay.config(wandb_producer()), options));
}

/// Saves `behind` for a process that resumes the log.
bool WandbUpload::Impl::write_down() {
  written_down = written_down || started == nullptr || started(run, behind);
  return written_down;
}

void WandbUpload::Impl::read() {
  const std::uint64_t known_lines = std::max(before.lines, lines);
  const std::uint64_t known_events = std::max(before.events, events);
  if (!tail.read(stream, known_lines, known_events)) { return stop(tail.problem()); }
  lines = std::max(lines, stream.offset);
  events = std::max(events, stream.events_offset);
}

/// Prepares the requests after all rows: files, then the end.
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
  asked_version = reported_summary;
  return ask(WandbKind::stream, wandb_stream(place, stream, behind));
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
      return resume_reported(reply);
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

/// Spreads the requests left in the server's rate limit over the remaining time.
void WandbUpload::Impl::pace(const HttpReply& reply) {
  if (reply.rate.remaining < 0 || reply.rate.reset_s <= 0) { return; }
  const double wait_s = std::min(reply.rate.reset_s, 3600.0) / std::max(reply.rate.remaining, 1.0);
  const milliseconds wait(static_cast<std::int64_t>(wait_s * 1e3));
  paced_until = steady_clock::now() + std::min(wait, kLongestRateWait);
}

void WandbUpload::Impl::succeeded() {
  pending = hurried = false;
  ++answers;
  backoff.reset();
}

void WandbUpload::Impl::resume_reported(const HttpReply& reply) {
  if (!is_good(reply) || !wandb_resume_reported(reply.body, there)) { return not_understood(reply); }
  const bool ours = before.started || !run.empty();
  if (before.complete) {
    knows_there = true;
    return succeeded();
  }
  if (!ours && before.by_others && is_there_from_log()) {
    knows_there = true;
    return succeeded();
  }
  const std::string why = ours ? "" : wandb_resume_refusal(options.resume, there.started, replay.identity().id);
  if (!why.empty()) { return stop(why); }
  knows_there = true;
  const bool resumes = there.started && !ours && options.resume != WandbResume::unset;
  if (resumes) { behind = there.behind; }
  behind.resumed = behind.resumed || resumes;
  if (behind.resumed && run.empty()) {
    tail.start(there, behind);
    stream = WandbStream();
  }
  succeeded();
  if (ours) { settle_there(); }
}

/// Returns whether the server's lines are the first lines of this log. If so, sending continues after them.
bool WandbUpload::Impl::is_there_from_log() {
  const std::uint64_t count = there.behind.lines;
  if (!there.started || count == 0) { return false; }
  WandbStream part;
  std::uint64_t known = 0;
  bool same = false;
  tail.start({}, {});
  while (!same && tail.read(part, known, before.events) && !part.lines.empty()) {
    known = part.offset + part.lines.size();
    same = known >= count && part.offset < count &&
           wandb_is_same_line(there.last, wandb_members(part.lines[count - 1 - part.offset]));
    if (known >= count) { break; }
    part = WandbStream();
  }
  tail.start({}, {});
  stream = WandbStream();
  if (!same) { return false; }
  before.started = true;
  before.lines = lines = count;
  before.events = events = there.behind.events;
  return true;
}

/// Ends a log that was sent completely, after the server has reported its state.
void WandbUpload::Impl::end_by_answer() {
  run = before.run;
  const std::uint64_t wanted = behind.lines + before.lines;
  if (there.started && there.behind.lines >= wanted) {
    ended = true;
  } else if (there.started) {
    stop(detail::format("it accepted {} rows of {} but reports {}", wanted, run, there.behind.lines));
  } else {
    needs_other_id = true;
    stop("the run " + run + ", which was sent to it, no longer exists");
  }
}

/// Handles lines that the server has after the known ones: lines of this log whose arrival was not confirmed, or other
/// lines.
void WandbUpload::Impl::settle_there() {
  read();
  if (stopped) { return; }
  const std::uint64_t first = stream.lines.empty() ? lines : stream.offset;
  if (there.behind.lines <= behind.lines + first) { return; }
  const std::uint64_t more = there.behind.lines - behind.lines - first;
  const bool are_ours =
      more <= stream.lines.size() && wandb_is_same_line(there.last, wandb_members(stream.lines[more - 1]));
  if (!are_ours) { return go_behind_newer(first); }
  stream.lines.erase(stream.lines.begin(), stream.lines.begin() + static_cast<std::ptrdiff_t>(more));
  stream.offset = lines = first + more;
}

/// \param first first line of the log that is not on the server.
void WandbUpload::Impl::go_behind_newer(std::uint64_t first) {
  const std::uint64_t first_event = stream.events.empty() ? events : stream.events_offset;
  behind.newer = behind.resumed = true;
  behind.lines = there.behind.lines - first;
  behind.step = there.behind.step - static_cast<std::int64_t>(first);
  if (there.behind.events > behind.events + first_event) { behind.events = there.behind.events - first_event; }
  written_down = false;
  lines = first;
  events = first_event;
  stream = WandbStream();
  tail.start(there, behind);
  report("wandb.newer", detail::format("the last row of the run {} of W&B at {} is not from {}: another "
                                       "process has written to it. "
                                       "Its rows, summary, config, files and state are kept, and the missing "
                                       "rows of this log are appended",
                                       run.empty() ? before.run : run, http.url(), directory));
}

void WandbUpload::Impl::upserted(const HttpReply& reply) {
  std::uint64_t known = 0;
  if (is_good(reply) && wandb_upserted(reply.body, place, known)) {
    // Like the official client: existing data of a run is never overwritten.
    if (!before.started && run.empty() && known != 0) { behind.lines = known; }
    run = place.entity + "/" + place.project + "/" + place.run;
    knows_there = true;
    reported_config = asked_version;
    return succeeded();
  }
  not_understood(reply);
}

/// Handles a failed GraphQL request without which nothing else can be sent.
void WandbUpload::Impl::not_understood(const HttpReply& reply) {
  const std::string errors = is_good(reply) ? wandb_errors(reply.body) : "";
  if (!errors.empty()) { return stop(errors); }
  if (is_good(reply) || wandb_may_pass(kind, reply)) { return try_again(reply); }
  needs_other_id = wandb_is_deleted(reply);
  stop(wandb_reported(reply, http) + wandb_cure(reply));
}

void WandbUpload::Impl::streamed(const HttpReply& reply) {
  if (!is_good(reply) && !wandb_may_pass(kind, reply)) { return stop(wandb_reported(reply, http) + wandb_cure(reply)); }
  if (!is_good(reply) || !Json::parse(reply.body).is_object()) { return try_again(reply); }
  lines += stream.lines.size();
  events += stream.events.size();
  reported_summary = asked_version;
  stream.lines.clear();
  stream.events.clear();
  if (wandb_wants_stop(reply.body) && !std::exchange(reported_stop, true)) { report_wandb_stop(options.on_stop); }
  if (stream.complete) {
    ended = true;
    if (files.missing() == 0) { write_new_file(*in_directory, name_part(log) + ".synced", ""); }
  }
  succeeded();
}

void WandbUpload::Impl::files_created(const HttpReply& reply) {
  std::vector<WandbTarget> targets;
  if (is_good(reply) && wandb_created_files(reply.body, targets)) {
    files.placed(std::move(targets));
    return succeeded();
  }
  const bool refused = is_good(reply) ? !wandb_errors(reply.body).empty() : !wandb_may_pass(kind, reply);
  if (!refused) { return try_again(reply); }
  files.give_up();
  report("wandb.file", "W&B accepts no files: " + wandb_reported(reply, http) + wandb_cure(reply));
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
  const bool is_outage = reply.status == 0 || reply.status >= 500;
  if (kind == WandbKind::stream && is_outage) {
    knows_there = pending = false;
    due = Time();
  }
  const bool file = kind == WandbKind::file;
  const std::string reported =
      file ? detail::format("HTTP {} {}", reply.status, reply.error) : wandb_reported(reply, http);
  report("wandb.away", detail::format("W&B at {} does not respond correctly: {}. Takt retries; all data is in {}",
                                      http.url(), reported, directory));
}

void WandbUpload::Impl::stop(const std::string& why) {
  stopped = true;
  pending = false;
  stream = WandbStream();
  report("wandb.refused", detail::format("nothing more is sent to W&B at {}: {}. The run continues. Upload it with: {}",
                                         http.url(), why, command()));
}

bool WandbUpload::available() noexcept { return true; }
void WandbUpload::check(const WandbOptions& options) { const Http probe(wandb_http_options(options, milliseconds(1))); }

WandbUpload::WandbUpload(const WandbOptions& options, const std::string& log_file, WandbSent sent, Started started,
                         const WandbTimes& times)
    : impl_(std::make_unique<Impl>(options, log_file, std::move(sent), std::move(started), times)) {}
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
std::uint64_t WandbUpload::events() const noexcept { return impl_->events; }
std::uint64_t WandbUpload::answers() const noexcept { return impl_->answers; }
bool WandbUpload::asking() const noexcept { return impl_->sent; }
const std::string& WandbUpload::url() const noexcept { return impl_->http.url(); }
const std::string& WandbUpload::run() const noexcept { return impl_->run; }
std::string WandbUpload::command() const { return impl_->command(); }

void report_wandb_stop(const std::function<void()>& on_stop) {
  if (!on_stop) {
    return report_error("wandb.stop",
                        "a user asked W&B to stop this run, but the program has no WandbOptions::on_stop; "
                        "end it yourself if you agree");
  }
  report_error("wandb.stop", "a user asked W&B to stop this run; calling WandbOptions::on_stop");
  try {
    on_stop();
  } catch (const std::exception& error) {
    report_error("wandb.on_stop", std::string("WandbOptions::on_stop threw an exception: ") + error.what());
  } catch (...) { report_error("wandb.on_stop", "WandbOptions::on_stop threw an exception"); }
}

namespace {

// Per request: below the server's limit of 10 MiB, even with a row of 4 MiB.
constexpr std::size_t kMaxLineBytes = std::size_t{2} << 20U;

/// Removes lines before `known` from `lines`, the last of `count` ones. Returns the number of the first line left.
std::uint64_t pass_over(std::uint64_t known, std::uint64_t count, std::vector<std::string>& lines) {
  const std::uint64_t first = count - lines.size();
  const std::uint64_t passed = std::min<std::uint64_t>(known > first ? known - first : 0, lines.size());
  lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(passed));
  return first + passed;
}

}  // namespace

WandbLogTail::WandbLogTail(std::string log, std::shared_ptr<const DirectoryFiles> directory)
    : log_(std::move(log)), directory_(std::move(directory)) {
  start({}, {});
}

void WandbLogTail::start(const WandbThere& there, const WandbBehind& behind) {
  reader_ = std::make_unique<WandbLogReader>(
      log_, [from = directory_, name = name_part(log_)](std::uint64_t offset, std::size_t max, std::string& bytes) {
        return from->read(name, offset, max, bytes);
      });
  replay_ = WandbReplay();
  if (behind.resumed) { replay_.go_on_behind(there, behind); }
}

bool WandbLogTail::read(WandbStream& stream, std::uint64_t known_lines, std::uint64_t known_events) {
  while (stream.lines.empty() && stream.events.empty() && !replay_.exit_code().has_value()) {
    WandbLogReader::Found found = WandbLogReader::Found::record;
    std::string record;
    while (replay_.line_bytes() < kMaxLineBytes && found == WandbLogReader::Found::record) {
      found = reader_->next(record);
      if (found == WandbLogReader::Found::record) { replay_.take(record); }
      if (replay_.exit_code().has_value()) { found = WandbLogReader::Found::nothing; }
    }
    if (found == WandbLogReader::Found::damage) { return false; }
    stream.lines = replay_.take_lines();
    stream.offset = pass_over(known_lines, replay_.lines(), stream.lines);
    stream.events = replay_.take_events();
    stream.events_offset = pass_over(known_events, replay_.events(), stream.events);
    if (found != WandbLogReader::Found::record) { break; }
  }
  return true;
}

}  // namespace detail
TAKT_END_NAMESPACE
