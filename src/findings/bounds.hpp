// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "findings/run_view.hpp"

#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What a region of a step is there for.
enum class StepPart { other, input, output, communication };

/// By its kind; one of kind `other` belongs to what it lies in, a wait to what it waits for. IO is input, unless its
/// name says that it writes: "Checkpoint", "Save", "Write", "Log", "Dump", "Output", or one that contains it. Any path
/// of the run; what is no path is `other`. Any thread.
StepPart part_of_step(const RunView& view, std::uint32_t path);

}  // namespace detail
TAKT_END_NAMESPACE
