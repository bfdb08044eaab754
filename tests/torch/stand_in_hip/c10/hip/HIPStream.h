// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// The part of libtorch's header of this name that Takt uses, for a machine without HIP.
#pragma once

#include <stdexcept>

struct ihipStream_t;

namespace c10::hip {

inline int devices = 0;
inline bool broken = false;

inline int device_count() noexcept { return devices; }

class HIPStream {
 public:
  ihipStream_t* stream() const { return reinterpret_cast<ihipStream_t*>(0x1230); }
  operator ihipStream_t*() const { return stream(); }
};

inline HIPStream getCurrentHIPStream() {
  if (broken) { throw std::runtime_error("no driver"); }
  return {};
}

}  // namespace c10::hip
