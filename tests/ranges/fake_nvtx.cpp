// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A fake profiler for NVTX_INJECTION64_PATH that records its calls.
#define NVTX_NO_IMPL
#include "ranges_log.hpp"

#include <nvtx3/nvToolsExt.h>

#include <cstdint>
#include <map>

namespace {

std::map<std::uint32_t, std::string>& categories() {
  static auto* const names = new std::map<std::uint32_t, std::string>;
  return *names;
}

nvtxDomainHandle_t create_domain(const char* name) {
  write_down(std::string("domain ") + name);
  return reinterpret_cast<nvtxDomainHandle_t>(new std::string(name));
}

void name_category(nvtxDomainHandle_t, std::uint32_t category, const char* name) { categories()[category] = name; }

nvtxStringHandle_t register_string(nvtxDomainHandle_t, const char* text) {
  write_down(std::string("string ") + text);
  return reinterpret_cast<nvtxStringHandle_t>(new std::string(text));
}

int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* range) {
  ++ranges_pushed();
  if (!writes_down()) { return 0; }
  std::string line = "push " + *reinterpret_cast<const std::string*>(domain);
  line += range->messageType == NVTX_MESSAGE_TYPE_REGISTERED
              ? " " + *reinterpret_cast<const std::string*>(range->message.registered)
              : std::string(" not registered: ") + range->message.ascii;
  line += " " + categories()[range->category];
  if (range->payloadType == NVTX_PAYLOAD_TYPE_INT64) { line += " " + std::to_string(range->payload.llValue); }
  write_down(line);
  return 0;
}

int pop(nvtxDomainHandle_t domain) {
  if (!writes_down()) { return 0; }
  write_down("pop " + *reinterpret_cast<const std::string*>(domain));
  return 0;
}

}  // namespace

extern "C" long ranges_reported() { return ranges_pushed(); }
extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const auto* const tables = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (tables == nullptr || tables->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) { return 0; }
  const auto take = [table](unsigned id, auto* function) {
    *table[id] = reinterpret_cast<NvtxFunctionPointer>(function);
  };
  take(NVTX_CBID_CORE2_DomainCreateA, create_domain);
  take(NVTX_CBID_CORE2_DomainNameCategoryA, name_category);
  take(NVTX_CBID_CORE2_DomainRegisterStringA, register_string);
  take(NVTX_CBID_CORE2_DomainRangePushEx, push);
  take(NVTX_CBID_CORE2_DomainRangePop, pop);
  return 1;
}
