// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/run_identity.hpp"

#include <takt/detail/process.hpp>

#include "base/text.hpp"

#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/child.hpp"
#include "support/mentions.hpp"
#include "support/scoped_env.hpp"
#include "support/scratch.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <sys/stat.h>

using namespace takt;
using detail::identify_rank;
using detail::identify_run;
using detail::make_run_directory;
using detail::path_component;
using support::CaughtErrors;
using support::Child;
using support::ScopedEnvironment;
using takt_test::contains;
namespace fs = std::filesystem;

namespace {

using Variables = std::initializer_list<std::pair<const char*, std::string>>;
using takt_test::line_mentions;
using takt_test::mentions;

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (fs::temp_directory_path() / "takt-run-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

RunInfo identify(Variables variables, const SessionOptions& options = SessionOptions()) {
  const ScopedEnvironment environment(variables);
  return identify_run("digits", options);
}

/// Returns "<rank> of <world size>, local <local rank>, from <source>".
std::string describe(const RunInfo& run) {
  return std::to_string(run.rank) + " of " + std::to_string(run.world_size) + ", local " +
         std::to_string(run.local_rank) + ", from " + run.rank_source;
}

std::string rank_of(Variables variables, const SessionOptions& options = SessionOptions()) {
  return describe(identify(variables, options));
}

std::string run_identity_complaints(Variables variables, const SessionOptions& options = SessionOptions()) {
  const CaughtErrors caught;
  identify(variables, options);
  return caught.text();
}

mode_t full_mode_of(const std::string& path) {
  struct stat status = {};
  return ::lstat(path.c_str(), &status) == 0 ? status.st_mode : 0;
}

void check_component(const std::string& text, std::size_t longest) {
  INFO(text);
  CHECK(!text.empty());
  CHECK(text.size() <= longest);
  CHECK(text.find("..") == std::string::npos);
  CHECK(text.front() != '.');
  CHECK(text.front() != '-');
  CHECK(text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
        std::string::npos);
}

}  // namespace

// ---- rank ----

TEST_CASE("without a launcher a run is one process") {
  const CaughtErrors caught;
  const RunInfo run = identify({});
  CHECK(describe(run) == "0 of 1, local 0, from default");
  CHECK(run.name == "digits");
  CHECK(run.attempt == 0);
  CHECK(run.takt_version == takt::detail::version_text());
  CHECK(run.pid == ::getpid());
  CHECK_FALSE(run.host.empty());
  CHECK(caught.text().empty());
}

TEST_CASE("each launcher's variables are recognized") {
  const CaughtErrors caught;
  CHECK(rank_of({{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}}) == "3 of 8, local 1, from RANK, WORLD_SIZE");
  CHECK(rank_of({{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "8"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}}) ==
        "3 of 8, local 1, from OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE");
  CHECK(rank_of({{"PMI_RANK", "3"}, {"PMI_SIZE", "8"}, {"MPI_LOCALRANKID", "1"}}) ==
        "3 of 8, local 1, from PMI_RANK, PMI_SIZE");
  CHECK(rank_of({{"PMI_RANK", "3"}, {"PMI_SIZE", "8"}, {"PMI_LOCAL_RANK", "1"}}) ==
        "3 of 8, local 1, from PMI_RANK, PMI_SIZE");
  CHECK(rank_of({{"MV2_COMM_WORLD_RANK", "3"}, {"MV2_COMM_WORLD_SIZE", "8"}, {"MV2_COMM_WORLD_LOCAL_RANK", "1"}}) ==
        "3 of 8, local 1, from MV2_COMM_WORLD_RANK, MV2_COMM_WORLD_SIZE");
  CHECK(rank_of({{"FLUX_TASK_RANK", "3"}, {"FLUX_JOB_SIZE", "8"}, {"FLUX_TASK_LOCAL_ID", "1"}}) ==
        "3 of 8, local 1, from FLUX_TASK_RANK, FLUX_JOB_SIZE");
  CHECK(rank_of({{"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "8"}, {"SLURM_LOCALID", "1"}}) ==
        "3 of 8, local 1, from SLURM_PROCID, SLURM_NTASKS");
  CHECK(caught.text().empty());
}

TEST_CASE("the launcher nearest to the process wins") {
  const std::vector<std::pair<const char*, const char*>> order = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                                                  {"PMIX_RANK", "SLURM_NTASKS"},
                                                                  {"PMI_RANK", "PMI_SIZE"},
                                                                  {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
                                                                  {"PALS_RANKID", "PMI_SIZE"},
                                                                  {"FLUX_TASK_RANK", "FLUX_JOB_SIZE"},
                                                                  {"SLURM_PROCID", "SLURM_NTASKS"}};
  ScopedEnvironment environment({{"RANK", "1"}, {"WORLD_SIZE", "100"}, {"LOCAL_RANK", "0"}});
  const CaughtErrors caught;
  for (const auto& [rank, size] : order) {
    environment.set(rank, "2");
    environment.set(size, "100");
  }
  SessionOptions options;
  options.rank = 7;
  options.world_size = 9;
  CHECK(describe(identify_run("digits", options)) ==
        "7 of 9, local 0, from TAKT_RANK or SessionOptions::rank, TAKT_WORLD_SIZE or SessionOptions::world_size");
  CHECK(identify_run("digits", SessionOptions()).rank_source == "RANK, WORLD_SIZE");
  environment.unset("RANK");
  for (const auto& [rank, size] : order) {
    const std::string source = identify_run("digits", SessionOptions()).rank_source;
    CHECK(source.substr(0, source.find(',')) == rank);
    environment.unset(rank);
  }
  CHECK(identify_run("digits", SessionOptions()).rank_source == "default");
}

TEST_CASE("a rank can be read without a run, without a warning about the missing run name") {
  const ScopedEnvironment environment({{"PMI_RANK", "3"}, {"PMI_SIZE", "8"}});
  const CaughtErrors caught;
  CHECK(identify_rank(SessionOptions()) == 3);
  CHECK(takt::detail::this_rank() == 3);
  SessionOptions options;
  options.rank = 5;
  CHECK(identify_rank(options) == 5);
  CHECK(caught.text().empty());
}

TEST_CASE("RANK alone does not count as torchrun") {
  CHECK(rank_of({{"RANK", "captain"}}) == "0 of 1, local 0, from default");
  CHECK(run_identity_complaints({{"RANK", "captain"}, {"WORLD_SIZE", "huge"}}).empty());
  CHECK(run_identity_complaints({{"RANK", "3"}}).empty());
}

TEST_CASE("RANK, WORLD_SIZE and MASTER_ADDR suffice for torch.distributed") {
  const Variables variables = {{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"MASTER_ADDR", "node0"}};
  CHECK(rank_of(variables) == "3 of 8, local 0, from RANK, WORLD_SIZE");
}

TEST_CASE("a launcher without its rank variable is skipped, with a warning that names the missing one") {
  const auto reported = [](const Variables& variables, const std::string& found, const std::string& missing) {
    CHECK(rank_of(variables) == "0 of 1, local 0, from default");
    CHECK(mentions(run_identity_complaints(variables), {found, "without " + missing, "TAKT_RANK"}));
  };
  reported({{"RANK", "3"}, {"WORLD_SIZE", "8"}}, "RANK, WORLD_SIZE", "LOCAL_RANK or MASTER_ADDR");
  reported({{"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}}, "WORLD_SIZE, LOCAL_RANK", "RANK");
  reported({{"RANK", "3"}, {"LOCAL_RANK", "1"}}, "RANK, LOCAL_RANK", "WORLD_SIZE");
  reported({{"OMPI_COMM_WORLD_SIZE", "8"}}, "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK");
  reported({{"PMI_LOCAL_RANK", "1"}}, "PMI_LOCAL_RANK", "PMI_RANK");
}

TEST_CASE("rank and world size may have different sources") {
  SessionOptions rank;
  rank.rank = 2;
  CHECK(rank_of({{"SLURM_PROCID", "5"}, {"SLURM_NTASKS", "8"}, {"SLURM_LOCALID", "1"}}, rank) ==
        "2 of 8, local 1, from TAKT_RANK or SessionOptions::rank, SLURM_NTASKS");
  SessionOptions size;
  size.world_size = 16;
  CHECK(rank_of({{"PMIX_RANK", "5"}}, size) ==
        "5 of 16, local 0, from PMIX_RANK, TAKT_WORLD_SIZE or SessionOptions::world_size");
  CHECK(rank_of({{"PMIX_RANK", "5"}, {"SLURM_PROCID", "5"}, {"SLURM_NTASKS", "8"}, {"SLURM_LOCALID", "1"}}) ==
        "5 of 8, local 1, from PMIX_RANK, SLURM_NTASKS");
  // A launcher that counts differently does not know this rank's world size.
  CHECK(rank_of({{"PMIX_RANK", "5"}, {"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}, {"SLURM_LOCALID", "1"}}) ==
        "5 of 6, local 0, from PMIX_RANK");
}

TEST_CASE("a world size without a rank is reported") {
  SessionOptions size;
  size.world_size = 4;
  CHECK(mentions(run_identity_complaints({}, size), {"4", "rank 0", "TAKT_RANK"}));
}

TEST_CASE("invalid launcher values are reported and the next launcher is used") {
  const Variables variables = {{"OMPI_COMM_WORLD_RANK", "-3"}, {"OMPI_COMM_WORLD_SIZE", "8"}, {"SLURM_PROCID", "1"},
                               {"SLURM_NTASKS", "2"},          {"SLURM_JOB_ID", "77"},        {"SLURM_STEP_ID", "0"}};
  CHECK(rank_of(variables) == "1 of 2, local 0, from SLURM_PROCID, SLURM_NTASKS");
  CHECK(mentions(run_identity_complaints(variables), {"OMPI_COMM_WORLD_RANK=-3"}));
  for (const char* const garbage : {"x", "1x", " 1", "99999999999999999999", "2147483647", "0x1", "1.0"}) {
    CHECK(rank_of({{"SLURM_PROCID", garbage}, {"SLURM_NTASKS", "8"}}) == "0 of 1, local 0, from default");
  }
}

TEST_CASE("an invalid world size is replaced by one derived from the rank") {
  const Variables variables = {{"PMI_RANK", "2"}, {"PMI_SIZE", "many"}, {"PMIX_NAMESPACE", "a"}};
  CHECK(rank_of(variables) == "2 of 3, local 0, from PMI_RANK");
  const std::string reported = run_identity_complaints(variables);
  CHECK(line_mentions(reported, {"PMI_SIZE=many"}));
  CHECK(line_mentions(reported, {"PMI_RANK=2", "3 ranks", "TAKT_WORLD_SIZE"}));
}

TEST_CASE("a rank beyond the world size is kept and the world size increased") {
  const Variables variables = {{"PMI_RANK", "8"}, {"PMI_SIZE", "8"}, {"PMIX_NAMESPACE", "a"}};
  CHECK(rank_of(variables) == "8 of 9, local 0, from PMI_RANK, PMI_SIZE");
  CHECK(mentions(run_identity_complaints(variables), {"PMI_RANK=8", "PMI_SIZE=8", "9 ranks", "TAKT_WORLD_SIZE"}));
  SessionOptions options;
  options.rank = 2147483646;
  options.world_size = 1;
  CHECK(identify({}, options).world_size == 2147483647);
}

TEST_CASE("invalid options are reported and ignored") {
  SessionOptions options;
  options.rank = GENERATE(-7, -1);
  options.world_size = 0;
  options.local_rank = -2;
  CHECK(rank_of({}, options) == "0 of 1, local 0, from default");
  const std::string reported = run_identity_complaints({}, options);
  CHECK(line_mentions(reported, {"TAKT_RANK", "SessionOptions::rank", std::to_string(*options.rank)}));
  CHECK(line_mentions(reported, {"TAKT_WORLD_SIZE", "SessionOptions::world_size", "0"}));
  CHECK(line_mentions(reported, {"SessionOptions::local_rank", "-2"}));
}

TEST_CASE("the shell of a Slurm batch script is one process") {
  CHECK(rank_of({{"SLURM_JOB_ID", "77"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}) ==
        "0 of 1, local 0, from default");
  CHECK(rank_of({{"SLURM_JOB_ID", "77"}, {"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}) ==
        "0 of 8, local 0, from SLURM_PROCID, SLURM_NTASKS");
  CHECK(
      rank_of({{"SLURM_STEP_ID", "1"}, {"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "8"}, {"SLURM_STEP_NUM_TASKS", "4"}}) ==
      "1 of 4, local 0, from SLURM_PROCID, SLURM_STEP_NUM_TASKS");
}

TEST_CASE("one launcher per node under srun is no conflict") {
  CHECK(run_identity_complaints({{"RANK", "11"},
                                 {"WORLD_SIZE", "16"},
                                 {"LOCAL_RANK", "3"},
                                 {"SLURM_JOB_ID", "77"},
                                 {"SLURM_STEP_ID", "0"},
                                 {"SLURM_PROCID", "1"},
                                 {"SLURM_NTASKS", "2"}})
            .empty());
  // torchrun numbers nodes by arrival, so with one process per node its ranks may differ from Slurm's.
  CHECK(run_identity_complaints({{"RANK", "1"},
                                 {"WORLD_SIZE", "2"},
                                 {"LOCAL_RANK", "0"},
                                 {"TORCHELASTIC_RUN_ID", "none"},
                                 {"SLURM_JOB_ID", "77"},
                                 {"SLURM_STEP_ID", "0"},
                                 {"SLURM_PROCID", "0"},
                                 {"SLURM_NTASKS", "2"}})
            .empty());
}

TEST_CASE("contradictory launchers are reported once") {
  const Variables stale = {{"RANK", "0"},
                           {"WORLD_SIZE", "1"},
                           {"LOCAL_RANK", "0"},
                           {"OMPI_COMM_WORLD_RANK", "5"},
                           {"OMPI_COMM_WORLD_SIZE", "8"}};
  CHECK(
      mentions(run_identity_complaints(stale), {"RANK=0", "WORLD_SIZE=1", "torchrun", "OMPI_COMM_WORLD_RANK=5",
                                                "OMPI_COMM_WORLD_SIZE=8", "Open MPI", "TAKT_RANK", "TAKT_WORLD_SIZE"}));
  const CaughtErrors caught;
  identify(stale);
  identify(stale);
  CHECK(caught.lines().size() == 1);
  CHECK(contains(run_identity_complaints({{"RANK", "0"},
                                          {"WORLD_SIZE", "8"},
                                          {"LOCAL_RANK", "0"},
                                          {"PMI_RANK", "5"},
                                          {"PMI_SIZE", "8"},
                                          {"PMIX_NAMESPACE", "a"}}),
                 "contradict each other"));
  CHECK(run_identity_complaints({{"RANK", "0"},
                                 {"WORLD_SIZE", "2"},
                                 {"LOCAL_RANK", "0"},
                                 {"PMI_RANK", "9"},
                                 {"PMI_SIZE", "8"},
                                 {"PMIX_NAMESPACE", "a"}})
            .empty());  // no rank at all
}

TEST_CASE("setting rank and world size disables conflict warnings") {
  SessionOptions options;
  options.rank = 0;
  options.world_size = 1;
  CHECK(run_identity_complaints(
            {{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"LOCAL_RANK", "0"}, {"PMI_RANK", "5"}, {"PMI_SIZE", "8"}}, options)
            .empty());
  options.rank.reset();
  options.world_size = 2;
  CHECK(run_identity_complaints({{"RANK", "0"},
                                 {"WORLD_SIZE", "2"},
                                 {"LOCAL_RANK", "0"},
                                 {"PMI_RANK", "5"},
                                 {"PMI_SIZE", "8"},
                                 {"PMIX_NAMESPACE", "a"}},
                                options)
            .empty());
}

TEST_CASE("the attempt is the restart count of the launcher") {
  CHECK(identify({{"TORCHELASTIC_RESTART_COUNT", "2"}, {"SLURM_RESTART_COUNT", "5"}}).attempt == 2);
  CHECK(identify({{"SLURM_RESTART_COUNT", "5"}}).attempt == 5);
  CHECK(identify({{"TORCHELASTIC_RESTART_COUNT", "x"}, {"SLURM_RESTART_COUNT", "5"}}).attempt == 5);
}

// ---- run id ----

TEST_CASE("the run id is derived from the first name found for the job, in this order") {
  ScopedEnvironment environment({{"TORCHELASTIC_RUN_ID", "job-7"},
                                 {"SLURM_JOB_ID", "77"},
                                 {"SLURM_STEP_ID", "3"},
                                 {"PMIX_NAMESPACE", "ns@1"},
                                 {"FLUX_JOB_ID", "123"},
                                 {"PALS_APID", "apid"},
                                 {"PBS_JOBID", "5[2].server"},
                                 {"LSB_JOBID", "9"},
                                 {"LSB_JOBINDEX", "4"},
                                 {"OMPI_MCA_ess_base_jobid", "11"}});
  SessionOptions options;
  options.run_id = "mine";
  CHECK(identify_run("digits", options).id == "digits-mine");
  const std::vector<std::pair<const char*, const char*>> order = {
      {"TORCHELASTIC_RUN_ID", "digits-job-7"}, {"SLURM_JOB_ID", "digits-slurm-77.3"},
      {"PMIX_NAMESPACE", "digits-pmix-ns_1"},  {"FLUX_JOB_ID", "digits-flux-123"},
      {"PALS_APID", "digits-pals-apid"},       {"PBS_JOBID", "digits-pbs-5_2_.server"},
      {"LSB_JOBID", "digits-lsf-9.4"},         {"OMPI_MCA_ess_base_jobid", "digits-ompi-11"}};
  SessionOptions of_two;
  of_two.rank = 1;
  of_two.world_size = 2;
  for (const auto& [variable, id] : order) {
    CHECK(identify_run("digits", of_two).id == id);
    environment.unset(variable);
  }
}

TEST_CASE("torchrun's id none is ignored") {
  CHECK(identify({{"TORCHELASTIC_RUN_ID", "none"}, {"SLURM_JOB_ID", "77"}, {"SLURM_STEP_ID", "3"}}).id ==
        "digits-slurm-77.3");
}

TEST_CASE("a single process ignores a batch job's number, because its shell may start several") {
  for (const auto& [variable, begin] : std::vector<std::pair<const char*, std::string>>{
           {"SLURM_JOB_ID", "digits-slurm-77-"}, {"PBS_JOBID", "digits-pbs-77-"}, {"LSB_JOBID", "digits-lsf-77-"}}) {
    const std::string id = identify({{variable, "77"}}).id;
    CHECK(id.substr(0, begin.size()) == begin);
    CHECK(id.size() == begin.size() + 16);
    CHECK(identify({{variable, "77"}}).id != id);
  }
}

TEST_CASE("under mpirun the Slurm step is ignored, because ranks may run in different steps") {
  CHECK(identify({{"SLURM_JOB_ID", "77"},
                  {"SLURM_STEP_ID", "0"},
                  {"OMPI_COMM_WORLD_RANK", "1"},
                  {"OMPI_COMM_WORLD_SIZE", "2"}})
            .id == "digits-slurm-77");
  CHECK(identify({{"SLURM_JOB_ID", "77"}, {"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}}).id ==
        "digits-slurm-77");
}

TEST_CASE("one process without a job is named by time and 64 random bits") {
  const std::string id = identify({{"MASTER_ADDR", "localhost"}, {"MASTER_PORT", "29500"}}).id;
  const std::string digits = "Z-0123456789abcdef";
  REQUIRE(id.size() == std::string("digits-20260101T000000").size() + digits.size());
  CHECK(id.substr(0, 9) == "digits-20");
  CHECK(id[15] == 'T');
  CHECK(id.substr(id.size() - digits.size(), 2) == "Z-");
  CHECK(id.substr(id.size() - 16).find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(identify({}).id != identify({}).id);
}

TEST_CASE("ranks on one node share their parent's id, and runs of two parents have different ids") {
  const Variables variables = {{"RANK", "0"},
                               {"WORLD_SIZE", "2"},
                               {"LOCAL_RANK", "0"},
                               {"LOCAL_WORLD_SIZE", "2"},
                               {"MASTER_ADDR", "node/0"},
                               {"MASTER_PORT", "29500"}};
  const CaughtErrors caught;
  const std::string here = identify(variables).id;
  CHECK(here.rfind("digits-node_0-29500-p" + std::to_string(::getppid()) + ".", 0) == 0);
  CHECK(here == identify(variables).id);
  Child other([&] { return identify(variables).id; });
  CHECK(other.result() != here);
  CHECK(caught.text().empty());
}

TEST_CASE("ranks on several nodes derive the id from their rendezvous, with a warning on rank 0") {
  SessionOptions options;
  const Variables rank0 = {{"RANK", "0"},
                           {"WORLD_SIZE", "4"},
                           {"LOCAL_RANK", "0"},
                           {"LOCAL_WORLD_SIZE", "2"},
                           {"MASTER_ADDR", "node0"},
                           {"MASTER_PORT", "29500"}};
  const Variables rank3 = {{"RANK", "3"},
                           {"WORLD_SIZE", "4"},
                           {"LOCAL_RANK", "1"},
                           {"LOCAL_WORLD_SIZE", "2"},
                           {"MASTER_ADDR", "node0"},
                           {"MASTER_PORT", "29500"}};
  CHECK(identify(rank0).id == "digits-node0-29500");
  CHECK(identify(rank3).id == "digits-node0-29500");
  CHECK(mentions(run_identity_complaints(rank0), {"node0-29500", "TAKT_RUN_ID"}));
  CHECK(run_identity_complaints(rank3).empty());
}

TEST_CASE("ranks of a launcher without a job name share their parent's id") {
  const Variables variables = {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}};
  CHECK(identify(variables).id.rfind("digits-p" + std::to_string(::getppid()), 0) == 0);
  CHECK(mentions(run_identity_complaints(variables), {"TAKT_RUN_ID"}));
}

// ---- names ----

TEST_CASE("a path component is made safe, and a safe one is unchanged") {
  CHECK(path_component("digits", 48) == "digits");
  CHECK(path_component("ResNet-50_v1.5", 48) == "ResNet-50_v1.5");
  CHECK(path_component("a__b", 48) == "a__b");
  CHECK(path_component("", 48) == "takt");
  CHECK(path_component("a/b", 48) == "a_b");
  CHECK(path_component("../../etc", 48) == "_.etc");
  CHECK(path_component("..", 48) == "_.");
  CHECK(path_component("-rf", 48) == "_rf");
  CHECK(path_component("line\nbreak\r\n", 48) == "line_break_");
  CHECK(path_component(std::string("a\0b", 3), 48) == "a_b");
  CHECK(path_component("gr\xC3\xB6\xC3\x9F"
                       "e",
                       48) == "gr_e");
}

TEST_CASE("long names with the same start are cut but stay distinct") {
  const std::string a = path_component(std::string(10'000, 'x') + "a", 120);
  const std::string b = path_component(std::string(10'000, 'x') + "b", 120);
  CHECK(a.size() == 120);
  CHECK(b.size() == 120);
  CHECK(a != b);
  CHECK(path_component(a, 120) == a);
  CHECK(path_component(std::string(120, 'x'), 120) == std::string(120, 'x'));
  CHECK(path_component(std::string(121, 'x'), 120).size() == 120);
  CHECK(path_component(std::string(10'000, '/'), 120).size() <= 120);
  CHECK(path_component(std::string(10'000, '/') + "a", 120) != path_component(std::string(10'000, '/') + "b", 120));
}

TEST_CASE("hostile names and run ids give safe run ids") {
  const ScopedEnvironment environment;
  const std::vector<std::string> names = {
      "/", "..", "../../../tmp/x", "a\nb", std::string(10'000, 'n'), std::string(10'000, '.'),
      "",  "-",  ".hidden",        "a/b",  std::string("\0", 1),     "%s%n$(reboot)"};
  for (const std::string& name : names) {
    for (const std::string& id : names) {
      SessionOptions options;
      options.run_id = id;
      const RunInfo run = identify_run(name, options);
      check_component(run.id, 120);
      CHECK(run.name == (name.empty() ? "takt" : name));
    }
  }
}

// ---- directories ----

TEST_CASE("eight ranks of torchrun share a run id and have separate directories") {
  const TemporaryDirectory directory;
  ScopedEnvironment environment({{"WORLD_SIZE", "8"},
                                 {"LOCAL_WORLD_SIZE", "8"},
                                 {"MASTER_ADDR", "127.0.0.1"},
                                 {"MASTER_PORT", "29500"},
                                 {"TORCHELASTIC_RUN_ID", "none"}});
  std::vector<Child> ranks;
  for (int rank = 0; rank < 8; ++rank) {
    environment.set("RANK", std::to_string(rank));
    environment.set("LOCAL_RANK", std::to_string(rank));
    ranks.emplace_back([&directory] {
      SessionOptions options = SessionOptions::from_env();
      options.directory = directory.path() + "/takt-runs";
      const RunInfo run = identify_run("digits", options);
      std::string error;
      return make_run_directory(options, run, error) + error;
    });
  }
  std::set<std::string> directories;
  std::set<fs::path> runs;
  for (int rank = 0; rank < 8; ++rank) {
    const std::string path = ranks[static_cast<std::size_t>(rank)].result();
    CHECK(fs::path(path).filename().string().rfind("rank-" + std::to_string(rank) + "-0-", 0) == 0);
    CHECK(fs::is_directory(path));
    directories.insert(path);
    runs.insert(fs::path(path).parent_path());
  }
  CHECK(directories.size() == 8);
  CHECK(runs.size() == 1);
}

TEST_CASE("two processes that claim the same rank get separate directories") {
  const TemporaryDirectory directory;
  SessionOptions options;
  options.directory = directory.path();
  RunInfo run;
  run.id = "digits-1";
  run.rank = 3;
  run.attempt = 1;
  run.pid = 42;  // as on two nodes that share the file system
  std::vector<Child> processes;
  for (int process = 0; process < 4; ++process) {
    processes.emplace_back([&] {
      std::string error;
      return make_run_directory(options, run, error) + error;
    });
  }
  std::set<std::string> directories;
  for (Child& process : processes) { directories.insert(process.result()); }
  const std::string first = directory.path() + "/digits-1/rank-3-1-42";
  CHECK(directories == std::set<std::string>{first, first + "-1", first + "-2", first + "-3"});
}

TEST_CASE("a run directory is accessible only to its owner under any umask") {
  const TemporaryDirectory directory;
  SessionOptions options;
  options.directory = directory.path() + "/new/takt-runs";
  for (const mode_t mask : {mode_t{0}, mode_t{0777}}) {
    std::string error;
    const RunInfo run = identify_run("digits", options);
    const mode_t before = ::umask(mask);
    const std::string path = make_run_directory(options, run, error);
    ::umask(before);
    INFO(error);
    CHECK((full_mode_of(path) & 0777U) == 0700);
    CHECK((full_mode_of(fs::path(path).parent_path().string()) & 0777U) == 0700);
  }
}

TEST_CASE("a symbolic link planted as run directory is refused") {
  const TemporaryDirectory directory;
  const std::string target = directory.path() + "/elsewhere";
  fs::create_directory(target);
  fs::create_directory(directory.path() + "/runs");
  fs::create_directory_symlink(target, directory.path() + "/runs/digits-1");
  SessionOptions options;
  options.directory = directory.path() + "/runs";
  RunInfo run;
  run.id = "digits-1";
  std::string error;
  CHECK(make_run_directory(options, run, error).empty());
  CHECK(mentions(error, {directory.path() + "/runs/digits-1", "symbolic link", "TAKT_DIR"}));
  CHECK(fs::is_empty(target));
}

TEST_CASE("a symbolic link planted as the directory of a rank is skipped") {
  const TemporaryDirectory directory;
  const std::string target = directory.path() + "/elsewhere";
  fs::create_directory(target);
  fs::create_directory(directory.path() + "/digits-1");
  fs::create_directory_symlink(target, directory.path() + "/digits-1/rank-0-0-0");
  fs::create_symlink(directory.path() + "/nowhere", directory.path() + "/digits-1/rank-0-0-0-1");
  SessionOptions options;
  options.directory = directory.path();
  RunInfo run;
  run.id = "digits-1";
  std::string error;
  CHECK(make_run_directory(options, run, error) == directory.path() + "/digits-1/rank-0-0-0-2");
  CHECK(fs::is_empty(target));
}

TEST_CASE("a run id with path separators cannot leave the directory for runs") {
  const TemporaryDirectory directory;
  SessionOptions options;
  options.directory = directory.path() + "/runs";
  for (const std::string& id : {std::string("../../escape"), std::string("/tmp"), std::string(".."), std::string()}) {
    RunInfo run;
    run.id = id;
    std::string error;
    const std::string path = make_run_directory(options, run, error);
    CHECK(fs::canonical(path).parent_path().parent_path() == fs::canonical(options.directory));
  }
}

TEST_CASE("the path of a run directory stays valid when the program changes its working directory") {
  const TemporaryDirectory directory;
  const fs::path before = fs::current_path();
  fs::current_path(directory.path());
  std::string error;
  const std::string path = make_run_directory(SessionOptions(), identify_run("digits", SessionOptions()), error);
  fs::current_path(before);
  CHECK(path.rfind(fs::canonical(directory.path()).string() + "/takt-runs/digits-", 0) == 0);
  CHECK(fs::is_directory(path));
}

TEST_CASE("a failure to create a directory is explained") {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() + "/file") << "in the way";
  RunInfo run;
  run.id = "digits-1";
  for (const std::string& name :
       {directory.path() + "/file", std::string("/proc/takt-runs"), std::string(), std::string("a\0b", 3)}) {
    SessionOptions options;
    options.directory = name;
    std::string error;
    CHECK(make_run_directory(options, run, error).empty());
    CHECK(mentions(error, {"TAKT_DIR"}));
  }
}

TEST_CASE("creation stops after too many directories of the same name") {
  const TemporaryDirectory directory;
  SessionOptions options;
  options.directory = directory.path();
  RunInfo run;
  run.id = "digits-1";
  std::string error;
  for (int count = 0; count < 1000; ++count) { REQUIRE(!make_run_directory(options, run, error).empty()); }
  CHECK(make_run_directory(options, run, error).empty());
  CHECK(contains(error, "File exists"));
}
