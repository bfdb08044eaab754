// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A small training run, controlled by the words of its command line, in order:
//   by-hand        no background threads (must be the first word)
//   steps <n>      makes n steps
//   poll, print    calls the Session
//   stuck          adds an exporter that never returns
//   stuck-at-end   adds an exporter that does not return from the last snapshot
//   wait           prints "ready" and continues after a line on standard input
//   close          closes the Session and prints the result: "closed 1"
//   exit <status>  exit() inside a region
//   seize <directory>   closes all descriptors above 2 and reuses their numbers for its own files
//   print-words      prints a lot to stdout and stderr
//   data <n> <file>  opens its own file, which must get the number n
//   descriptors <n>  limits the number of open files to n
//   sessions <n>     closes the Session, makes and closes n more, and prints how many more files are open than
//                    after the first one: "open 0"
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

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

/// Closes descriptors like a program that becomes a daemon or starts another one.
void seize(const std::string& directory) {
  const int own = ::open((directory + "/own").c_str(), O_RDWR | O_CREAT, 0600);
  for (int number = 3; number < 256; ++number) {
    if (::fcntl(number, F_GETFD) == -1 || number == own) { continue; }
    ::close(number);
    const int again = ::open((directory + "/own " + std::to_string(number)).c_str(), O_RDWR | O_CREAT, 0600);
    if (again != number && again >= 0) {  // a thread of Takt's was faster
      ::dup2(again, number);
      ::close(again);
    }
  }
}

std::size_t open_files() {
  std::size_t count = 0;
  for (int number = 0; number < 4096; ++number) { count += ::fcntl(number, F_GETFD) == -1 ? 0 : 1; }
  return count;
}

void sessions(int n, const takt::SessionOptions& options) {
  const std::size_t before = open_files();
  for (int number = 0; number < n; ++number) {
    takt::Session session("again", options);
    steps(1);
    session.close();
  }
  std::printf("open %zu\n", open_files() - before);
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
    if (word == "seize") { seize(words.at(++at)); }
    if (word == "print-words") {
      for (int each = 0; each < 1000; ++each) {
        std::puts("printed");
        std::fputs("complained\n", stderr);
      }
      std::fflush(stdout);
    }
    if (word == "data") {
      const int number = std::stoi(words.at(++at));
      if (::open(words.at(++at).c_str(), O_WRONLY | O_CREAT, 0600) != number) { return 3; }
    }
    if (word == "descriptors") {
      const auto max = static_cast<rlim_t>(std::stoi(words.at(++at)));
      const rlimit limit = {max, max};
      ::setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (word == "sessions") {
      session.close();
      sessions(std::stoi(words.at(++at)), options);
    }
    if (word == "exit") {
      const takt::Scope open(takt::Forward);
      std::exit(std::stoi(words.at(++at)));
    }
  }
  return 0;
}
