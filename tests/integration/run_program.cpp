// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A training run in small, by the words of its command line, in their order:
//   by-hand        no background threads (first word, if at all)
//   steps <n>      makes n steps
//   poll, print    calls the Session
//   stuck          adds an exporter that never comes back
//   stuck-at-end   adds one that does not come back from the last snapshot
//   wait           says "ready" and goes on when it is sent a line
//   close          closes the Session and says what came of it: "closed 1"
//   exit <status>  exit() inside a region
//   descriptors <n>  may from now on have only n files open
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <sys/resource.h>

namespace {

class Stuck final : public takt::Exporter {
 public:
  explicit Stuck(bool only_at_end) : only_at_end_(only_at_end) {}
  const char* name() const noexcept override { return "stuck"; }
  takt::ExportResult export_snapshot(const takt::Snapshot& snapshot) override {
    if (only_at_end_ && !snapshot.finished) { return takt::ExportResult::ok; }
    std::mutex mutex;
    std::unique_lock<std::mutex> lock(mutex);
    std::condition_variable never;
    never.wait(lock, [] { return false; });
    return takt::ExportResult::ok;
  }

 private:
  bool only_at_end_;
};

void steps(int n) {
  for (int step = 0; step < n; ++step) {
    takt::Scope batch(takt::Batch);
    { const takt::Scope io(takt::IO); }
    { const takt::Scope forward(takt::Forward); }
    batch.items(1);
  }
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  takt::SessionOptions options = takt::SessionOptions::from_env();
  options.background = words.empty() || words.front() != "by-hand";
  takt::Session session("run", options);
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (word == "steps") { steps(std::stoi(words.at(++at))); }
    if (word == "poll") { session.poll(); }
    if (word == "print") { session.print(); }
    if (word == "stuck") { session.add(std::make_unique<Stuck>(false)); }
    if (word == "stuck-at-end") { session.add(std::make_unique<Stuck>(true)); }
    if (word == "wait") {
      std::puts("ready");
      std::fflush(stdout);
      while (std::getchar() > '\n') {}
    }
    if (word == "close") {
      const bool closed = session.close();
      std::printf("closed %d\n", closed ? 1 : 0);
    }
    if (word == "descriptors") {
      const auto most = static_cast<rlim_t>(std::stoi(words.at(++at)));
      const rlimit limit = {most, most};
      ::setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (word == "exit") {
      const takt::Scope open(takt::Forward);
      std::exit(std::stoi(words.at(++at)));
    }
  }
  return 0;
}
