// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "findings/run_view.hpp"

#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Role of a region in a training step.
enum class StepPart { other, input, output, communication };

/// Returns the role by the region's kind. A region of kind `other` takes the role of its parent; a wait takes the role
/// of what it waits for. IO is input unless the name contains "Checkpoint", "Save", "Write", "Log", "Dump" or "Output".
/// Invalid paths are `other`. Any thread.
StepPart part_of_step(const RunView& view, std::uint32_t path);

}  // namespace detail
TAKT_END_NAMESPACE
