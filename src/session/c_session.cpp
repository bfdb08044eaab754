// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// The rest of the C API: keys, options, the run, errors.
#include <takt/detail/not_cancelled.hpp>
#include <takt/error.hpp>
#include <takt/exporters/json.hpp>
#include <takt/scope.hpp>
#include <takt/session.hpp>

#include "base/format.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"
#include "base/threads.hpp"
#include "process/diversion.hpp"
#include "process/process.hpp"
#include "session/c_error.hpp"
#include "session/session_impl.hpp"
#include "session/session_options.hpp"

#include <takt.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include <pthread.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

static_assert(TAKT_COMPUTE == static_cast<int>(Kind::compute) && TAKT_COMM == static_cast<int>(Kind::comm) &&
                  TAKT_IO == static_cast<int>(Kind::io) && TAKT_WAIT == static_cast<int>(Kind::wait) &&
                  TAKT_OTHER == static_cast<int>(Kind::other),
              "the numbers in takt.h");

/// A POSIX key rather than a thread-local, because a library that is loaded late has few bytes for these.
struct LastErrors {
  LastErrors() noexcept : usable(pthread_key_create(&key, std::free) == 0) {}
  pthread_key_t key{};
  bool usable;
};

LastErrors make_last_errors() noexcept { return {}; }

void keep_error(std::string_view line) noexcept {
  const LastErrors& errors = made_once<make_last_errors>();
  constexpr std::size_t kLongest = 511;
  char* text = errors.usable ? static_cast<char*>(pthread_getspecific(errors.key)) : nullptr;
  if (text == nullptr && errors.usable) {
    text = static_cast<char*>(std::malloc(kLongest + 1));
    if (text != nullptr && pthread_setspecific(errors.key, text) != 0) {
      std::free(text);
      text = nullptr;
    }
  }
  if (text != nullptr) { text[line.copy(text, kLongest)] = '\0'; }
}

/// Returns the code of the exception that is being handled, reported.
TAKT_COLD int failed(const char* function) noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return c_error(TAKT_NO_MEMORY, "c.memory", Words(function, "(): out of memory; the call has no effect."));
  } catch (const std::exception& error) { return c_misuse("c.run", Words(function, "(): ", error.what())); }
}

/// Returns the open run. Without one, returns nullptr and sets `result`; in a forked child, where the run is the
/// parent's, that is no error.
SessionImpl* open_run_for(const char* function, int& result) noexcept {
  SessionImpl* const run = running_session();
  result = run != nullptr || generation() != 0
               ? TAKT_OK
               : c_misuse("c.run", Words(function,
                                         "(): no run is open; the call has no effect. Open one first: takt_open(), or "
                                         "takt.Session in Python."));
  return run;
}

/// Calls `work` with the open run, if there is one.
template <class Work>
int with_run(const char* function, Work work) noexcept {
  const NotCancelled whole;
  int result = TAKT_OK;
  SessionImpl* const run = open_run_for(function, result);
  if (run == nullptr) { return result; }
  try {
    work(*run);
    return TAKT_OK;
  } catch (...) { return failed(function); }
}

/// Returns the key of a name, with the kind that it has already.
const Key& key_of_any_kind(std::string_view name) noexcept {
  const std::uint64_t hash = hash_name(name.data(), name.size());
  if (const KeyIndex known = key_table().find(hash)) { return key_table().entry(known); }
  Kind kind = Kind::other;
  for (const Key* each : {&Optimizer, &Validation, &Checkpoint, &CommWait, &IOWait}) {
    if (each->hash() == hash) { kind = each->kind(); }
  }
  return key_table().intern(name, kind);
}

bool is_text(const char* text, const char* function) noexcept {
  if (text != nullptr) { return true; }
  c_misuse("c.text", Words(function, "(): a text is NULL; the call has no effect."));
  return false;
}

int set_param(const char* function, const char* name, std::string_view value) noexcept {
  if (!is_text(name, function)) { return TAKT_MISUSE; }
  return with_run(function, [&](SessionImpl& run) { run.set_param(name, value); });
}

int set_metric(const char* function, const char* name, double value, const std::int64_t* step) noexcept {
  if (!is_text(name, function)) { return TAKT_MISUSE; }
  return with_run(function, [&](SessionImpl& run) { run.metric(name, value, step); });
}

/// The run that takt_open() made.
std::atomic<Session*> opened{nullptr};

/// A Session and the one before it. Leaked, like its implementation; the chain is for leak checkers.
struct KeptSession {
  KeptSession(const char* name, SessionOptions options) : session(name, std::move(options)) {}
  Session session;
  const KeptSession* older = nullptr;
};

SessionOptions& options_of(takt_options* options) noexcept { return *reinterpret_cast<SessionOptions*>(options); }
const SessionOptions& options_of(const takt_options* options) noexcept {
  return *reinterpret_cast<const SessionOptions*>(options);
}

int open_run(const char* name, const takt_options* options) {
  if (const SessionImpl* other = running_session()) {
    return c_misuse("c.open", Words("takt_open(): the run \"", other->run().name,
                                    "\" is open, and a process has one at a time. Call takt_close() first."));
  }
  const char* const given = name == nullptr ? "run" : name;
  SessionOptions wanted = options == nullptr ? SessionOptions::from_env() : options_of(options);
  auto* const kept = new KeptSession(given, std::move(wanted));
  static std::atomic<const KeptSession*> newest{nullptr};
  kept->older = newest.exchange(kept, std::memory_order_relaxed);
  opened.store(&kept->session, std::memory_order_release);  // pairs with takt_close()
  return TAKT_OK;
}

}  // namespace

int c_error(int code, std::string_view cause, std::string_view line) noexcept {
  keep_error(line);
  report_error(cause, line);
  return code;
}

int c_misuse(std::string_view cause, std::string_view line) noexcept { return c_error(TAKT_MISUSE, cause, line); }

}  // namespace detail
TAKT_END_NAMESPACE

using namespace takt::detail;  // NOLINT(google-build-using-namespace): the functions below are in no namespace

extern "C" {

const takt_key* takt_get_key(const char* name, int kind) {
  const takt::Key* key = &takt::Other;
  if (name == nullptr) {
    c_misuse("c.key", "takt_get_key(): the name is NULL; the key is \"Other\".");
  } else if (kind < TAKT_ANY || kind > TAKT_OTHER) {
    c_misuse("c.kind", Words("takt_get_key(): ", kind, " is no kind; \"", name, "\" gets TAKT_ANY."));
    key = &key_of_any_kind(name);
  } else {
    key = kind == TAKT_ANY ? &key_of_any_kind(name) : &takt::key(name, static_cast<takt::Kind>(kind));
  }
  return reinterpret_cast<const takt_key*>(key);
}

void takt_set_enabled(int on) { takt::set_enabled(on != 0); }
int takt_enabled(void) { return takt::enabled() ? 1 : 0; }
int takt_name_thread(const char* name) {
  if (!is_text(name, "takt_name_thread")) { return TAKT_MISUSE; }
  takt::name_thread(name);
  return TAKT_OK;
}

takt_options* takt_options_new(void) {
  try {
    return reinterpret_cast<takt_options*>(new takt::SessionOptions(takt::SessionOptions::from_env()));
  } catch (...) {
    failed("takt_options_new");
    return nullptr;
  }
}

int takt_options_set(takt_options* options, const char* name, const char* value) {
  if (!is_text(name, "takt_options_set") || !is_text(value, "takt_options_set")) { return TAKT_MISUSE; }
  if (options == nullptr) {
    return c_misuse("c.options", "takt_options_set(): the options are NULL; takt_options_new() makes some.");
  }
  try {
    const std::string wrong = set_option(options_of(options), name, value);
    return wrong.empty() ? TAKT_OK : c_misuse("c.options", Words("takt_options_set(): ", wrong));
  } catch (...) { return failed("takt_options_set"); }
}

void takt_options_free(takt_options* options) { delete reinterpret_cast<takt::SessionOptions*>(options); }

int takt_open(const char* name, const takt_options* options) {
  const NotCancelled whole;
  try {
    return open_run(name, options);
  } catch (...) { return failed("takt_open"); }
}

int takt_close(void) {
  // Acquire: pairs with open_run().
  takt::Session* const run = opened.exchange(nullptr, std::memory_order_acq_rel);
  if (run == nullptr) {
    return c_misuse("c.run", running_session() == nullptr ? "takt_close(): no run is open. takt_open() opens one."
                                                          : "takt_close(): C++ opened the run; close its Session.");
  }
  if (run->close()) { return TAKT_OK; }
  return c_error(TAKT_INCOMPLETE, "c.close",
                 "takt_close(): not all data reached its files and exporters; see the lines above.");
}

int takt_param(const char* name, const char* value) {
  return is_text(value, "takt_param") ? set_param("takt_param", name, value) : TAKT_MISUSE;
}
int takt_param_int(const char* name, int64_t value) { return set_param("takt_param_int", name, Words(value)); }
int takt_param_real(const char* name, double value) {
  if (!is_text(name, "takt_param_real")) { return TAKT_MISUSE; }
  return with_run("takt_param_real", [&](SessionImpl& run) { run.set_param(name, format("{}", value)); });
}
int takt_tag(const char* name, const char* value) {
  if (!is_text(name, "takt_tag") || !is_text(value, "takt_tag")) { return TAKT_MISUSE; }
  return with_run("takt_tag", [&](SessionImpl& run) { run.set_tag(name, value); });
}
int takt_group(const char* name, int number) {
  if (!is_text(name, "takt_group")) { return TAKT_MISUSE; }
  return with_run("takt_group", [&](SessionImpl& run) { run.set_group(name, number); });
}
int takt_metric(const char* name, double value) { return set_metric("takt_metric", name, value, nullptr); }
int takt_metric_at(const char* name, double value, int64_t step) {
  return set_metric("takt_metric_at", name, value, &step);
}
int takt_step(int64_t number) {
  return with_run("takt_step", [&](SessionImpl&) {
    Recorder* const recorder = is_excluded() ? nullptr : this_recorder();
    if (recorder != nullptr) { recorder->set_step(number); }
  });
}
int takt_fail(void) {
  return with_run("takt_fail", [](SessionImpl& run) { run.fail(); });
}
int takt_print(void) {
  return with_run("takt_print", [](SessionImpl& run) { run.print(); });
}

char* takt_snapshot_json(void) {
  const NotCancelled whole;
  try {
    if (char* const text = ::strdup(takt::format_json(takt::snapshot()).c_str())) { return text; }
    throw std::bad_alloc();
  } catch (...) {
    failed("takt_snapshot_json");
    return nullptr;
  }
}
void takt_free(void* text) { std::free(text); }

const char* takt_last_error(void) {
  const LastErrors& errors = made_once<make_last_errors>();
  const void* const text = errors.usable ? pthread_getspecific(errors.key) : nullptr;
  return text == nullptr ? "" : static_cast<const char*>(text);
}
void takt_set_error_handler(void (*handler)(const char* line, void* context), void* context) {
  takt::set_error_handler(handler, context);
}

}  // extern "C"
