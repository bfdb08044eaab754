// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/thread_outbox.hpp"

#include <new>

TAKT_BEGIN_NAMESPACE
namespace detail {

TAKT_COLD Outbox* ThreadOutbox::make() noexcept {
  auto* outbox = new (std::nothrow) Outbox(shared_.outbox_pool);
  if (outbox == nullptr || !outbox->usable()) {
    delete outbox;
    return nullptr;
  }
  outbox_.store(outbox, std::memory_order_release);  // pairs with the acquire in get()
  return outbox;
}

}  // namespace detail
TAKT_END_NAMESPACE
