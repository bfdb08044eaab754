// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// The part of libtorch's header of this name that Takt uses, for a machine without CUDA.
#pragma once

#include <stdexcept>

struct CUstream_st;

namespace c10::cuda {

inline int devices = 0;
inline bool broken = false;

inline int device_count() noexcept { return devices; }

class CUDAStream {
 public:
  CUstream_st* stream() const { return reinterpret_cast<CUstream_st*>(0x1230); }
  operator CUstream_st*() const { return stream(); }
};

inline CUDAStream getCurrentCUDAStream() {
  if (broken) { throw std::runtime_error("no driver"); }
  return {};
}

}  // namespace c10::cuda
