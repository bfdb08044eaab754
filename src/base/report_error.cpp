// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/report_error.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "base/threads.hpp"

#include <takt/detail/not_cancelled.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <limits>
#include <new>
#include <string_view>

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::string_view kLostRows[] = {"rows_dropped", "rows_not_taken", "steps_without_rows"};
constexpr std::string_view kLostMetrics[] = {"metrics_dropped", "metrics_not_taken", "metrics_without_room",
                                             "metrics_over_bound"};

template <std::size_t N>
bool is_one_of(const std::string_view (&names)[N], std::string_view name) {
  for (const std::string_view each : names) {
    if (each == name) { return true; }
  }
  return false;
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

std::string counted(std::uint64_t count, const char* one) {
  return human_count(count) + " " + one + (count == 1 ? "" : "s");
}

}  // namespace

std::string LostRecords::words() const {
  std::string all = rows == 0 ? "" : counted(rows, "step");
  const auto add = [&](const std::string& more) { all += all.empty() ? more : " and " + more; };
  if (metrics != 0) { add(counted(metrics, "metric")); }
  if (either != 0) { add(human_count(either) + " steps or metrics"); }
  return all;
}

LostRecords lost_records(const std::vector<Loss>& losses) {
  LostRecords lost;
  for (const Loss& loss : losses) {
    // The journal names data it left out by place (see JournalState); in merged runs, the rank precedes the place.
    const bool left_out = loss.what == "not_in_journal";
    if (is_one_of(kLostRows, loss.what) || (left_out && ends_with(loss.where, "rows"))) { lost.rows += loss.count; }
    if (is_one_of(kLostMetrics, loss.what) || (left_out && ends_with(loss.where, "metrics"))) {
      lost.metrics += loss.count;
    }
  }
  return lost;
}

LostRecords lost_before_journal(const std::vector<Loss>& losses) {
  LostRecords lost = lost_records(losses);
  for (const Loss& loss : losses) {
    if (loss.what == "not_exported" && ends_with(loss.where, "journal")) { lost.either += loss.count; }
  }
  return lost;
}

void leave_out_lost(std::vector<Loss>& losses, const std::vector<Loss>& before) {
  // Compares by kind alone: once a thread has ended, its counts are reported without its name.
  for (const Loss& earlier : before) {
    if (!is_one_of(kLostRows, earlier.what) && !is_one_of(kLostMetrics, earlier.what)) { continue; }
    std::uint64_t left = earlier.count;
    for (Loss& each : losses) {
      if (each.what != earlier.what) { continue; }
      const std::uint64_t taken = std::min(left, each.count);
      each.count -= taken;
      left -= taken;
    }
  }
  losses.erase(std::remove_if(losses.begin(), losses.end(), [](const Loss& each) { return each.count == 0; }),
               losses.end());
}

}  // namespace detail

Error::~Error() = default;

namespace detail {
namespace {

static_assert(NotCancelled::kDisable == PTHREAD_CANCEL_DISABLE, "takt declares pthread_setcancelstate() by itself");

constexpr std::int64_t kQuietNs = 300 * kSecondNs;
constexpr std::int64_t kForEver = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kNeverSpoke = std::numeric_limits<std::int64_t>::min();
constexpr std::size_t kCauses = 64;
constexpr std::size_t kLongestLine = 2048;
constexpr int kTimeoutMs = 100;

struct Cause {
  std::atomic<std::size_t> hash{0};  // 0: unused
  std::atomic<std::int64_t> quiet_until_ns{kNeverSpoke};
  std::atomic<std::uint64_t> held_back{0};
};

struct Target {
  ErrorHandler handler;
  void* context;
  const Target* next;
};

// Constant-initialised and never destroyed: errors before main() and after static destruction are reported too. No
// locks, so a fork cannot leave one locked in the child. Orders are relaxed except for the targets: a cause carries no
// data but its own counters.
Cause g_causes[kCauses + 1];                    // the last is shared by all causes beyond the limit
std::atomic<const Target*> g_targets{nullptr};  // every handler ever set; leaked because another thread may be calling
                                                // one
std::atomic<const Target*> g_target{nullptr};   // the current one; nullptr: stderr

std::atomic<bool> g_stuck{false};  // true if stderr last accepted nothing

Cause& find_cause(std::string_view name) noexcept {
  const std::size_t hash = std::hash<std::string_view>{}(name) | 1U;
  for (std::size_t index = 0; index < kCauses; ++index) {
    std::size_t found = g_causes[index].hash.load(std::memory_order_relaxed);
    if (found == 0 && g_causes[index].hash.compare_exchange_strong(found, hash, std::memory_order_relaxed)) {
      return g_causes[index];
    }
    if (found == hash) { return g_causes[index]; }
  }
  return g_causes[kCauses];
}

/// Returns true for one of several concurrent callers: the one whose exchange succeeds.
bool may_speak(Cause& cause, std::int64_t now_ns, std::int64_t until_ns) noexcept {
  std::int64_t quiet = cause.quiet_until_ns.load(std::memory_order_relaxed);
  if (now_ns >= quiet && cause.quiet_until_ns.compare_exchange_strong(quiet, until_ns, std::memory_order_relaxed)) {
    return true;
  }
  cause.held_back.fetch_add(1, std::memory_order_relaxed);
  return false;
}

/// "takt: " and one line of bounded length, with space for a suffix. Control characters are replaced: parts may come
/// from a hostile environment or server.
class Line {
 public:
  explicit Line(std::string_view text) noexcept {
    append(kPrefix);
    while (!text.empty()) {
      const auto byte = static_cast<unsigned char>(text.front());
      std::string_view rest = text;
      const std::string_view next = next_printable(rest);
      const std::string_view shown = byte < 0x20 || byte == 0x7F ? " " : next;
      if (size_ + shown.size() > kPrefix.size() + kLongestLine) { break; }
      append(shown);
      text = rest;
    }
    if (!text.empty()) { append(" ..."); }
  }

  void append_held_back(std::uint64_t count) noexcept {
    if (count == 0) { return; }
    char digits[24];
    const char* const end = std::to_chars(digits, digits + sizeof digits, count).ptr;
    append(" (and ");
    append(std::string_view(digits, static_cast<std::size_t>(end - digits)));
    append(" more like it, held back)");
  }

  /// Returns the line without the prefix.
  const char* c_str() noexcept {
    text_[size_] = '\0';
    return text_ + kPrefix.size();
  }

  std::string_view for_stderr() noexcept {
    text_[size_] = '\n';
    return {text_, size_ + 1};
  }

 private:
  static constexpr std::string_view kPrefix = "takt: ";
  static constexpr std::size_t kAround = 80;  // space for the prefix and suffixes

  void append(std::string_view text) noexcept {
    std::memcpy(text_ + size_, text.data(), text.size());
    size_ += text.size();
  }

  char text_[kLongestLine + kAround];
  std::size_t size_ = 0;
};

/// Writes the line with one write(), so that lines of several processes do not mix. Skips a blocked stderr: an unread
/// pipe must not delay the end of a run.
void write_to_stderr(std::string_view line) noexcept {
  if (is_file_by_chance(STDERR_FILENO)) { return; }
  const QuietSignals quiet;
  pollfd ready = {STDERR_FILENO, POLLOUT, 0};
  // After a timeout, does not wait again until the stream has accepted data.
  const int timeout = g_stuck.load(std::memory_order_relaxed) ? 0 : error_timeout.left_ms(kTimeoutMs);
  const bool takes = poll(&ready, 1, timeout) == 1;
  g_stuck.store(!takes, std::memory_order_relaxed);
  if (!takes || (ready.revents & POLLOUT) == 0) { return; }
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

void deliver(Line& line) noexcept {
  const NotCancelled whole;
  // Pairs with the release in set_error_handler(): handler and context are read as a pair.
  const Target* const target = g_target.load(std::memory_order_acquire);
  if (target == nullptr) { return write_to_stderr(line.for_stderr()); }
  try {
    target->handler(line.c_str(), target->context);
  } catch (...) {
    // A handler must not throw; the line is still reported.
    write_to_stderr(line.for_stderr());
  }
}

void report(std::string_view name, std::string_view text, std::int64_t now_ns, std::int64_t until_ns) noexcept {
  Cause& cause = find_cause(name);
  // The shared cause covers many: a once-only error must not silence the others forever.
  if (&cause == &g_causes[kCauses] && until_ns == kForEver) { until_ns = now_ns + kQuietNs; }
  if (!may_speak(cause, now_ns, until_ns)) { return; }
  const int error = errno;
  Line line(text);
  line.append_held_back(cause.held_back.exchange(0, std::memory_order_relaxed));
  deliver(line);
  errno = error;
}

std::int64_t steady_ns() noexcept {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Reuses the entry of a known pair, so that setting and restoring handlers repeatedly does not grow the list.
const Target* make_target(ErrorHandler handler, void* context) noexcept {
  const Target* first = g_targets.load(std::memory_order_acquire);  // pairs with the release below
  for (const Target* target = first; target != nullptr; target = target->next) {
    if (target->handler == handler && target->context == context) { return target; }
  }
  Target* const target = new (std::nothrow) Target{handler, context, first};
  if (target == nullptr) { return nullptr; }
  // Release: pairs with the load above.
  while (!g_targets.compare_exchange_weak(target->next, target, std::memory_order_release, std::memory_order_relaxed)) {
  }
  return target;
}

}  // namespace

void report_error_at(std::string_view cause, std::string_view line, std::int64_t now_ns) noexcept {
  report(cause, line, now_ns, now_ns + kQuietNs);
}

void report_error(std::string_view cause, std::string_view line) noexcept { report_error_at(cause, line, steady_ns()); }

void report_error_once(std::string_view cause, std::string_view line) noexcept {
  report(cause, line, steady_ns(), kForEver);
}

void error_after_fork() noexcept {
  for (Cause& cause : g_causes) { cause.held_back.store(0, std::memory_order_relaxed); }
  error_timeout.forget();
  table_timeout.forget();
}

void forget_errors() noexcept {
  for (Cause& cause : g_causes) {
    cause.hash.store(0, std::memory_order_relaxed);
    cause.quiet_until_ns.store(kNeverSpoke, std::memory_order_relaxed);
    cause.held_back.store(0, std::memory_order_relaxed);
  }
}

}  // namespace detail

void set_error_handler(ErrorHandler handler, void* context) noexcept {
  const detail::Target* const target = handler == nullptr ? nullptr : detail::make_target(handler, context);
  // Pairs with the acquire in deliver().
  detail::g_target.store(target, std::memory_order_release);
}

TAKT_END_NAMESPACE
