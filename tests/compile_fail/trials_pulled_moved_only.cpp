// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// The same for a pulled batch.
// expect: takt: SYNTHETIC repeats one batch, but the pulled value cannot be copied
// expect: skip SYNTHETIC: takt::trials\(session, takt::no_synthetic\)
#include <takt/trials.hpp>

#include <memory>

int train(takt::Session& session) {
  int steps = 0;
#ifdef MISTAKE
  auto trials = takt::trials(session);
#else
  auto trials = takt::trials(session, takt::no_synthetic);
#endif
  while (auto batch = trials.next([] { return std::make_unique<int>(1); })) { steps += *batch; }
  return steps;
}
