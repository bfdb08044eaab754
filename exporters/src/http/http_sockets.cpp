// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "http/http_sockets.hpp"

#include <algorithm>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

bool is_open_number(const Descriptor& socket) { return ::fcntl(socket.number(), F_GETFD) != -1; }

}  // namespace

int HttpSockets::open(int family, int type, int protocol) {
  Descriptor made(::socket(family, type | SOCK_CLOEXEC, protocol));
  if (!made.is_open()) { return -1; }
  close(made.number());  // what had this number is closed
  sockets_.push_back(std::move(made));
  return sockets_.back().number();
}

void HttpSockets::close(int number) {
  const auto found =
      std::find_if(sockets_.begin(), sockets_.end(), [&](const Descriptor& each) { return each.number() == number; });
  if (found != sockets_.end()) { sockets_.erase(found); }
}

bool HttpSockets::are_ours() const {
  return std::none_of(sockets_.begin(), sockets_.end(),
                      [](const Descriptor& each) { return is_open_number(each) && !each.is_ours(); });
}

void HttpSockets::forget_closed() {
  sockets_.erase(
      std::remove_if(sockets_.begin(), sockets_.end(), [](const Descriptor& each) { return !is_open_number(each); }),
      sockets_.end());
}

}  // namespace detail
TAKT_END_NAMESPACE
