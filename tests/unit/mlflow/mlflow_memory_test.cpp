// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// JSON handling of the MLflow exporter without memory: it may fail, but must not end the program.
#include "mlflow/mlflow_batches.hpp"
#include "mlflow/mlflow_messages.hpp"
#include "mlflow/mlflow_queue.hpp"
#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

namespace {

// Number of allocations on this thread that succeed before all others fail; negative: all succeed.
thread_local long g_allowed = -1;

bool is_refused() noexcept {
  if (g_allowed < 0) { return false; }
  if (g_allowed == 0) { return true; }
  --g_allowed;
  return false;
}

}  // namespace

// Not inlined, because g++ warns about a mismatch if it sees only one of a pair.
TAKT_NOINLINE void* operator new(std::size_t size) {
  void* const found = is_refused() ? nullptr : std::malloc(size == 0 ? 1 : size);
  if (found == nullptr) { throw std::bad_alloc(); }
  return found;
}
TAKT_NOINLINE void* operator new[](std::size_t size) { return operator new(size); }
TAKT_NOINLINE void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return is_refused() ? nullptr : std::malloc(size == 0 ? 1 : size);
}
TAKT_NOINLINE void* operator new[](std::size_t size, const std::nothrow_t& none) noexcept {
  return operator new(size, none);
}
TAKT_NOINLINE void operator delete(void* place) noexcept { std::free(place); }
TAKT_NOINLINE void operator delete[](void* place) noexcept { std::free(place); }
TAKT_NOINLINE void operator delete(void* place, std::size_t) noexcept { std::free(place); }
TAKT_NOINLINE void operator delete[](void* place, std::size_t) noexcept { std::free(place); }
TAKT_NOINLINE void operator delete(void* place, const std::nothrow_t&) noexcept { std::free(place); }
TAKT_NOINLINE void operator delete[](void* place, const std::nothrow_t&) noexcept { std::free(place); }

namespace {

/// Runs `what` with increasing memory until it succeeds. Returns the number of failures.
template <class What>
int failures_of(const What& what) {
  for (int allowed = 0; allowed < 100'000; ++allowed) {
    g_allowed = allowed;
    try {
      what();
      g_allowed = -1;
      return allowed;
    } catch (const std::bad_alloc&) { g_allowed = -1; }
  }
  return -1;
}

takt::detail::MlflowCursor a_cursor() {
  takt::detail::MlflowCursor cursor;
  cursor.server = "http://127.0.0.1:5000/a/path/that/is/long/enough/to/want/memory";
  cursor.run_id = "0123456789abcdef0123456789abcdef";
  cursor.params["the rate at which it learns, in words"] = "a value of which nobody would think that it is short";
  cursor.tags["purpose"] = "\xC3\xA9\xFF";
  for (auto& settled : cursor.settled) {
    settled.add(1, 5);
    settled.add(7, 9);
  }
  cursor.attached = {"summary.json", "table.txt"};
  return cursor;
}

}  // namespace

TEST_CASE("MLflow memory: writes and reads a cursor, or fails cleanly, with any amount of memory") {
  const takt::detail::MlflowCursor cursor = a_cursor();
  std::string text;
  CHECK(failures_of([&] { text = takt::detail::format_cursor(cursor); }) > 10);
  takt::detail::MlflowCursor read;
  bool good = false;
  CHECK(failures_of([&] {
          takt::detail::MlflowCursor fresh;
          good = takt::detail::parse_cursor(text, fresh);
          read = fresh;
        }) > 10);
  CHECK(good);
  CHECK(takt::detail::format_cursor(read) == text);
  CHECK(read.settled[1].ranges() == cursor.settled[1].ranges());
  CHECK(read.attached == cursor.attached);
}

TEST_CASE("MLflow memory: reads a server's answer, or fails cleanly, with any amount of memory") {
  const std::string body = R"({"run":{"info":{"run_id":"0123456789abcdef0123456789abcdef"},"data":{"metrics":[)"
                           R"({"key":"a metric whose name is not short","value":"NaN","timestamp":7,"step":1}]}}})";
  std::string found;
  CHECK(failures_of([&] { found = takt::detail::json_string(body, "/run/info/run_id"); }) > 5);
  CHECK(found == "0123456789abcdef0123456789abcdef");
  bool is_object = false;
  CHECK(failures_of([&] { is_object = takt::detail::is_json_object(body); }) > 5);
  CHECK(is_object);
  CHECK(failures_of([&] { takt::detail::is_json_object("[[[[{\"a\":"); }) > 2);
  takt::detail::MlflowReadBack back;
  takt::detail::MetricPoints names(false);
  CHECK(failures_of([&] { back.answered(body); }) > 5);
}

TEST_CASE("MLflow memory: composes a request, or fails cleanly, with any amount of memory") {
  takt::RunInfo run;
  run.machine.commit = std::string(40, 'c');
  run.name = "a run whose name is so long that it needs memory";
  takt::MlflowOptions options;
  options.username = "ada";
  std::string body;
  CHECK(failures_of([&] { body = takt::detail::mlflow_create_body(run, options, "nonce", "program"); }) > 10);
  CHECK(takt::detail::is_json_object(body));
}
