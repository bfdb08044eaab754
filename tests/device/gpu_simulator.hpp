// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

struct SimulatedEvent;
struct SimulatedGraph;
struct SimulatedStream;

/// When a simulated kernel ran, in ns.
struct SimulatedStamp {
  unsigned long long begin;
  unsigned long long end;
};
