// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Measures what delivery costs the training loop and the machine.
//   takt_delivery                             measures both
//   takt_delivery points <steps> <metrics>    sends points to the server in MLFLOW_TRACKING_URI and prints their number
//                                             and the seconds
#include <takt/exporters/mlflow.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using std::chrono::steady_clock;

double seconds_since(steady_clock::time_point begin) {
  return std::chrono::duration<double>(steady_clock::now() - begin).count();
}

/// A server that accepts connections and never answers.
class SilentServer {
 public:
  SilentServer() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in at = {};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    if (::bind(socket_, reinterpret_cast<sockaddr*>(&at), size) != 0 || ::listen(socket_, 8) != 0 ||
        ::getsockname(socket_, reinterpret_cast<sockaddr*>(&at), &size) != 0) {
      throw std::runtime_error("no port to listen on");
    }
    port_ = ntohs(at.sin_port);
  }
  ~SilentServer() { ::close(socket_); }
  SilentServer(const SilentServer&) = delete;
  SilentServer& operator=(const SilentServer&) = delete;
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  int socket_;
  unsigned port_ = 0;
};

takt::SessionOptions quiet_options(const std::string& directory) {
  takt::SessionOptions options;
  options.directory = directory;
  options.table = false;
  options.exit_timeout = std::chrono::milliseconds(100);
  return options;
}

takt::MlflowExporter exporter_to(const std::string& url) {
  takt::MlflowOptions options;
  options.tracking_uri = url;
  return takt::MlflowExporter(options);
}

/// Records the ticks of many regions, including the clock reads around them. Runs for a third of a second, so that an
/// exporter has data to send during most of them.
void time_scopes(takt::Session& session, std::vector<std::uint64_t>& ticks) {
  constexpr int kSteps = 2000;
  constexpr int kRegions = 100;
  for (int step = 0; step < kSteps; ++step) {
    if (step % 20 == 0) { ::poll(nullptr, 0, 3); }
    session.metric("step", step);
    const takt::Scope batch(takt::Batch);
    for (int region = 0; region < kRegions; ++region) {
      const std::uint64_t begin = takt::detail::ticks();
      { const takt::Scope s(takt::Forward); }
      ticks.push_back(takt::detail::ticks() - begin);
    }
  }
}

void print_latencies(const std::string& directory) {
  const SilentServer silent;
  struct Way {
    const char* name;
    std::string url;
    std::vector<std::uint64_t> ticks;
  };
  Way ways[] = {
      {"no exporter", "", {}}, {"server away", "http://127.0.0.1:1", {}}, {"server silent", silent.url(), {}}};
  const auto begin = steady_clock::now();
  const std::uint64_t first = takt::detail::ticks();
  for (int round = 0; round < 10; ++round) {
    for (Way& way : ways) {
      takt::SessionOptions options = quiet_options(directory);
      options.period = std::chrono::milliseconds(20);
      takt::Session session("latency", options);
      if (!way.url.empty()) { session.add(exporter_to(way.url)); }
      time_scopes(session, way.ticks);
    }
  }
  const double ns = 1e9 * seconds_since(begin) / static_cast<double>(takt::detail::ticks() - first);
  std::printf("%-44s %10s %10s %10s\n", "a scope with the reads around it, in ns", "p50", "p99", "p99.99");
  for (Way& way : ways) {
    std::sort(way.ticks.begin(), way.ticks.end());
    const auto at = [&](double share) {
      return ns * static_cast<double>(
                      way.ticks[static_cast<std::size_t>(share * static_cast<double>(way.ticks.size() - 1))]);
    };
    std::printf("%-44s %10.0f %10.0f %10.0f\n", way.name, at(0.5), at(0.99), at(0.9999));
  }
}

double cpu_seconds(int who) {
  rusage used = {};
  ::getrusage(who, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double bytes_in(const std::string& directory) {
  double sum = 0;
  for (const auto& each : std::filesystem::recursive_directory_iterator(directory)) {
    if (each.is_regular_file()) { sum += static_cast<double>(each.file_size()); }
  }
  return sum;
}

/// 100 paths and 10 steps per second, with an unreachable server.
void print_background(const std::string& directory) {
  constexpr int kSteps = 200;
  std::vector<const takt::Key*> keys;
  for (int path = 0; path < 99; ++path) { keys.push_back(&takt::key(("path " + std::to_string(path)).c_str())); }
  takt::Session session("background", quiet_options(directory));
  session.add(exporter_to("http://127.0.0.1:1"));
  const auto steps = [&](int count) {
    for (int step = 0; step < count; ++step) {
      {
        const takt::Scope batch(takt::Batch);
        for (const takt::Key* key : keys) { const takt::Scope s(*key); }
      }
      ::poll(nullptr, 0, 100);  // the step waits without using the processor
    }
  };
  steps(20);  // warm-up: creates files and paths
  const auto begin = steady_clock::now();
  const double bytes = bytes_in(directory);
  const double cpu = cpu_seconds(RUSAGE_SELF) - cpu_seconds(RUSAGE_THREAD);
  steps(kSteps);
  const double seconds = seconds_since(begin);
  const double used = cpu_seconds(RUSAGE_SELF) - cpu_seconds(RUSAGE_THREAD) - cpu;
  std::printf("\nbackground threads, 100 paths, 10 steps a second: %.2f %% of a core, %.0f MiB of files an hour\n",
              100 * used / seconds, (bytes_in(directory) - bytes) / seconds * 3600 / (1 << 20));
}

/// Returns true if all points were delivered.
bool send_points(int steps, int metrics, const std::string& directory) {
  takt::SessionOptions options = quiet_options(directory);
  options.exit_timeout = std::chrono::milliseconds(600'000);
  std::vector<std::string> names;
  for (int metric = 0; metric < metrics; ++metric) { names.push_back("metric" + std::to_string(metric)); }
  const auto begin = steady_clock::now();
  takt::Session session("points", options);
  session.add(takt::MlflowExporter::from_env());
  for (int step = 0; step < steps; ++step) {
    for (const std::string& name : names) { session.metric(name, 0.5 * step, step); }
    // the loop is faster than any training, so the exporter's limits would be too small
    if (step % 100 == 99) { session.poll(); }
  }
  const bool delivered = session.close();
  std::printf("%d %.3f\n", steps * metrics, seconds_since(begin));
  return delivered;
}

}  // namespace

int main(int count, char** arguments) {
  std::string directory = (std::filesystem::temp_directory_path() / "takt-delivery-XXXXXX").string();
  int status = 1;
  try {
    if (::mkdtemp(directory.data()) == nullptr) { throw std::runtime_error("no directory below " + directory); }
    if (count == 4 && std::string(arguments[1]) == "points") {
      status = send_points(std::atoi(arguments[2]), std::atoi(arguments[3]), directory) ? 0 : 1;
    } else {
      print_latencies(directory);
      print_background(directory);
      status = 0;
    }
  } catch (const std::exception& error) { std::fprintf(stderr, "takt_delivery: %s\n", error.what()); }
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  return status;
}
