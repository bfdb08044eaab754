// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Queries a driver for undocumented behavior that Takt's design depends on. Each question runs in its own child, so a
// crash or a hang is an answer, too. gpu_probe [question]... prints lines like gpu_check, all for information only.
#include <cuda.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr unsigned kLongest = 20;  // maximum duration of a question, in seconds

void answer(const std::string& what, const std::string& reported) {
  std::printf("probe\t%s\t\t%s\tinfo\n", what.c_str(), reported.c_str());
  std::fflush(stdout);
}

void* library() {
  static void* const loaded = ::dlopen("libcuda.so.1", RTLD_NOW);
  return loaded;
}
template <class Function>
Function find(const char* name) {
  return reinterpret_cast<Function>(library() == nullptr ? nullptr : ::dlsym(library(), name));
}
/// Looks up a driver function under the name that a macro in the header gives it, such as cuStreamDestroy_v2.
#define PROBE_TEXT(name) #name
#define PROBE_FIND(name) find<decltype(&(name))>(PROBE_TEXT(name))

struct Driver {
  decltype(&cuInit) init = PROBE_FIND(cuInit);
  decltype(&cuDeviceGet) device_get = PROBE_FIND(cuDeviceGet);
  decltype(&cuGetErrorName) error_name = PROBE_FIND(cuGetErrorName);
  decltype(&cuDevicePrimaryCtxRetain) primary_retain = PROBE_FIND(cuDevicePrimaryCtxRetain);
  decltype(&cuDevicePrimaryCtxReset) primary_reset = PROBE_FIND(cuDevicePrimaryCtxReset);
  decltype(&cuCtxSetCurrent) context_set = PROBE_FIND(cuCtxSetCurrent);
  decltype(&cuCtxGetCurrent) context_get = PROBE_FIND(cuCtxGetCurrent);
  decltype(&cuCtxDestroy) context_destroy = PROBE_FIND(cuCtxDestroy);
  decltype(&cuStreamCreate) stream_create = PROBE_FIND(cuStreamCreate);
  decltype(&cuStreamSynchronize) stream_synchronize = PROBE_FIND(cuStreamSynchronize);
  decltype(&cuStreamIsCapturing) stream_is_capturing = PROBE_FIND(cuStreamIsCapturing);
  decltype(&cuThreadExchangeStreamCaptureMode) exchange_mode = PROBE_FIND(cuThreadExchangeStreamCaptureMode);
  decltype(&cuEventCreate) event_create = PROBE_FIND(cuEventCreate);
  decltype(&cuEventRecord) event_record = PROBE_FIND(cuEventRecord);
  decltype(&cuEventQuery) event_query = PROBE_FIND(cuEventQuery);
  // Looked up by name because their parameters differ between versions of the header.
  CUresult (*context_create)(CUcontext*, unsigned,
                             CUdevice) = find<CUresult (*)(CUcontext*, unsigned, CUdevice)>("cuCtxCreate_v2");
  CUresult (*context_id)(CUcontext, unsigned long long*) =
      find<CUresult (*)(CUcontext, unsigned long long*)>("cuCtxGetId");  // since CUDA 12
  CUresult (*stream_context)(CUstream, CUcontext*) = find<CUresult (*)(CUstream, CUcontext*)>("cuStreamGetCtx");
  using Elapsed = CUresult (*)(float*, CUevent, CUevent);
  Elapsed elapsed = find<Elapsed>("cuEventElapsedTime");
  Elapsed elapsed_v2 = find<Elapsed>("cuEventElapsedTime_v2");  // since CUDA 12.8
};
const Driver& driver() {
  static const Driver found;
  return found;
}

std::string name_of(CUresult error) {
  const char* name = nullptr;
  if (error == CUDA_SUCCESS) { return "CUDA_SUCCESS"; }
  if (driver().error_name(error, &name) != CUDA_SUCCESS || name == nullptr) { name = "an error"; }
  return name + (" (" + std::to_string(static_cast<int>(error)) + ")");
}
/// Ends the question if a preparing call fails.
void require(CUresult error, const char* call) {
  if (error == CUDA_SUCCESS) { return; }
  answer(call, name_of(error) + ", so that more could not be asked");
  std::_Exit(0);
}
#define REQUIRE_DRIVER(call) require(driver().call, #call)

/// Makes the primary context current to this thread and returns it.
CUcontext primary() {
  CUdevice device = 0;
  CUcontext context = nullptr;
  REQUIRE_DRIVER(init(0));
  REQUIRE_DRIVER(device_get(&device, 0));
  REQUIRE_DRIVER(primary_retain(&context, device));
  REQUIRE_DRIVER(context_set(context));
  return context;
}
CUstream new_stream() {
  CUstream stream = nullptr;
  REQUIRE_DRIVER(stream_create(&stream, CU_STREAM_NON_BLOCKING));
  return stream;
}
CUevent new_event() {
  CUevent event = nullptr;
  REQUIRE_DRIVER(event_create(&event, CU_EVENT_DEFAULT));
  return event;
}
std::string number_of(CUcontext context) {
  unsigned long long id = 0;
  if (driver().context_id == nullptr) { return "no cuCtxGetId"; }
  const CUresult error = driver().context_id(context, &id);
  return error == CUDA_SUCCESS ? std::to_string(id) : name_of(error);
}

/// Finds the calls that work on a thread without a context.
void no_context() {
  const CUcontext context = primary();
  CUstream stream = new_stream();
  CUevent begin = new_event();
  CUevent end = new_event();
  const auto ask = [&](bool recorded) {
    const std::string where = recorded ? "without a context, events recorded elsewhere: " : "without a context: ";
    const auto say = [&](const char* call, CUresult error) { answer(where + call, name_of(error)); };
    CUstreamCaptureStatus capture{};
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUcontext there = nullptr;
    unsigned long long id = 0;
    float ms = 0;
    say("cuStreamIsCapturing", driver().stream_is_capturing(stream, &capture));
    say("cuStreamGetCtx", driver().stream_context(stream, &there));
    if (driver().context_id != nullptr) { say("cuCtxGetId", driver().context_id(context, &id)); }
    say("cuThreadExchangeStreamCaptureMode", driver().exchange_mode(&mode));
    if (!recorded) {
      say("cuEventRecord", driver().event_record(begin, stream));
      driver().event_record(end, stream);
    }
    say("cuStreamSynchronize", driver().stream_synchronize(stream));
    say("cuEventQuery", driver().event_query(end));
    say("cuEventElapsedTime", driver().elapsed(&ms, begin, end));
    driver().context_get(&there);
    answer(where + "context afterwards", there == nullptr ? "none" : "one");
  };
  std::thread(ask, false).join();
  REQUIRE_DRIVER(event_record(begin, stream));
  REQUIRE_DRIVER(event_record(end, stream));
  REQUIRE_DRIVER(stream_synchronize(stream));
  std::thread(ask, true).join();
}

/// Queries an event that was never recorded: the answer must differ from that for a destroyed context.
void never() {
  primary();
  CUevent begin = new_event();
  CUevent end = new_event();
  float ms = -1;
  answer("an event that was never recorded: cuEventQuery", name_of(driver().event_query(end)));
  const CUresult error = driver().elapsed(&ms, begin, end);
  answer("an event that was never recorded: cuEventElapsedTime", name_of(error) + ", " + std::to_string(ms) + " ms");
}

/// Checks handles and IDs after a reset of the primary context.
void reset_primary() {
  const CUcontext context = primary();
  CUevent event = new_event();
  CUcontext now = nullptr;
  REQUIRE_DRIVER(event_record(event, new_stream()));
  answer("number of the primary context", number_of(context));
  REQUIRE_DRIVER(primary_reset(0));
  driver().context_get(&now);
  answer("after a reset: context of the thread", now == context   ? "the same handle"
                                                 : now == nullptr ? "none"
                                                                  : "another");
  answer("after a reset: cuCtxGetId of the old handle", number_of(context));
  answer("after a reset: cuEventQuery of an old event", name_of(driver().event_query(event)));
  const CUcontext again = primary();
  answer("made again: handle", again == context ? "the same" : "another");
  answer("made again: number", number_of(again));
  answer("made again: cuEventQuery of an old event", name_of(driver().event_query(event)));
}

/// Checks if the ID of a destroyed context can be queried safely.
void destroyed() {
  CUdevice device = 0;
  CUcontext context = nullptr;
  REQUIRE_DRIVER(init(0));
  REQUIRE_DRIVER(device_get(&device, 0));
  REQUIRE_DRIVER(context_create(&context, 0, device));
  answer("number of a context", number_of(context));
  REQUIRE_DRIVER(context_destroy(context));
  answer("cuCtxGetId of a context that was destroyed", number_of(context));
}

void elapsed_cost() {
  primary();
  CUstream stream = new_stream();
  CUevent begin = new_event();
  CUevent end = new_event();
  REQUIRE_DRIVER(event_record(begin, stream));
  REQUIRE_DRIVER(event_record(end, stream));
  REQUIRE_DRIVER(stream_synchronize(stream));
  const auto cost = [&](const char* name, Driver::Elapsed elapsed) {
    constexpr int kTimes = 100'000;
    if (elapsed == nullptr) { return answer(name, "the driver has none"); }
    float ms = 0;
    const auto before = std::chrono::steady_clock::now();
    for (int time = 0; time < kTimes; ++time) { elapsed(&ms, begin, end); }
    const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - before;
    answer(name, std::to_string(taken.count() / kTimes) + " us each");
  };
  cost("cuEventElapsedTime", driver().elapsed);
  cost("cuEventElapsedTime_v2", driver().elapsed_v2);
}

/// For the tests: a question that hangs or crashes.
void crash() { std::abort(); }
void hang() {
  ::alarm(1);
  for (;;) { ::pause(); }
}

struct Question {
  const char* name;
  void (*ask)();
  bool is_asked_always;
};
constexpr Question kQueries[] = {{"no_context", no_context, true},
                                 {"never", never, true},
                                 {"reset_primary", reset_primary, true},
                                 {"destroyed", destroyed, true},
                                 {"elapsed_cost", elapsed_cost, true},
                                 {"crash", crash, false},
                                 {"hang", hang, false}};

/// The parent never uses the driver, because a fork after that would break the next question.
void ask_in_child(const Question& question) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(kLongest);
    question.ask();
    std::_Exit(0);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) { return answer(question.name, "could not be asked"); }
  if (!WIFSIGNALED(status)) { return; }
  const int signal = WTERMSIG(status);
  answer(question.name,
         signal == SIGALRM ? "THE DRIVER DID NOT COME BACK" : "CRASHED by signal " + std::to_string(signal));
}

}  // namespace

int main(int count, char** arguments) {
  if (library() == nullptr) {
    std::fprintf(stderr, "there is no driver: libcuda.so.1 cannot be loaded\n");
    return 77;
  }
  for (const Question& question : kQueries) {
    bool wanted = count == 1 && question.is_asked_always;
    for (int at = 1; at < count; ++at) { wanted = wanted || std::strcmp(arguments[at], question.name) == 0; }
    if (wanted) { ask_in_child(question); }
  }
  return 0;
}
