// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Compiled by the program with its own MPI, so that libtakt depends on none. Link takt::mpi and that MPI.
#include <takt/detail/library_version.hpp>
#include <takt/detail/rank_messages.hpp>
#include <takt/session.hpp>

#include <mpi.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <utility>

TAKT_BEGIN_NAMESPACE

namespace mpi {
namespace detail {

namespace core = takt::detail;

inline int rank_of(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}
inline int size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}

/// A message in flight.
struct Message {
  int rank = 0;  ///< sending rank
  int tag = 0;
  std::string bytes;
  MPI_Request request = MPI_REQUEST_NULL;
};

/// A communicator of Takt's own, so that its messages never match the program's.
struct Channel {
  MPI_Comm comm = MPI_COMM_NULL;
  int rounds = 0;               ///< rounds started; keeps the messages of different rounds apart
  std::list<Message> incoming;  ///< messages of a later round may arrive early
};

/// Returns the channel of the communicator last passed to takt::mpi::options().
inline Channel*& channel_of_job() {
  static Channel* channel = nullptr;
  return channel;
}

/// Returns the Channel of `comm`; collective over it at the first call. Never freed before MPI_Finalize, because that
/// needs all ranks and one may be dead. Cached with `comm`, so repeated calls create only one.
inline Channel& channel_of(MPI_Comm comm) {
  static int key = MPI_KEYVAL_INVALID;
  static auto& channels = *new std::list<Channel>;  // never destroyed: used until the very end
  if (key == MPI_KEYVAL_INVALID) {
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, nullptr);
  }
  void* known = nullptr;
  int found = 0;
  MPI_Comm_get_attr(comm, key, &known, &found);
  if (found != 0) { return *static_cast<Channel*>(known); }
  channels.emplace_back();
  Channel& channel = channels.back();
  MPI_Comm_dup(comm, &channel.comm);
  MPI_Comm_set_errhandler(channel.comm, MPI_ERRORS_RETURN);  // Takt's errors must not end the program
  MPI_Comm_set_attr(comm, key, &channel);
  return channel;
}

/// Returns this rank's number among the ranks that share memory with it, that is, on its node.
inline int rank_on_node(MPI_Comm all) {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, rank_of(all), MPI_INFO_NULL, &node);
  const int rank = rank_of(node);
  MPI_Comm_free(&node);
  return rank;
}

/// Sends and receives the messages of one round of all ranks: a reduction, or the first comparison of clocks.
class Messages final : public core::RankMessages {
 public:
  explicit Messages(Channel& channel)
      : channel_(channel),
        round_(channel.rounds++ % kRounds),
        rank_(rank_of(channel.comm)),
        size_(size_of(channel.comm)) {}
  /// MPI may still read buffers sent to a dead rank, so they are never freed.
  ~Messages() override {
    static auto* const left = new std::list<Message>;
    left->splice(left->end(), outgoing_);
  }
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void send(int to, core::RankMessage about, std::string bytes) override {
    outgoing_.emplace_back();
    Message& message = outgoing_.back();
    message.bytes = std::move(bytes);
    const int count = static_cast<int>(message.bytes.size());
    MPI_Isend(message.bytes.data(), count, MPI_BYTE, to, tag(about), channel_.comm, &message.request);
  }

  bool all_sent() override {
    while (!outgoing_.empty() && is_done(outgoing_.front())) { outgoing_.pop_front(); }
    return outgoing_.empty();
  }

  bool receive(int& from, core::RankMessage about, std::string& bytes) override {
    look();
    std::list<Message>& incoming = channel_.incoming;
    for (auto at = incoming.begin(); at != incoming.end(); ++at) {
      const bool meant = at->tag == tag(about) && (from == kAnyRank || from == at->rank);
      if (!meant || !is_done(*at)) { continue; }
      from = at->rank;
      bytes = std::move(at->bytes);
      incoming.erase(at);
      return true;
    }
    return false;
  }

 private:
  static constexpr int kRounds = 8192;  // rounds with messages in flight
  static constexpr int kKinds = 4;      // tags stay within MPI's guaranteed maximum (32,767)

  int tag(core::RankMessage about) const { return round_ * kKinds + static_cast<int>(about); }

  static bool is_done(Message& message) {
    int done = 0;
    const int code = MPI_Test(&message.request, &done, MPI_STATUS_IGNORE);
    return done != 0 || code != MPI_SUCCESS;
  }

  /// Starts to receive arrived messages: only then is their length known.
  void look() {
    forget();
    for (;;) {
      int here = 0;
      MPI_Status status;
      const int code = MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, channel_.comm, &here, &status);
      if (code != MPI_SUCCESS || here == 0) { return; }
      int count = 0;
      MPI_Get_count(&status, MPI_BYTE, &count);
      channel_.incoming.emplace_back();
      Message& message = channel_.incoming.back();
      message.rank = status.MPI_SOURCE;
      message.tag = status.MPI_TAG;
      message.bytes.resize(static_cast<std::size_t>(count));
      MPI_Irecv(&message.bytes[0], count, MPI_BYTE, message.rank, message.tag, channel_.comm, &message.request);
    }
  }

  /// Removes late messages of earlier rounds.
  void forget() {
    channel_.incoming.remove_if([this](Message& each) {
      const int rounds_ago = (round_ - each.tag / kKinds + kRounds) % kRounds;
      return rounds_ago != 0 && rounds_ago < kRounds / 2 && is_done(each);
    });
  }

  Channel& channel_;
  int round_;
  int rank_;
  int size_;
  std::list<Message> outgoing_;
};

/// Adds the version of the MPI library to the run's.
inline void add_version() {
  static std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  static core::LibraryVersion version{"mpi", text.data()};
  static const bool added = [] {
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    core::add_library_version(version);
    return true;
  }();
  (void)added;
}

inline bool is_usable(void (*report)(bool finalized)) {
  int started = 0;
  int ended = 0;
  MPI_Initialized(&started);
  MPI_Finalized(&ended);
  if (started == 0 || ended != 0) { report(ended != 0); }
  return started != 0 && ended == 0;
}

/// \throws takt::Error for a communicator without ranks of its own.
inline void check(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) {
    throw Error("takt::mpi: MPI_COMM_NULL has no ranks; give the communicator of the ranks that train");
  }
  int inter = 0;
  MPI_Comm_test_inter(comm, &inter);
  if (inter != 0) {
    throw Error("takt::mpi: an inter-communicator has two groups; give the one of the ranks that train");
  }
}

/// Returns rank 0's run id, on all ranks.
inline std::string agreed_run_id(MPI_Comm comm, const SessionOptions& options) {
  std::array<char, core::kLongestProposedRunId + 1> id{};
  if (rank_of(comm) == 0) {
    // Parts of a job may train separately, under one name and one launcher.
    const bool whole_world = size_of(comm) == size_of(MPI_COMM_WORLD);
    const std::string proposed = core::proposed_run_id(options, whole_world ? -1 : rank_of(MPI_COMM_WORLD));
    proposed.copy(id.data(), core::kLongestProposedRunId);
  }
  MPI_Bcast(id.data(), static_cast<int>(id.size()), MPI_CHAR, 0, comm);
  return id.data();
}

inline void report_no_reduction(bool finalized) {
  core::report_not_reduced(finalized ? "MPI has been finalised" : "MPI is not initialised");
}

inline bool reduce_job(std::chrono::milliseconds deadline) {
  if (!is_usable(report_no_reduction)) { return false; }
  if (channel_of_job() == nullptr) {
    core::report_not_reduced("give the Session takt::mpi::options(), which names the ranks");
    return false;
  }
  Messages messages(*channel_of_job());
  return core::reduce_job(messages, deadline);
}

/// Callback that MPI_Finalize calls first, while messages can still be sent.
inline int reduce_as_mpi_ends(MPI_Comm self, int key, void* deadline, void* extra) {
  (void)self;
  (void)key;
  (void)extra;
  reduce_job(*static_cast<const std::chrono::milliseconds*>(deadline));
  return MPI_SUCCESS;
}

/// Registers it once, because MPI also calls it when the attribute is set again.
inline void arm(std::chrono::milliseconds deadline) {
  static int key = MPI_KEYVAL_INVALID;
  static std::chrono::milliseconds last;
  last = deadline;
  if (key != MPI_KEYVAL_INVALID || !is_usable(report_no_reduction)) { return; }
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, reduce_as_mpi_ends, &key, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, &last);
}

}  // namespace detail

/// Returns `options` with rank, world size, rank on the node and run id taken from `comm`, so that its ranks are one
/// run under any launcher. Collective over `comm`, between MPI_Init and MPI_Finalize; waits for all ranks. Duplicates
/// the communicator once, so that Takt's messages never match the program's. A Session of several ranks keeps up to 6
/// MiB of its steps for the comparison by reduce(). A conflicting variable (TAKT_RANK, TAKT_WORLD_SIZE, TAKT_RUN_ID) is
/// reported once and ignored; TAKT_RUN_ID of rank 0 names the run. Before MPI_Init and after MPI_Finalize it reports
/// that and returns `options` unchanged: the launcher's variables apply. Any thread that may call MPI.
/// \throws takt::Error for MPI_COMM_NULL and for an inter-communicator.
inline SessionOptions options(MPI_Comm comm = MPI_COMM_WORLD, SessionOptions options = SessionOptions::from_env()) {
  if (!detail::is_usable(takt::detail::report_without_mpi)) { return options; }
  detail::check(comm);
  detail::add_version();
  detail::channel_of_job() = &detail::channel_of(comm);
  const MPI_Comm all = detail::channel_of_job()->comm;
  takt::detail::MpiIdentity identity;
  identity.rank = detail::rank_of(all);
  identity.world_size = detail::size_of(all);
  identity.local_rank = detail::rank_on_node(all);
  identity.run_id = detail::agreed_run_id(all, options);
  takt::detail::apply(identity, options);
  detail::Messages messages(*detail::channel_of_job());
  takt::detail::read_clocks(messages);
  return options;
}

/// Collects the data of all ranks so far on rank 0, whose table, summary.json and exporters then describe the whole
/// job. Every rank of the run made by takt::mpi::options() calls it, between MPI_Init and MPI_Finalize and before
/// Session::close(). Uses messages and no collective operation: if a rank is missing, the others continue without it.
/// Returns on rank 0 true if all ranks are included, elsewhere true if this rank's data were received. Missing data are
/// reported on stderr. Only the thread that may call MPI (MPI_THREAD_FUNNELED).
/// \param deadline timeout for each silent rank, at most 24 h.
inline bool reduce(Session& session, std::chrono::milliseconds deadline = std::chrono::seconds(2)) {
  (void)session;  // a process has one at a time
#if TAKT_ENABLED
  return detail::reduce_job(deadline);
#else
  (void)deadline;
  return true;
#endif
}

/// Makes MPI_Finalize call reduce(), through an attribute of MPI_COMM_SELF; the Session must still be open then. All
/// ranks call it, between MPI_Init and MPI_Finalize. A further call changes the deadline. Only the thread that may call
/// MPI and that calls MPI_Finalize.
inline void reduce_at_finalize(Session& session, std::chrono::milliseconds deadline = std::chrono::seconds(2)) {
  (void)session;  // a process has one at a time
#if TAKT_ENABLED
  detail::arm(deadline);
#else
  (void)deadline;
#endif
}

}  // namespace mpi

TAKT_END_NAMESPACE
