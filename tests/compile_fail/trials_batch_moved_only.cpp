// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// SYNTHETIC reuses one batch for many steps; a batch passed by value that cannot be copied is consumed by the first.
// expect: takt: SYNTHETIC repeats one batch, but this loader returns batches by value that cannot be copied
// expect: skip SYNTHETIC: takt::trials\(session, loader, takt::no_synthetic\)
#include <takt/trials.hpp>

#include <memory>

struct MovedOnly {
  std::unique_ptr<int> data;
};
struct OneByOne {
  MovedOnly operator*() const { return {}; }
  OneByOne& operator++() { return *this; }
  bool operator!=(const OneByOne&) const { return false; }
};
struct MovingLoader {
  OneByOne begin() const { return {}; }
  OneByOne end() const { return {}; }
};

int train(takt::Session& session, MovingLoader& loader) {
  int steps = 0;
#ifdef MISTAKE
  for (auto&& batch : takt::trials(session, loader)) { steps += batch.data == nullptr ? 0 : 1; }
#else
  for (auto&& batch : takt::trials(session, loader, takt::no_synthetic)) { steps += batch.data == nullptr ? 0 : 1; }
#endif
  return steps;
}
