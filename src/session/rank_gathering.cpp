// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/rank_gathering.hpp"

#include <takt/error.hpp>

#include "base/encoding.hpp"
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

std::chrono::steady_clock::time_point now() { return std::chrono::steady_clock::now(); }

}  // namespace

RankGathering::RankGathering(RankMessages& messages, GatheredRanks own, std::chrono::milliseconds patience,
                             UnixClock clock, ClockQuestions::Bounds questions, std::size_t most_bytes)
    : messages_(messages),
      part_(std::move(own)),
      patience_(patience),
      most_bytes_(most_bytes),
      size_(static_cast<std::uint32_t>(messages.size())),
      upper_(static_cast<int>(parent_of(static_cast<std::uint32_t>(messages.rank())))),
      questions_(std::move(clock), questions),
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
  for (const std::uint32_t child : children_of(rank, size_)) { awaited_[static_cast<int>(child)] = now(); }
  if (rank != 0) { give_sign(); }
  wait([this, rank](bool& moved) {
    moved = take();
    if (rank != 0) { moved = look_up() || moved; }
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
  std::string nothing;
  for (int from = RankMessages::kAnyRank; messages_.receive(from, RankMessage::sign, nothing);
       from = RankMessages::kAnyRank) {
    hear(from);
    moved = true;
  }
  return moved;
}

void RankGathering::hear(int from) {
  heard_ = now();
  if (has_rank(part_, static_cast<std::uint32_t>(from))) { return; }  // a sign that came late
  awaited_[from] = heard_;
  std::string time(sizeof(std::int64_t), '\0');
  store(time.data(), questions_.now_ns());
  messages_.send(from, RankMessage::answer, std::move(time));
}

bool RankGathering::take_parts() {
  bool moved = false;
  std::string bytes;
  for (auto at = awaited_.begin(); at != awaited_.end();) {
    int from = at->first;
    const bool here = messages_.receive(from, RankMessage::part, bytes);
    if (here) { add(from, bytes); }
    moved = moved || here;
    at = here || now() - at->second > patience_ ? awaited_.erase(at) : std::next(at);
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
  signed_ = now();
  questions_.asked();
  messages_.send(upper_, RankMessage::sign, "");
}

/// Takes an answer from above, and gives the next sign: at once where the clock is to be read again, and else so that
/// the rank above does not lose its patience.
bool RankGathering::look_up() {
  std::string time;
  const bool here = messages_.receive(upper_, RankMessage::answer, time);
  if (here && time.size() == sizeof(std::int64_t)) { questions_.answered(load<std::int64_t>(time.data())); }
  if (questions_.is_under_way()) { return here; }
  if (questions_.wants_more() || now() - signed_ > patience_ / kSigns) { give_sign(); }
  return here;
}

bool RankGathering::hand_over() {
  const std::string bytes = pack(part_);
  if (bytes.size() > most_bytes_) {
    throw Error("this rank and those below it have recorded " + std::to_string(bytes.size()) + " bytes, and " +
                std::to_string(most_bytes_) + " are the most that is sent; name fewer regions");
  }
  if (!is_answered()) {
    if (upper_ == 0) { return false; }
    upper_ = 0;
    questions_.begin_again();
    give_sign();
    if (!is_answered()) { return false; }
  }
  messages_.send(upper_, RankMessage::part, bytes);
  return wait_patiently([this] { return messages_.all_sent(); });
}

/// Whether the rank above is there. No sign is under way any more then.
bool RankGathering::is_answered() {
  return wait_patiently([this] {
    look_up();
    return questions_.has_answer() && !questions_.is_under_way();
  });
}

}  // namespace detail
TAKT_END_NAMESPACE
