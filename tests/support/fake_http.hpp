// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace takt_test {

/// A client's request.
struct FakeRequest {
  std::string method;
  std::string path;     ///< including the query
  std::string headers;  ///< as sent, names in lower case
  std::string body;
  std::chrono::steady_clock::time_point at;
};

/// The response to send.
struct FakeAnswer {
  int status = 200;
  std::string body = "{}";
  std::string headers;        ///< lines that end in "\r\n"
  bool cut = false;           ///< closes the connection instead of answering
  bool silent = false;        ///< never answers; waits until the client leaves
  bool slow = false;          ///< sends a blank now and then as the body, until the client leaves
  std::uint64_t endless = 0;  ///< bytes of 'x' after the body, while the client reads them
};

/// An HTTP server on the loopback that answers each request as `script` decides. It serves one connection at a time, on
/// its own thread, which calls `script`.
class FakeHttp {
 public:
  using Script = std::function<FakeAnswer(const FakeRequest&)>;

  explicit FakeHttp(Script script)
      : script_(std::move(script)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, plain, size) != 0 || ::listen(listener_, 8) != 0 ||
        ::getsockname(listener_, plain, &size) != 0) {
      std::abort();
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~FakeHttp() {
    stop_ = true;
    thread_.join();
    ::close(listener_);
  }
  FakeHttp(const FakeHttp&) = delete;
  FakeHttp& operator=(const FakeHttp&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::vector<FakeRequest> requests() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return requests_;
  }
  std::uint64_t endless_sent() const { return endless_sent_; }

 private:
  static constexpr int kPollMs = 10;

  void serve() {
    while (!stop_) {
      pollfd ready = {listener_, POLLIN, 0};
      if (::poll(&ready, 1, kPollMs) <= 0) { continue; }
      const int peer = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (peer < 0) { continue; }
      std::string bytes;
      while (!stop_ && one_request(peer, bytes)) {}
      ::close(peer);
    }
  }

  /// Appends received bytes. Returns false when the client has left or the test has ended.
  bool more(int peer, std::string& bytes) {
    while (!stop_) {
      pollfd ready = {peer, POLLIN, 0};
      // A client that keeps its connection must not block the next one.
      pollfd next = {listener_, POLLIN, 0};
      if (bytes.empty() && ::poll(&next, 1, 0) > 0) { return false; }
      if (::poll(&ready, 1, kPollMs) <= 0) { continue; }
      char buffer[65536];
      const ssize_t count = ::recv(peer, buffer, sizeof buffer, 0);
      if (count <= 0) { return false; }
      bytes.append(buffer, static_cast<std::size_t>(count));
      return true;
    }
    return false;
  }

  bool one_request(int peer, std::string& bytes) {
    std::size_t end = 0;
    while ((end = bytes.find("\r\n\r\n")) == std::string::npos) {
      if (!more(peer, bytes)) { return false; }
    }
    FakeRequest request;
    const std::size_t line = bytes.find("\r\n");
    const std::size_t space = bytes.find(' ');
    request.method = bytes.substr(0, space);
    request.path = bytes.substr(space + 1, bytes.find(' ', space + 1) - space - 1);
    request.headers = lower_names(bytes.substr(line + 2, end + 2 - line - 2));
    request.at = std::chrono::steady_clock::now();
    const std::size_t length = length_of(request.headers);
    while (bytes.size() < end + 4 + length) {
      if (!more(peer, bytes)) { return false; }
    }
    request.body = bytes.substr(end + 4, length);
    bytes.erase(0, end + 4 + length);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      requests_.push_back(request);
    }
    return answer(peer, script_(request), bytes);
  }

  bool answer(int peer, const FakeAnswer& answer, std::string& bytes) {
    if (answer.cut) { return false; }
    if (answer.silent) {
      while (more(peer, bytes)) {}
      return false;
    }
    if (answer.slow) { return drip(peer); }
    std::string out = "HTTP/1.1 " + std::to_string(answer.status) +
                      " Fake\r\nContent-Length: " + std::to_string(answer.body.size() + answer.endless) + "\r\n" +
                      answer.headers + "\r\n" + answer.body;
    if (!send(peer, out)) { return false; }
    out.assign(65536, 'x');
    for (std::uint64_t sent = 0; sent < answer.endless && !stop_; sent += out.size()) {
      if (!send(peer, out)) { return false; }
      endless_sent_ += out.size();
    }
    return true;
  }

  bool drip(int peer) {
    bool there = send(peer, "HTTP/1.1 200 Fake\r\nContent-Length: 1000000\r\n\r\n");
    while (there && !stop_) {
      pollfd left = {peer, POLLIN, 0};
      there = ::poll(&left, 1, kPollMs) == 0 && send(peer, " ");
    }
    return false;
  }

  static bool send(int peer, const std::string& bytes) {
    for (std::size_t sent = 0; sent < bytes.size();) {
      const ssize_t count = ::send(peer, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) { return false; }
      sent += static_cast<std::size_t>(count);
    }
    return true;
  }

  static std::string lower_names(std::string headers) {
    bool in_name = true;
    for (char& each : headers) {
      if (each == ':') { in_name = false; }
      if (each == '\n') { in_name = true; }
      if (in_name) { each = static_cast<char>(std::tolower(static_cast<unsigned char>(each))); }
    }
    return headers;
  }

  static std::size_t length_of(const std::string& headers) {
    const std::string name = "content-length:";
    const std::size_t at = headers.find(name);
    return at == std::string::npos ? 0 : std::strtoul(headers.c_str() + at + name.size(), nullptr, 10);
  }

  Script script_;
  int listener_;
  int port_ = 0;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> endless_sent_{0};
  mutable std::mutex mutex_;
  std::vector<FakeRequest> requests_;
  std::thread thread_;
};

}  // namespace takt_test
