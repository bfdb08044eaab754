// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/run_identity.hpp"

#include "base/environment.hpp"
#include "base/file.hpp"
#include "base/format.hpp"
#include "base/other_process.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"

#include <takt/error.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <limits.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr int kMaxSuffixes = 1000;

bool is_safe(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

/// Returns a suffix for a truncated text. It distinguishes long texts with a common prefix and is equal on all ranks.
std::string hash_suffix(std::string_view text) {
  std::string suffix = "-";
  std::uint64_t hash = hash_name(std::string(text).c_str());
  for (int digit = 0; digit < 16; ++digit, hash >>= 4U) { suffix += "0123456789abcdef"[hash & 15U]; }
  return suffix;
}

/// Makes the path absolute, so that the run's location survives a later change of directory.
std::string make_absolute(const std::string& path) {
  char here[PATH_MAX];
  if (path.front() == '/' || ::getcwd(here, sizeof here) == nullptr) { return path; }
  return std::string(here) + "/" + path;
}

class Directory {
 public:
  explicit Directory(const std::string& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) {}
  ~Directory() {
    if (descriptor_ >= 0) { ::close(descriptor_); }
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

/// Makes a new directory; fails if the name exists, even as a link. Sets errno.
bool make_fresh(const Directory& parent, const std::string& name) {
  if (::mkdirat(parent.descriptor(), name.c_str(), S_IRWXU) != 0) { return false; }
  struct stat status = {};
  if (::fstatat(parent.descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) { return false; }
  // The umask may remove the owner's own bits.
  return (status.st_mode & S_IRWXU) == S_IRWXU ||
         ::fchmodat(parent.descriptor(), name.c_str(), (status.st_mode & 07000U) | S_IRWXU, 0) == 0;
}

}  // namespace

std::string path_component(std::string_view text, std::size_t longest) {
  std::string safe;
  for (const char c : text.substr(0, 64U * longest)) {
    const char last = safe.empty() ? '\0' : safe.back();
    if (is_safe(c) && !(last == '\0' && (c == '.' || c == '-')) && !(c == '.' && last == '.')) {
      safe += c;
    } else if (last != '_' && last != '.') {
      safe += '_';
    }
  }
  if (safe.size() > longest || text.size() > 64U * longest) {
    const std::string suffix = hash_suffix(text);
    safe.resize(std::min(safe.size(), longest - suffix.size()));
    safe += suffix;
  }
  return safe.empty() ? "takt" : safe;
}

std::string make_run_directory(const SessionOptions& options, const RunInfo& run, std::string& error) {
  const std::string& directory = options.directory;
  if (directory.empty() || directory.find('\0') != std::string::npos) {
    error = "the directory for runs is empty or contains a zero byte; set TAKT_DIR to a writable directory";
    return {};
  }
  const std::string parent_path = make_absolute(directory) + "/" + path_component(run.id, kLongestRunId);
  const std::string name =
      "rank-" + std::to_string(run.rank) + "-" + std::to_string(run.attempt) + "-" + std::to_string(run.pid);
  if (!make_directories(parent_path, error)) { return {}; }
  const Directory parent(parent_path);
  int why = parent.descriptor() < 0 ? errno : EEXIST;
  for (int suffix = 0; why == EEXIST && suffix < kMaxSuffixes; ++suffix) {
    const std::string fresh = suffix == 0 ? name : name + "-" + std::to_string(suffix);
    if (make_fresh(parent, fresh)) { return parent_path + "/" + fresh; }
    why = errno;
  }
  error = "cannot make the directory " + parent_path + "/" + name + ": " + std::system_category().message(why) +
          "; set TAKT_DIR to a writable directory";
  return {};
}

namespace {

/// Accepts ASCII only: group names are separated by commas and must be equal on all ranks.
bool is_of_a_group_name(char each) noexcept {
  return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') || (each >= '0' && each <= '9') || each == '_' ||
         each == '-' || each == '.';
}

}  // namespace

void RunGroups::set(std::string_view name, int number) {
  if (name.empty() || name.size() > kLongestName || !std::all_of(name.begin(), name.end(), is_of_a_group_name)) {
    throw Error(detail::format(
        "takt: Session::group(): invalid name \"{}\"; a name consists of 1 to {} letters, digits, '_', '-' "
        "and '.', such as \"stage\"",
        fit(printable(name), 60), kLongestName));
  }
  if (number < 0) {
    throw Error(detail::format("takt: Session::group(\"{}\", {}): numbers of groups start at 0", name, number));
  }
  if (groups_.size() == kMax && groups_.find(name) == groups_.end()) {
    throw Error(detail::format(
        "takt: Session::group(\"{}\", {}): a rank can be in at most {} groups; use only those that make its "
        "work differ",
        name, number, kMax));
  }
  groups_.insert_or_assign(std::string(name), number);
}

namespace {

constexpr int kMaxWorldSize = std::numeric_limits<int>::max();
constexpr std::size_t kLongestRunName = 48;
constexpr const char* kRankOption = "TAKT_RANK or SessionOptions::rank";
constexpr const char* kSizeOption = "TAKT_WORLD_SIZE or SessionOptions::world_size";

bool is_set(const char* variable) { return !environment_value(variable).empty(); }

// ---- rank and world size ----

/// RANK alone is too common a name. With WORLD_SIZE, and LOCAL_RANK or MASTER_ADDR, it comes from torchrun or another
/// launcher of torch.distributed.
bool is_torchrun() { return is_set("RANK") && is_set("WORLD_SIZE") && (is_set("LOCAL_RANK") || is_set("MASTER_ADDR")); }

/// The shell of a batch script has SLURM_PROCID=0 and the job's SLURM_NTASKS but is not a task: only srun creates
/// tasks, and each has a step id.
bool is_slurm_task() { return is_set("SLURM_STEP_ID") || !is_set("SLURM_JOB_ID"); }

using Names = std::array<const char*, 2>;  // the first one that is set counts

struct Launcher {
  const char* name;
  const char* rank;
  Names size;
  Names local_rank;
  bool (*applies)();  // nullptr: always
};

/// Ordered by distance to the process: an inner launcher knows the ranks, an outer one only the inner launchers. So
/// Slurm is last.
constexpr Launcher kLaunchers[] = {
    {"torchrun", "RANK", {"WORLD_SIZE"}, {"LOCAL_RANK"}, is_torchrun},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", {"OMPI_COMM_WORLD_SIZE"}, {"OMPI_COMM_WORLD_LOCAL_RANK"}, nullptr},
    {"PMIx", "PMIX_RANK", {}, {"PMIX_LOCAL_RANK"}, nullptr},
    {"PMI", "PMI_RANK", {"PMI_SIZE"}, {"MPI_LOCALRANKID", "PMI_LOCAL_RANK"}, nullptr},
    {"MVAPICH2", "MV2_COMM_WORLD_RANK", {"MV2_COMM_WORLD_SIZE"}, {"MV2_COMM_WORLD_LOCAL_RANK"}, nullptr},
    {"PALS", "PALS_RANKID", {}, {"PALS_LOCAL_RANKID"}, nullptr},
    {"Flux", "FLUX_TASK_RANK", {"FLUX_JOB_SIZE"}, {"FLUX_TASK_LOCAL_ID"}, nullptr},
    {"Slurm", "SLURM_PROCID", {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}, {"SLURM_LOCALID"}, is_slurm_task},
};

/// A number from a launcher and its variable; variable == nullptr: none.
struct Number {
  int value = 0;
  const char* variable = nullptr;

  explicit operator bool() const { return variable != nullptr; }
};

Number read_number(const char* variable, int low, const char* noun) {
  const std::string_view text = environment_value(variable);
  std::int64_t number = 0;
  if (text.empty()) { return {}; }
  if (!parse_number(text, low, kMaxWorldSize - 1, number)) {
    report_bad_value(variable, text, noun, "other variables");
    return {};
  }
  return {static_cast<int>(number), variable};
}

Number read_first(const Names& variables, int low, const char* noun) {
  for (const char* const variable : variables) {
    const Number number = variable == nullptr ? Number{} : read_number(variable, low, noun);
    if (number) { return number; }
  }
  return {};
}

/// Values that one launcher sets for this process.
struct Claim {
  const Launcher* launcher;
  Number rank;
  Number size;
  Number local_rank;
};

std::vector<Claim> read_claims() {
  std::vector<Claim> claims;
  for (const Launcher& launcher : kLaunchers) {
    if (launcher.applies != nullptr && !launcher.applies()) { continue; }
    const Number rank = read_number(launcher.rank, 0, "a rank of 0 or more");
    if (!rank) { continue; }
    claims.push_back({&launcher, rank, read_first(launcher.size, 1, "a number of ranks of 1 or more"),
                      read_first(launcher.local_rank, 0, "a rank of 0 or more")});
  }
  return claims;
}

std::string text_of_number(const Number& number) {
  return std::string(number.variable) + "=" + std::to_string(number.value);
}

/// Returns true if `other` counts too many processes to be an outer launcher of `used`.
bool contradicts(const Claim& used, const Claim& other) {
  if (!used.size || !other.size || other.rank.value >= other.size.value) { return false; }
  return other.size.value > used.size.value ||
         (other.size.value == used.size.value && other.rank.value != used.rank.value);
}

void report_conflict(const std::vector<Claim>& claims) {
  // torchrun itself (not its variables set by hand) numbers its processes independently of an outer launcher.
  const bool by_torchrun = claims.front().launcher == kLaunchers && is_set("TORCHELASTIC_RUN_ID");
  const Claim& used = claims.front();
  const auto other =
      std::find_if(claims.begin() + 1, claims.end(), [&](const Claim& c) { return contradicts(used, c); });
  if (by_torchrun || other == claims.end()) { return; }
  report_error_once("rank.conflict", text_of_number(used.rank) + ", " + text_of_number(used.size) + " (" +
                                         used.launcher->name + ") and " + text_of_number(other->rank) + ", " +
                                         text_of_number(other->size) + " (" + other->launcher->name +
                                         ") contradict each other; using the first; unset stale variables, or set "
                                         "TAKT_RANK and TAKT_WORLD_SIZE");
}

/// Reports a launcher's variables without its rank: they were set on purpose.
void report_incomplete() {
  const auto report = [](const std::string& found, const char* missing) {
    report_error_once("rank.incomplete", found + " is set without " + missing +
                                             ", and ignored: this process counts as the only rank; set it, or "
                                             "TAKT_RANK and TAKT_WORLD_SIZE");
  };
  const auto is_number = [](const char* variable) {
    std::int64_t number = 0;
    return parse_number(environment_value(variable), 0, kMaxWorldSize, number);
  };
  const int of_torch =
      (is_number("RANK") ? 1 : 0) + (is_number("WORLD_SIZE") ? 1 : 0) + (is_number("LOCAL_RANK") ? 1 : 0);
  if (of_torch == 2) {  // one alone is too common a name
    report(!is_set("RANK")         ? "WORLD_SIZE, LOCAL_RANK"
           : !is_set("WORLD_SIZE") ? "RANK, LOCAL_RANK"
                                   : "RANK, WORLD_SIZE",
           !is_set("RANK")         ? "RANK"
           : !is_set("WORLD_SIZE") ? "WORLD_SIZE"
                                   : "LOCAL_RANK or MASTER_ADDR");
  }
  for (const Launcher& launcher : kLaunchers) {
    if (launcher.applies != nullptr || is_set(launcher.rank)) { continue; }
    for (const Names& names : {launcher.size, launcher.local_rank}) {
      for (const char* const name : names) {
        if (name != nullptr && is_set(name)) { report(name, launcher.rank); }
      }
    }
  }
}

/// Returns an option's value. Empty means "from the launcher"; an invalid value is reported.
Number read_option(std::optional<int> value, int low, int high, const char* option) {
  if (!value) { return {}; }
  if (*value >= low && *value <= high) { return {*value, option}; }
  report_error_once(option,
                    std::string(option) + ": invalid value " + std::to_string(*value) + "; using the launcher's value");
  return {};
}

/// PMIx and PALS set a rank but no world size; another launcher with the same rank may know it.
Number find_size(const std::vector<Claim>& claims, const Number& rank) {
  for (const Claim& claim : claims) {
    if (claim.size && (rank.variable == kRankOption || claim.rank.value == rank.value)) { return claim.size; }
  }
  return {};
}

Number find_local_rank(const std::vector<Claim>& claims, const Number& rank) {
  for (const Claim& claim : claims) {
    if (claim.local_rank && (rank.variable == kRankOption || claim.rank.value == rank.value)) {
      return claim.local_rank;
    }
  }
  return {};
}

/// Handles a rank that is not below the world size. The rank is kept, as it separates files, and the size is raised.
int repair_size(const Number& rank, const Number& size) {
  if (size && rank.value < size.value) { return size.value; }
  if (!size && !rank) { return 1; }
  const std::string says = size ? "is not below " + text_of_number(size) : "is set without a world size";
  report_error_once("rank.size", text_of_number(rank) + " " + says + "; counting " + std::to_string(rank.value + 1) +
                                     " ranks; set TAKT_WORLD_SIZE");
  return rank.value + 1;
}

std::string describe_source(const Number& rank, const Number& size) {
  if (!rank) { return size ? size.variable : "default"; }
  if (!size) { return rank.variable; }
  return std::string(rank.variable) + ", " + size.variable;
}

void find_rank(const SessionOptions& options, RunInfo& run) {
  const std::vector<Claim> claims = read_claims();
  Number rank = read_option(options.rank, 0, kMaxWorldSize - 1, kRankOption);
  Number size = read_option(options.world_size, 1, kMaxWorldSize, kSizeOption);
  if (!rank && !claims.empty()) {
    rank = claims.front().rank;
    if (!size) { report_conflict(claims); }
  }
  if (!rank) { report_incomplete(); }
  if (rank && !size) { size = find_size(claims, rank); }
  if (!rank && size && size.value > 1) {
    report_error_once("rank.missing", "world size " + std::to_string(size.value) +
                                          " is set without a rank; using rank 0; set TAKT_RANK");
  }
  run.rank = rank.value;
  run.world_size = repair_size(rank, size);
  const Number local = read_option(options.local_rank, 0, kMaxWorldSize - 1, "SessionOptions::local_rank");
  run.local_rank = local ? local.value : find_local_rank(claims, rank).value;
  run.rank_source = describe_source(rank, size);
  run.attempt = read_first({"TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT"}, 0, "a count of 0 or more").value;
}

// ---- run id ----

/// mpirun starts its own node's ranks outside the Slurm step of its daemons on other nodes, so not all ranks share the
/// step. With srun --mpi=pmix, which sets none of these variables, they do.
bool is_step_shared() {
  return !is_set("OMPI_COMM_WORLD_RANK") && !is_set("PMI_RANK") && !is_set("MV2_COMM_WORLD_RANK");
}

struct IdSource {
  const char* prefix;
  const char* variable;
  const char* second = nullptr;        // appended to the first one after a dot
  bool (*second_applies)() = nullptr;  // nullptr: always
  bool names_job = false;              // without `second`, names a job, in which a shell may start many runs
};

constexpr IdSource kIdSources[] = {
    {"", "TORCHELASTIC_RUN_ID"},
    {"slurm-", "SLURM_JOB_ID", "SLURM_STEP_ID", is_step_shared, true},
    {"pmix-", "PMIX_NAMESPACE"},
    {"flux-", "FLUX_JOB_ID"},
    {"pals-", "PALS_APID"},
    {"pbs-", "PBS_JOBID", nullptr, nullptr, true},
    {"lsf-", "LSB_JOBID", "LSB_JOBINDEX", nullptr, true},
    {"ompi-", "OMPI_MCA_ess_base_jobid"},
};

struct LauncherId {
  std::string text;
  bool is_of_job = false;
};

LauncherId id_from_launcher() {
  for (const IdSource& source : kIdSources) {
    const std::string_view value = environment_value(source.variable);
    // torchrun sets "none" if it was given no id.
    if (value.empty() || value == "none") { continue; }
    LauncherId id = {source.prefix + std::string(value), source.names_job};
    if (source.second != nullptr && is_set(source.second) &&
        (source.second_applies == nullptr || source.second_applies())) {
      id.text.append(".").append(environment_value(source.second));
      id.is_of_job = id.is_of_job && source.second_applies == nullptr;  // a job's index is not a step
    }
    return id;
  }
  return {};
}

std::string utc_now() {
  const UtcTime now = utc_time(std::time(nullptr));
  return detail::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", now.year, now.month, now.day, now.hour, now.minute,
                        now.second);
}

/// Returns 64 random bits. Time and process id do not distinguish containers that start at once.
std::string random_digits() {
  std::uint64_t bits = 0;
  if (::getrandom(&bits, sizeof bits, GRND_NONBLOCK) != static_cast<ssize_t>(sizeof bits)) {
    timespec now = {};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    bits = hash_name((std::to_string(::getpid()) + " " + std::to_string(now.tv_nsec)).c_str());
  }
  std::string text;
  for (int digit = 0; digit < 16; ++digit, bits >>= 4U) { text += "0123456789abcdef"[bits & 15U]; }
  return text;
}

/// Returns process id and start time of the parent, which ranks started together on one node share. The start time
/// distinguishes runs whose parents have the same process id.
std::string describe_parent() {
  const pid_t parent = ::getppid();
  std::ifstream file("/proc/" + std::to_string(parent) + "/stat");
  std::string line;
  std::getline(file, line);
  // proc(5): the second field is the program's name in parentheses, which may contain any text; the 22nd is the start
  // time.
  const std::size_t name_end = line.rfind(')');
  std::string start;
  if (name_end != std::string::npos) {
    std::istringstream fields(line.substr(name_end + 1));
    for (int field = 3; field <= 22 && fields >> start; ++field) {}
  }
  return "p" + std::to_string(parent) + (start.empty() ? start : "." + start);
}

/// Makes an id for ranks without a variable that names the run. Only on one node does the parent distinguish runs.
std::string id_from_meeting_point(const RunInfo& run) {
  const bool meets = is_set("MASTER_ADDR") && is_set("MASTER_PORT");
  std::int64_t here = run.world_size;
  const bool known = parse_number(environment_value("LOCAL_WORLD_SIZE"), 1, kMaxWorldSize, here);
  const bool several_nodes = here < run.world_size;
  std::string id;
  if (meets) { id.append(environment_value("MASTER_ADDR")).append("-").append(environment_value("MASTER_PORT")); }
  if (!meets || !several_nodes) { id += (meets ? "-" : "") + describe_parent(); }
  if (run.rank == 0 && (several_nodes || !known)) {
    report_error_once("run_id.made_up", "no variable identifies the run for all of its " +
                                            std::to_string(run.world_size) + " ranks; using " +
                                            path_component(id, kLongestRunId) +
                                            (meets && several_nodes ? ", which later runs that meet there share"
                                                                    : ", which ranks on other nodes do not share") +
                                            "; set TAKT_RUN_ID, or give torchrun an --rdzv-id");
  }
  return id;
}

std::string find_run_id(const SessionOptions& options, const RunInfo& run) {
  if (!options.run_id.empty()) { return options.run_id; }
  if (run.world_size == 1) { return new_run_id(); }
  std::string id = id_from_launcher().text;
  return id.empty() ? id_from_meeting_point(run) : id;
}

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  return ::gethostname(name, HOST_NAME_MAX) == 0 ? name : "unknown";
}

}  // namespace

RunInfo identify_run(const std::string& name, const SessionOptions& options) {
  RunInfo run;
  run.name = name.empty() ? "takt" : name;
  run.takt_version = version_text();
  run.host = host_name();
  run.pid_namespace = pid_namespace();
  run.pid = ::getpid();
  run.process_mark = process_mark();
  find_rank(options, run);
  const std::string start = path_component(run.name, kLongestRunName) + "-";
  run.id = start + path_component(find_run_id(options, run), kLongestRunId - start.size());
  return run;
}

std::string new_run_id() {
  const LauncherId id = id_from_launcher();
  if (!id.text.empty() && !id.is_of_job) { return id.text; }
  return (id.text.empty() ? utc_now() : id.text) + "-" + random_digits();
}

RankInJob latest_rank_in_job;

RankInJob rank_in_job(const SessionOptions& options) noexcept {
  const RankInJob& latest = latest_rank_in_job;
  return options.rank == latest.rank && options.world_size == latest.world_size ? latest : RankInJob();
}

int identify_rank(const SessionOptions& options) {
  RunInfo run;
  find_rank(options, run);
  return run.rank;
}

}  // namespace detail
TAKT_END_NAMESPACE
