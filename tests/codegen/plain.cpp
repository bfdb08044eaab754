// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// The twin of instrumented.cpp: the same work without timing.
extern "C" long load(long index);
extern "C" long compute(long value);
extern "C" long* pull();

struct Loader {
  long* first;
  long* last;
  long* begin() const { return first; }
  long* end() const { return last; }
};

extern "C" long step(long index) {
  const long value = load(index);
  return compute(value);
}

extern "C" long phases(long value) {
  value = compute(value);
  value = compute(value);
  return value;
}

extern "C" long on_stream(long value, const void*) { return compute(value); }

extern "C" long train(long steps) {
  long sum = 0;
  for (long index = 0; index < steps; ++index) { sum += load(index); }
  return sum;
}

extern "C" long in_trials(const Loader& loader) {
  long sum = 0;
  for (auto&& batch : loader) { sum += compute(batch); }
  while (long* batch = pull()) { sum += compute(*batch); }
  return sum;
}
