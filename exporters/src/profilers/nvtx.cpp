// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/exporters/nvtx.hpp>

#include "base/threads.hpp"
#include "profilers/range_stack.hpp"

#include <nvtx3/nvToolsExt.h>

#include <atomic>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace {

nvtxDomainHandle_t make_domain() noexcept {
  const nvtxDomainHandle_t its = nvtxDomainCreateA("takt");
  if (its == nullptr) { return its; }
  for (const auto& [kind, name] :
       {std::pair(Kind::compute, "compute"), std::pair(Kind::comm, "comm"), std::pair(Kind::io, "io"),
        std::pair(Kind::wait, "wait"), std::pair(Kind::other, "other")}) {
    nvtxDomainNameCategoryA(its, static_cast<std::uint32_t>(kind) + 1, name);
  }
  return its;
}

/// Returns nullptr if no profiler is attached.
nvtxDomainHandle_t domain() noexcept { return detail::made_once<make_domain>(); }

/// Returns the key's number in the process, or detail::kNoKey if it was in no region, as keys of trials.
detail::KeyIndex index_of(const Key& key) noexcept {
  return key.predefined_index() != detail::kNoKey ? key.predefined_index() : key.index();
}

/// Returns the profiler's handle for the key's name. Two threads that register a key at once get the same handle.
/// relaxed: the load and the store pair with each other and publish only the handle.
nvtxStringHandle_t registered(const Key& key, detail::KeyIndex index) noexcept {
  static std::atomic<nvtxStringHandle_t> strings[detail::kMaxKeys] = {};
  nvtxStringHandle_t its = strings[index].load(std::memory_order_relaxed);
  if (its == nullptr) {
    its = nvtxDomainRegisterStringA(domain(), key.name());
    strings[index].store(its, std::memory_order_relaxed);
  }
  return its;
}

struct Nvtx {
  static void push(const Key& key, std::int64_t batch) noexcept {
    nvtxEventAttributes_t range = {};
    range.version = NVTX_VERSION;
    range.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    range.category = static_cast<std::uint32_t>(key.kind()) + 1;
    if (batch >= 0) {
      range.payloadType = NVTX_PAYLOAD_TYPE_INT64;
      range.payload.llValue = batch;
    }
    if (const detail::KeyIndex index = index_of(key)) {
      range.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
      range.message.registered = registered(key, index);
    } else {
      range.messageType = NVTX_MESSAGE_TYPE_ASCII;
      range.message.ascii = key.name();
    }
    nvtxDomainRangePushEx(domain(), &range);
  }
  static void pop() noexcept { nvtxDomainRangePop(domain()); }
};

}  // namespace

NvtxRanges::NvtxRanges() noexcept
    : active_(domain() != nullptr && add_listener(detail::RangeStack<Nvtx>::listener())) {}

NvtxRanges::~NvtxRanges() {
  if (active_) { remove_listener(detail::RangeStack<Nvtx>::listener()); }
}

TAKT_END_NAMESPACE
