// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "background.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <memory>
#include <new>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

void* run(void* argument) {
  const std::unique_ptr<std::function<void()>> work(static_cast<std::function<void()>*>(argument));
  (*work)();
  return nullptr;
}

}  // namespace

bool start_background(const char* name, std::function<void()> work) noexcept {
  std::unique_ptr<std::function<void()>> kept(new (std::nothrow) std::function<void()>(std::move(work)));
  pthread_attr_t attributes;
  if (kept == nullptr || pthread_attr_init(&attributes) != 0) { return false; }
  cpu_set_t cores;
  const int core = sched_getcpu();
  if (core >= 0 && sched_getaffinity(0, sizeof(cores), &cores) == 0 && CPU_COUNT(&cores) > 1) {
    CPU_CLR(static_cast<std::size_t>(core), &cores);
    pthread_attr_setaffinity_np(&attributes, sizeof(cores), &cores);
  }
  // A thread inherits its mask: blocked before it exists, no signal of the program's can ever be delivered to it.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  const int status = pthread_create(&thread, &attributes, run, kept.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (status != 0) { return false; }
  kept.release();
  pthread_setname_np(thread, name);  // from here, so that it has its name when this returns
  pthread_detach(thread);
  return true;
}

}  // namespace detail
TAKT_END_NAMESPACE
