// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// The same of a batch that is pulled.
// expect: takt: SYNTHETIC gives one batch to many steps, and what is pulled cannot be copied
// expect: leave SYNTHETIC out: takt::trials\(session, takt::no_synthetic\)
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
