// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_config.hpp"

#include <takt/error.hpp>

#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/mentions.hpp"
#include "support/scoped_env.hpp"
#include "support/scratch.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

using takt::WandbExporter;
using takt::WandbMode;
using takt::WandbOptions;
using takt::detail::wandb_identity;
using takt::detail::wandb_param;
using takt::detail::WandbConfig;
using takt::detail::WandbIdentity;
using takt_test::contains;
using takt_test::mentions;

namespace {

std::string problem_of(const WandbOptions& options) {
  try {
    takt::detail::check_wandb_options(options);
    return "";
  } catch (const takt::Error& error) { return error.what(); }
}

takt::RunInfo run_of(int rank, int world_size) {
  takt::RunInfo run;
  run.name = "digits";
  run.id = "digits-7";
  run.rank = rank;
  run.world_size = world_size;
  return run;
}

}  // namespace

TEST_CASE("W&B options: reads every variable") {
  const support::ScopedEnvironment environment({{"WANDB_MODE", "offline"},
                                                {"WANDB_DIR", "/somewhere"},
                                                {"WANDB_ENTITY", "team"},
                                                {"WANDB_PROJECT", "project"},
                                                {"WANDB_RUN_ID", "id-1"},
                                                {"WANDB_NAME", "name"},
                                                {"WANDB_NOTES", "notes, long"},
                                                {"WANDB_TAGS", "one, two,,"},
                                                {"WANDB_RUN_GROUP", "group"},
                                                {"WANDB_JOB_TYPE", "job"},
                                                {"WANDB_SWEEP_ID", "sweep"},
                                                {"WANDB_SILENT", "true"},
                                                {"TAKT_RANKS", "all"}});
  const WandbOptions options = WandbOptions::from_env();
  CHECK(options.mode == WandbMode::offline);
  CHECK(options.directory == "/somewhere");
  CHECK(options.entity == "team");
  CHECK(options.project == "project");
  CHECK(options.run_id == "id-1");
  CHECK(options.name == "name");
  CHECK(options.notes == "notes, long");
  CHECK(options.tags == std::vector<std::string>{"one", "two"});
  CHECK(options.group == "group");
  CHECK(options.job_type == "job");
  CHECK(options.sweep_id == "sweep");
  CHECK(options.silent);
  CHECK(options.all_ranks);
}

TEST_CASE("W&B options: without variables all are defaults") {
  const support::ScopedEnvironment environment;
  const WandbOptions options = WandbOptions::from_env();
  CHECK(options.mode == WandbMode::online);
  CHECK(options.tags.empty());
  CHECK_FALSE(options.silent);
  CHECK_FALSE(options.all_ranks);
}

TEST_CASE("W&B options: accepts modes and their old names, and reports invalid ones") {
  const std::vector<std::pair<const char*, WandbMode>> modes = {{"online", WandbMode::online},
                                                                {"run", WandbMode::online},
                                                                {"offline", WandbMode::offline},
                                                                {"dryrun", WandbMode::offline},
                                                                {"disabled", WandbMode::disabled}};
  const support::CaughtErrors errors;
  for (const auto& [word, mode] : modes) {
    INFO(word);
    const support::ScopedEnvironment environment({{"WANDB_MODE", word}});
    CHECK(WandbOptions::from_env().mode == mode);
  }
  {
    const support::ScopedEnvironment environment({{"WANDB_DISABLED", "true"}, {"WANDB_MODE", "online"}});
    CHECK(WandbOptions::from_env().mode == WandbMode::disabled);
  }
  CHECK(errors.text().empty());
  const support::ScopedEnvironment environment({{"WANDB_MODE", "shared"}});
  CHECK(WandbOptions::from_env().mode == WandbMode::online);
  CHECK(mentions(errors.text(), {"WANDB_MODE=shared", "online", "offline", "disabled"}));
}

TEST_CASE("W&B options: reads how to treat an existing run of the same id") {
  using takt::WandbResume;
  const support::CaughtErrors errors;
  for (const auto& [word, meaning] : {std::pair{"allow", WandbResume::allow}, std::pair{"auto", WandbResume::allow},
                                      std::pair{"must", WandbResume::must}, std::pair{"never", WandbResume::never}}) {
    const support::ScopedEnvironment environment({{"WANDB_RESUME", word}, {"WANDB_RUN_ID", "x"}, {"NETRC", "/none"}});
    CHECK(WandbOptions::from_env().resume == meaning);
  }
  CHECK(errors.text().empty());
  {
    const support::ScopedEnvironment environment({{"WANDB_RESUME", "auto"}, {"NETRC", "/none"}});
    CHECK(WandbOptions::from_env().resume == WandbResume::unset);
  }
  CHECK(contains(errors.text(), "without WANDB_RUN_ID"));
  WandbOptions options;
  options.resume = WandbResume::must;
  CHECK(contains(problem_of(options), "WANDB_RUN_ID"));
  CHECK_FALSE(takt::detail::wandb_identity({}, options, "made-up").resume);
  options.run_id = "x";
  CHECK(problem_of(options).empty());
  CHECK(takt::detail::wandb_identity({}, options, "made-up").resume);
  options.resume = WandbResume::never;
  CHECK_FALSE(takt::detail::wandb_identity({}, options, "made-up").resume);
}

TEST_CASE("W&B options: names unsupported client settings once and without their value") {
  const support::CaughtErrors errors;
  const support::ScopedEnvironment environment({{"WANDB_MODE", "offline"},
                                                {"WANDB_CACHE_DIR", "/c"},
                                                {"WANDB_PROJECT", "p"},
                                                {"WANDB_IGNORE_GLOBS", "secret"},
                                                {"WANDB_FORK_FROM", ""},
                                                {"WANDB_LABEL", "secret"}});
  WandbOptions::from_env();
  WandbOptions::from_env();
  REQUIRE(errors.lines().size() == 1);
  CHECK(mentions(errors.text(), {"WANDB_IGNORE_GLOBS, WANDB_LABEL"}));
  CHECK_FALSE(contains(errors.text(), "secret"));
  CHECK_FALSE(contains(errors.text(), "WANDB_PROJECT"));
}

TEST_CASE("W&B options: data on program and code follows the client's own switches") {
  const support::ScopedEnvironment environment({{"WANDB_MODE", "offline"},
                                                {"WANDB_X_DISABLE_META", "true"},
                                                {"WANDB_DISABLE_GIT", "1"},
                                                {"WANDB_GIT_REMOTE", "fork"},
                                                {"WANDB_GIT_COMMIT", "abc"},
                                                {"WANDB_GIT_REMOTE_URL", "https://host/a"},
                                                {"WANDB_PROGRAM", "train.sh"}});
  const WandbOptions options = WandbOptions::from_env();
  CHECK_FALSE(options.metadata);
  CHECK_FALSE(options.git);
  CHECK(options.git_remote == "fork");
  CHECK(options.git_commit == "abc");
  CHECK(options.git_remote_url == "https://host/a");
  CHECK(options.program == "train.sh");
}

TEST_CASE("W&B options: never show the key") {
  const std::string key(40, 'k');
  const support::ScopedEnvironment environment({{"WANDB_API_KEY", key}, {"WANDB_PROJECT", "a/b"}});
  const support::CaughtErrors errors;
  CHECK_THROWS_WITH(WandbExporter::from_env(), !takt_test::containing("kkkk"));
  CHECK_FALSE(contains(errors.text(), "kkkk"));
}

TEST_CASE("W&B options: values that its server would refuse are refused with the remedy") {
  CHECK(problem_of({}).empty());
  for (const char* const id : {"a:b", "a/b", "a#", "it's", " a", "a ", "a\nb"}) {
    WandbOptions options;
    options.run_id = id;
    INFO(id);
    CHECK(contains(problem_of(options), "WANDB_RUN_ID"));
  }
  for (const std::string& project : {std::string("a/b"), std::string("50%"), std::string(129, 'x')}) {
    WandbOptions options;
    options.project = project;
    CHECK(contains(problem_of(options), "WANDB_PROJECT"));
  }
  for (const std::string& tag : {std::string(), std::string(65, 'x')}) {
    WandbOptions options;
    options.tags = {"good", tag};
    CHECK(contains(problem_of(options), "WANDB_TAGS"));
  }
  WandbOptions options;
  options.project = "caf\xC3\xA9 au lait";
  for (int number = 0; number < 64; ++number) { options.tags.resize(1), options.tags[0] += "\xC3\xA9"; }
  options.run_id = "my_run-1";
  CHECK(problem_of(options).empty());
  options.entity = "team/project";
  CHECK(contains(problem_of(options), "WANDB_ENTITY"));
}

TEST_CASE("W&B identity: the name is that of the Session unless set, and one rank needs no group") {
  const WandbIdentity identity = wandb_identity(run_of(0, 1), {}, "abcd1234");
  CHECK(identity.id == "abcd1234");
  CHECK(identity.name == "digits");
  CHECK(identity.group.empty());
  CHECK(identity.job_type.empty());
  CHECK(identity.project.empty());
}

TEST_CASE("W&B identity: ranks with separate runs have separate ids and one group") {
  WandbOptions options;
  options.all_ranks = true;
  options.run_id = "mine";
  const WandbIdentity first = wandb_identity(run_of(0, 2), options, "");
  const WandbIdentity second = wandb_identity(run_of(1, 2), options, "");
  CHECK(first.id == "mine-0");
  CHECK(second.id == "mine-1");
  CHECK(first.group == "digits-7");
  CHECK(second.group == first.group);
  CHECK(second.job_type == "rank");
  CHECK(second.name == "digits rank-0001");
  options.group = "set";
  options.job_type = "worker";
  CHECK(wandb_identity(run_of(1, 2), options, "").group == "set");
  CHECK(wandb_identity(run_of(1, 2), options, "").job_type == "worker");
}

TEST_CASE("W&B config: parameters that look like numbers are numbers") {
  const std::map<std::string, std::string> expected = {
      {"0.25", "0.25"},     {"-1e-05", "-1e-05"},   {"7", "7"},          {"true", "true"}, {"007", "\"007\""},
      {"nan", "\"nan\""},   {"1e999", "\"1e999\""}, {"", "\"\""},        {" 1", "\" 1\""}, {"[1]", "\"[1]\""},
      {"null", "\"null\""}, {"1.2.3", "\"1.2.3\""}, {"adam", "\"adam\""}};
  for (const auto& [value, json] : expected) { CHECK(wandb_param("name", value) == json); }
}

TEST_CASE("W&B config: cuts a value that is too long between characters and reports it") {
  const support::CaughtErrors errors;
  std::string value = "x";
  for (int number = 0; number < 500'000; ++number) { value += "\xC3\xA9"; }
  CHECK(wandb_param("long one", value).size() == 999'999 + 2);
  CHECK(mentions(errors.text(), {"\"long one\"", "1 MB"}));
}

TEST_CASE("W&B config: has new or changed values, keeps dots and slashes in names, and excludes reserved ones") {
  takt::Snapshot snapshot;
  snapshot.run = run_of(0, 1);
  snapshot.params = {{"lr", "0.25"}, {"a.b/c", "x"}, {"tags", "mine"}, {"_wandb", "mine"}};
  snapshot.tags = {{"git", "4e593bb"}};
  WandbConfig config;
  std::map<std::string, std::string> found;
  for (const auto& item : config.changed(snapshot)) { found[item.key] = item.json; }
  CHECK(found.at("lr") == "0.25");
  CHECK(found.at("a.b/c") == "\"x\"");
  CHECK(found.at("user/tags") == "\"mine\"");
  CHECK(found.at("user/_wandb") == "\"mine\"");
  CHECK(found.at("tags") == R"({"git":"4e593bb"})");
  CHECK(contains(found.at("takt"), R"("run_id":"digits-7")"));
  CHECK(config.changed(snapshot).empty());
  snapshot.params["lr"] = "0.5";
  const auto changed = config.changed(snapshot);
  REQUIRE(changed.size() == 1);
  CHECK(changed[0].json == "0.5");
}
