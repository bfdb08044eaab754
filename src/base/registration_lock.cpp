// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/registration_lock.hpp"

#include <pthread.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;  // never destroyed: static destructors may still time something

}  // namespace

RegistrationLock::RegistrationLock() noexcept { pthread_mutex_lock(&g_lock); }

RegistrationLock::~RegistrationLock() { pthread_mutex_unlock(&g_lock); }

void RegistrationLock::after_fork() noexcept { pthread_mutex_init(&g_lock, nullptr); }

}  // namespace detail
TAKT_END_NAMESPACE
