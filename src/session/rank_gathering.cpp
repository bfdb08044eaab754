// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/rank_gathering.hpp"

#include <takt/error.hpp>

#include "base/fault.hpp"
#include "base/words.hpp"

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

// Between two looks. At first there is none, for ranks that are here already: a rank only lets others have the
// processor. The longest pause leaves it to those that are not, of which it may have several.
constexpr std::chrono::microseconds kWithoutPause(2000);
constexpr std::chrono::microseconds kFirstPause(50);
constexpr std::chrono::microseconds kLongestPause(1000);
// So many signs of life within the patience of who waits for them.
constexpr int kSigns = 8;

constexpr const char* kWaiting = "w";
constexpr const char* kReady = "r";

std::chrono::steady_clock::time_point now() { return std::chrono::steady_clock::now(); }

}  // namespace

RankGathering::RankGathering(RankMessages& messages, GatheredRanks own, std::chrono::milliseconds patience,
                             std::size_t most_bytes)
    : messages_(messages),
      part_(std::move(own)),
      patience_(patience),
      most_bytes_(most_bytes),
      size_(static_cast<std::uint32_t>(messages.size())),
      heard_(now()),
      signed_(heard_) {}

/// Looks again and again, soon after something has come, later where nothing does.
template <class Done>
void RankGathering::wait(Done done) {
  auto pause = kFirstPause;
  Time last = now();
  for (;;) {
    bool moved = false;
    if (done(moved)) { return; }
    if (moved) {
      pause = kFirstPause;
      last = now();
    }
    if (now() - last < kWithoutPause) {
      std::this_thread::yield();
      continue;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 3 / 2, kLongestPause);
  }
}

/// Returns whether it was done in time.
template <class Done>
bool RankGathering::wait_patiently(Done done) {
  const Time end = now() + patience_;
  bool is_done = false;
  wait([&](bool&) {
    is_done = done();
    return is_done || now() >= end;
  });
  return is_done;
}

bool RankGathering::run() {
  take_children();
  const bool done = messages_.rank() == 0 ? (take_orphans(), part_.ranks.size() == size_) : hand_over();
  wait_patiently([this] { return messages_.all_sent(); });
  return done;
}

void RankGathering::take_children() {
  const auto rank = static_cast<std::uint32_t>(messages_.rank());
  for (const std::uint32_t child : children_of(rank, size_)) { awaited_[static_cast<int>(child)].heard = now(); }
  wait([this](bool& moved) {
    moved = take();
    if (messages_.rank() != 0) { give_sign(); }
    return awaited_.empty();
  });
}

/// Of a rank that does not come, or has died, the children have nobody else to turn to. They do so when their patience
/// with it is over.
void RankGathering::take_orphans() {
  heard_ = now();
  wait([this](bool& moved) {
    moved = take();
    return awaited_.empty() && (!may_have_orphans() || now() - heard_ > patience_);
  });
}

/// Whether a rank is missing together with its parent.
bool RankGathering::may_have_orphans() {
  if (counted_ == part_.ranks.size()) { return orphans_; }
  counted_ = part_.ranks.size();
  const std::vector<std::uint32_t> missing = missing_from(part_, size_);
  orphans_ = std::any_of(missing.begin(), missing.end(), [&](std::uint32_t rank) {
    return std::binary_search(missing.begin(), missing.end(), parent_of(rank));
  });
  return orphans_;
}

bool RankGathering::take() {
  const bool signs = take_signs();
  return take_parts() || signs;
}

bool RankGathering::take_signs() {
  bool moved = false;
  std::string bytes;
  for (int from = RankMessages::kAnyRank; messages_.receive(from, RankMessage::sign, bytes);
       from = RankMessages::kAnyRank) {
    hear(from, bytes == kReady);
    moved = true;
  }
  return moved;
}

void RankGathering::hear(int from, bool ready) {
  heard_ = now();
  const auto rank = static_cast<std::uint32_t>(from);
  if (std::binary_search(part_.ranks.begin(), part_.ranks.end(), rank)) { return; }  // a sign that came late
  Child& child = awaited_[from];
  child.heard = heard_;
  if (!ready || std::exchange(child.asked, true)) { return; }
  messages_.send(from, RankMessage::ask, "");
}

bool RankGathering::take_parts() {
  bool moved = false;
  std::string bytes;
  for (auto at = awaited_.begin(); at != awaited_.end();) {
    int from = at->first;
    const bool here = at->second.asked && messages_.receive(from, RankMessage::part, bytes);
    if (here) { add(from, bytes); }
    moved = moved || here;
    at = here || now() - at->second.heard > patience_ ? awaited_.erase(at) : std::next(at);
  }
  return moved;
}

void RankGathering::add(int from, const std::string& bytes) {
  try {
    merge_into(part_, unpack_gathered(bytes));
  } catch (const std::exception& error) {
    report_fault("mpi.part",
                 Words("takt::mpi::reduce(): what rank ", from, " handed over is left out: ", error.what()));
  }
}

void RankGathering::give_sign() {
  if (awaited_.empty() || now() - signed_ < patience_ / kSigns) { return; }
  signed_ = now();
  messages_.send(static_cast<int>(parent_of(static_cast<std::uint32_t>(messages_.rank()))), RankMessage::sign,
                 kWaiting);
}

bool RankGathering::hand_over() {
  const std::string bytes = pack(part_);
  if (bytes.size() > most_bytes_) {
    throw Error("this rank and those below it have recorded " + std::to_string(bytes.size()) + " bytes, and " +
                std::to_string(most_bytes_) + " are the most that is sent; name fewer regions");
  }
  int to = static_cast<int>(parent_of(static_cast<std::uint32_t>(messages_.rank())));
  if (!is_asked_by(to)) {
    if (to == 0 || !is_asked_by(0)) { return false; }
    to = 0;
  }
  messages_.send(to, RankMessage::part, bytes);
  return wait_patiently([this] { return messages_.all_sent(); });
}

bool RankGathering::is_asked_by(int rank) {
  messages_.send(rank, RankMessage::sign, kReady);
  std::string nothing;
  return wait_patiently([&] { return messages_.receive(rank, RankMessage::ask, nothing); });
}

}  // namespace detail
TAKT_END_NAMESPACE
