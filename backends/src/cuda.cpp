// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/backends/cuda.hpp>
#include <takt/backends/event.hpp>

#include "cuda_api.hpp"

TAKT_BEGIN_NAMESPACE
namespace {

using Events = EventBackend<detail::CudaApi>;

}  // namespace

bool CudaBackend::mark(Mark& mark) noexcept { return Events(stream_).mark(mark); }
void CudaBackend::retain(Mark mark) noexcept { Events(stream_).retain(mark); }
Elapsed CudaBackend::elapsed(Mark begin, Mark end) noexcept { return Events(stream_).elapsed(begin, end); }
Elapsed CudaBackend::elapsed(Mark begin, Mark end, Questions& questions) noexcept {
  return Events(stream_).elapsed(begin, end, questions);
}
void CudaBackend::end_questions(Questions& questions) noexcept { Events(stream_).end_questions(questions); }
void CudaBackend::release(Mark mark) noexcept { Events(stream_).release(mark); }
DeviceReport CudaBackend::report() noexcept { return Events::report(); }
StreamRef CudaBackend::ref() const noexcept { return {&event_ops<detail::CudaApi>, stream_}; }

TAKT_END_NAMESPACE
