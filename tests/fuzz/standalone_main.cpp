// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Runs a libFuzzer target without libFuzzer:
//
//     environment_fuzz [--runs <N>] [--seed <S>|random] [<file>...]
//
// Replays the files, or without files runs N inputs made from the seed (default 1), which it prints. Input i has the
// seed S + i, so a failing input can be run alone with --runs 1 --seed <the last one printed>.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <signal.h>
#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {

char g_now[64] = "";  // description of the current input, for use in a signal handler

void report_what_ran() { [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, g_now, std::strlen(g_now)); }

extern "C" void report_and_die(int number) {
  report_what_ran();
  ::raise(number);  // SA_RESETHAND: the second signal ends the program as usual
}

void install_handlers() {
  struct sigaction action = {};
  action.sa_handler = report_and_die;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP}) {
    ::sigaction(number, &action, nullptr);
  }
  if (__sanitizer_set_death_callback != nullptr) { __sanitizer_set_death_callback(report_what_ran); }
}

/// Returns bytes, half of them special to parsers, in records that are occasionally long.
std::string make_input(std::uint64_t seed) {
  static constexpr char kTelling[] = "0123456789-+.,:;=/\\'\"<>{}[]()%$ \n\n\n\t\r\0\x1b\x7f\xff\xc3\x28naif";
  std::mt19937_64 random(seed);
  const auto below = [&random](std::size_t end) { return static_cast<std::size_t>(random() % end); };
  std::string input;
  for (std::size_t left = below(below(8) == 0 ? 4096 : 128); left > 0; --left) {
    input += below(2) == 0 ? kTelling[below(sizeof kTelling - 1)] : static_cast<char>(below(256));
    if (below(256) == 0) { input.append(below(10'000), input.back()); }
  }
  return input;
}

void run(const std::string& input) {
  // An exact-size copy lets a sanitizer detect reads past the end.
  const std::vector<std::uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

int replay(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    std::snprintf(g_now, sizeof g_now, "in %.50s\n", path.c_str());
    std::ifstream file(path, std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "cannot read %s\n", path.c_str());
      return 1;
    }
    run(std::string(std::istreambuf_iterator<char>(file), {}));
  }
  std::printf("%zu files\n", paths.size());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  unsigned long long runs = 2000;
  unsigned long long seed = 1;
  std::vector<std::string> paths;
  for (int index = 1; index < argc; ++index) {
    const std::string argument = argv[index];
    if (argument == "--runs" && index + 1 < argc) {
      runs = std::strtoull(argv[++index], nullptr, 10);
    } else if (argument == "--seed" && index + 1 < argc) {
      const std::string value = argv[++index];
      seed = value == "random" ? std::random_device()() : std::strtoull(value.c_str(), nullptr, 10);
    } else {
      paths.push_back(argument);
    }
  }
  install_handlers();
  if (!paths.empty()) { return replay(paths); }
  std::printf("--runs %llu --seed %llu\n", runs, seed);
  std::fflush(stdout);
  for (unsigned long long index = 0; index < runs; ++index) {
    std::snprintf(g_now, sizeof g_now, "in --runs 1 --seed %llu\n", seed + index);
    run(make_input(seed + index));
  }
  return 0;
}
