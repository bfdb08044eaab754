// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/measurement.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Fills in the memory and the energy of a measurement, from what its hook and its meters have told. Where meters tell
/// no energy, it names the first reason; where there is none of a meter, `no_energy` stays as it is. Any thread.
void conclude_costs(Measurement& measurement);

}  // namespace detail
TAKT_END_NAMESPACE
