// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "ranks/rank_steps.hpp"

#include <string>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The steps of a rank as bytes: "TAKTSTEP", version, checksum, length, values. Equal steps give equal bytes.
std::string pack(const RankSteps& steps);
/// What pack() has made of them. Bytes may be anything: throws Error, which says what is wrong with them.
RankSteps unpack_steps(std::string_view bytes);

}  // namespace detail
TAKT_END_NAMESPACE
