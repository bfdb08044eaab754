// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/detail/not_cancelled.hpp>
#include <takt/detail/process.hpp>
#include <takt/session.hpp>

#include "base/format.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"
#include "process/diversion.hpp"
#include "record/device_queue.hpp"
#include "session/own_cost.hpp"
#include "session/run_identity.hpp"
#include "session/session_impl.hpp"

#include <sched.h>
#include <atomic>
#include <charconv>
#include <exception>
#include <limits>
#include <string>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace {

std::atomic<detail::SessionImpl*> current{nullptr};

detail::SessionImpl* current_session() noexcept {
  detail::SessionImpl* session = current.load(std::memory_order_acquire);  // pairs with open()
  return session != nullptr && session->ours() ? session : nullptr;
}

/// Closes the Session at exit(): that runs no destructors of main()'s objects.
void close_at_exit() {
  if (detail::SessionImpl* session = current_session()) { session->close(); }
}

/// Marks the run as failed if exit() has a nonzero status. Runs before close_at_exit().
void note_exit_status(int status, void*) {
  if (status == 0) { return; }
  if (detail::SessionImpl* session = current_session()) { session->fail(); }
}

bool follow_exit() noexcept {
  if (std::atexit(close_at_exit) != 0) { return false; }
#ifdef __GLIBC__
  ::on_exit(note_exit_status, nullptr);  // without memory only the status is not noted
#else
  static_cast<void>(note_exit_status);
#endif
  return true;
}

/// Serializes the creation of Sessions. Not a mutex: one that a parent's thread held at a fork would never be released.
class Opening {
 public:
  Opening() noexcept {
    const std::uint32_t mine = detail::generation() + 1;
    std::uint32_t holder = holder_.load(std::memory_order_relaxed);
    // Pairs with ~Opening().
    while (holder == mine || !holder_.compare_exchange_weak(holder, mine, std::memory_order_acquire)) {
      sched_yield();
      holder = holder_.load(std::memory_order_relaxed);
    }
  }
  ~Opening() { holder_.store(0, std::memory_order_release); }  // pairs with Opening()
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;

 private:
  static std::atomic<std::uint32_t> holder_;  // generation of the creating process, plus one; 0: none
};
std::atomic<std::uint32_t> Opening::holder_{0};

/// Makes the implementation. Throws Error if a Session is open.
detail::SessionImpl* open(std::string name, SessionOptions options) {
  const detail::NotCancelled whole;
  const Opening one_at_a_time;
  if (const detail::SessionImpl* other = current_session()) {
    throw Error("takt: another Session is open, \"" + other->run().name +
                "\"; a process has one at a time. Close it first "
                "(Session::close()), or use that one.");
  }
  detail::adopt_process();
  auto* session = new detail::SessionImpl(std::move(name), std::move(options));
  static const detail::SessionImpl* newest = nullptr;
  session->older = std::exchange(newest, session);
  static bool closes_at_exit = false;
  closes_at_exit = closes_at_exit || follow_exit();
  // Handlers run in reverse order: registered again after a driver's own handler, ours can still query its results.
  detail::device_kinds().on_new(&follow_exit);
  if (!closes_at_exit) {
    detail::report_error("exit",
                         "out of memory: exit() will not close the Session; close it before, by its destructor");
  }
  current.store(session, std::memory_order_release);  // pairs with current_session()
  return session;
}

/// Returns true if the text is not null; otherwise reports it. \param of name whose value is passed; empty for a name.
bool is_given(detail::TextArgument text, std::string_view function, std::string_view of = {}) noexcept {
  if (!text.is_null()) { return true; }
  const std::string_view quote = of.empty() ? "" : "\"";
  const bool is_run = function == "Session";
  detail::report_error(
      detail::Words("null text ", function),
      detail::Words("Session::", function, "() was given a null pointer for ", quote, of.empty() ? "a name" : of, quote,
                    is_run ? "; the run is called \"run\"" : "; the call is ignored"));
  return false;
}

}  // namespace

detail::SessionImpl* detail::running_session() noexcept { return current_session(); }

int detail::this_rank() noexcept {
  if (const detail::SessionImpl* session = current_session()) { return session->run().rank; }
  try {
    return detail::identify_rank(SessionOptions::from_env());
  } catch (...) {
    return 0;  // out of memory
  }
}

Session::Session(detail::TextArgument name, SessionOptions options)
    : impl_(open(is_given(name, "Session") ? std::string(name.view()) : "run", std::move(options))),
      exceptions_(std::uncaught_exceptions()) {}

Session::~Session() {
  if (!impl_->ours()) { return; }  // forked child: the run belongs to the parent
  if (std::uncaught_exceptions() > exceptions_) { impl_->fail(); }
  close();
}

void Session::add(std::unique_ptr<Exporter> exporter) {
  if (exporter == nullptr) { throw Error("takt: Session::add(): the exporter is a null pointer"); }
  if (impl_->ours()) { impl_->add(std::move(exporter)); }
}

void Session::param(detail::TextArgument name, detail::TextArgument value) {
  if (!is_given(name, "param") || !is_given(value, "param", name.view())) { return; }
  if (impl_->ours()) { impl_->set_param(name.view(), value.view()); }
}

void Session::param_real(detail::TextArgument name, double value, bool single_precision) {
  // Uses the shortest text that reads back as the same number: 0.1F is "0.1", but 0.10000000149011612 as a double.
  double shown = value;
  for (int digits = 1; single_precision && digits <= std::numeric_limits<float>::max_digits10; ++digits) {
    const std::string text = detail::format("{:.{}g}", value, digits);
    std::from_chars(text.data(), text.data() + text.size(), shown);
    if (static_cast<float>(shown) == static_cast<float>(value)) { break; }
  }
  param(name, detail::format("{}", shown));
}

void Session::tag(detail::TextArgument name, detail::TextArgument value) {
  if (!is_given(name, "tag") || !is_given(value, "tag", name.view())) { return; }
  if (impl_->ours()) { impl_->set_tag(name.view(), value.view()); }
}

void Session::group(detail::TextArgument name, int number) {
  if (impl_->ours()) { impl_->set_group(name.view(), number); }
}

void Session::metric(detail::TextArgument name, double value) noexcept {
  if (is_given(name, "metric")) { impl_->metric(name.view(), value, nullptr); }
}

void Session::metric(detail::TextArgument name, double value, std::int64_t step) noexcept {
  if (is_given(name, "metric")) { impl_->metric(name.view(), value, &step); }
}

void Session::step(std::int64_t number) noexcept {
  if (!impl_->ours() || detail::is_excluded()) { return; }
  if (detail::Recorder* recorder = detail::this_recorder()) { recorder->set_step(number); }
}

void Session::fail() noexcept { impl_->fail(); }

void Session::print() {
  if (impl_->ours()) { impl_->print(); }
}

Snapshot Session::snapshot() {
  const detail::NotCancelled whole;
  return impl_->ours() ? impl_->snapshot(false) : Snapshot{};
}

void Session::poll() {
  if (impl_->ours()) { impl_->poll(); }
}

bool Session::close() noexcept {
  if (!impl_->ours()) { return true; }
  const bool done = impl_->close();
  detail::SessionImpl* mine = impl_;
  current.compare_exchange_strong(mine, nullptr, std::memory_order_acq_rel);  // pairs with current_session()
  return done;
}

const RunInfo& Session::run() const noexcept { return impl_->run(); }

Snapshot snapshot() {
  const detail::NotCancelled whole;
  if (detail::SessionImpl* session = current_session()) { return session->snapshot(false); }
  Snapshot snapshot;
  snapshot.run.name = "takt";
  const std::uint64_t now_ns = detail::process_clock().now_ns();
  detail::registry().read(snapshot, now_ns);
  snapshot.clock = detail::process_clock().info();
  if (const double cost_ns = detail::region_cost_ns(); cost_ns > 0) { snapshot.clock.region_cost_ns = cost_ns; }
  snapshot.wall_ns = static_cast<std::int64_t>(now_ns);
  snapshot.overhead_ns = detail::overhead_ns(snapshot);
  return snapshot;
}

TAKT_END_NAMESPACE
