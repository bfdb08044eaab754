// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_environment.hpp"
#include "base/secrets.hpp"

#include "support/catch.hpp"
#include "support/scratch.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

using takt::WandbOptions;
using takt::detail::wandb_environment;
using takt::detail::WandbEnvironment;
using takt::detail::without_secrets;
using takt_test::Scratch;
using Words = std::vector<std::string>;

namespace {

void put_system_file(const Scratch& scratch, const std::string& name, const std::string& text) {
  const std::filesystem::path path = scratch.path("system/" + name);
  std::filesystem::create_directories(path.parent_path());
  takt_test::write_text(path.string(), text);
}

WandbEnvironment read_system(const Scratch& scratch, const WandbOptions& options = {}) {
  return wandb_environment(options, scratch.path("system"));
}

}  // namespace

TEST_CASE("W&B environment: program, arguments and machine come from the system's files") {
  const Scratch scratch;
  put_system_file(scratch, "proc/self/cmdline",
                  std::string("./train\0--lr\0"
                              "0.1\0\0--api-key=abc\0",
                              32));
  std::filesystem::create_symlink("/opt/train", scratch.path("system/proc/self/exe"));
  put_system_file(
      scratch, "proc/cpuinfo",
      "processor\t: 0\nphysical id\t: 0\ncore id\t\t: 0\n\nprocessor\t: 1\nphysical id\t: 0\ncore id\t\t: 0\n\n"
      "processor\t: 2\nphysical id\t: 1\ncore id\t\t: 0\n");
  put_system_file(scratch, "proc/meminfo", "MemTotal:       2048 kB\nMemFree: 1 kB\n");
  put_system_file(scratch, "proc/driver/nvidia/gpus/0000:02:00.0/information", "Model: \t\t NVIDIA H100\nIRQ: 1\n");
  put_system_file(scratch, "proc/driver/nvidia/gpus/0000:01:00.0/information", "Model: \t\t NVIDIA A100 80GB\n");
  const WandbEnvironment found = read_system(scratch);
  CHECK(found.known);
  CHECK(found.program == "./train");
  CHECK(found.args == Words{"--lr", "0.1", "", "--api-key=***"});
  CHECK(found.executable == "/opt/train");
  CHECK(found.cpus == 2);
  CHECK(found.cpus_logical == 3);
  CHECK(found.memory_bytes == 2048 * 1024);
  CHECK(found.gpus == Words{"NVIDIA A100 80GB", "NVIDIA H100"});
  CHECK(found.has_nvidia);
}

TEST_CASE("W&B environment: identifies AMD GPUs by their product") {
  const Scratch scratch;
  put_system_file(scratch, "sys/class/drm/card1/device/product_name", "AMD Instinct MI300X\n");
  put_system_file(scratch, "sys/class/drm/card1-DP-1/device/product_name", "no card\n");
  const WandbEnvironment found = read_system(scratch);
  CHECK(found.gpus == Words{"AMD Instinct MI300X"});
  CHECK_FALSE(found.has_nvidia);
}

TEST_CASE("W&B environment: does not read what is switched off") {
  const Scratch scratch;
  put_system_file(scratch, "proc/self/cmdline", std::string("a\0b\0", 4));
  WandbOptions options;
  options.program = "train.sh";
  options.arguments = false;
  options.git = false;
  options.git_commit = "abc";
  CHECK(read_system(scratch, options).args.empty());
  CHECK(read_system(scratch, options).program == "train.sh");
  CHECK(read_system(scratch, options).commit.empty());
  options.git = true;
  options.git_remote_url = "https://user:password@host/a";
  CHECK(read_system(scratch, options).commit == "abc");
  CHECK(read_system(scratch, options).remote == "https://host/a");
  options.metadata = false;
  CHECK_FALSE(read_system(scratch, options).known);
  CHECK(read_system(scratch, options).program.empty());
}

TEST_CASE("W&B environment: shows only the names of arguments that are named like a secret") {
  const std::string key(40, 'k');
  const auto of = [&](const Words& args) { return without_secrets(args, key); };
  CHECK(of({"--lr", "0.1", "data"}) == Words{"--lr", "0.1", "data"});
  CHECK(of({"--api-key", "x", "y"}) == Words{"--api-key", "***", "y"});
  CHECK(of({"--hf_token=x"}) == Words{"--hf_token=***"});
  CHECK(of({"DB.PASSWORD=x=y"}) == Words{"DB.PASSWORD=***"});
  CHECK(of({"--token", "--lr"}) == Words{"--token", "--lr"});
  CHECK(of({"--tokenizer", "gpt2", "--max-tokens=5", "--author", "me"}) ==
        Words{"--tokenizer", "gpt2", "--max-tokens=5", "--author", "me"});
  CHECK(of({"--db=postgres://me:x@host/a", "s3://bucket/a"}) == Words{"--db=postgres://host/a", "s3://bucket/a"});
  CHECK(of({"a" + key + "b", key}) == Words{"a***b", "***"});
  CHECK(of({"--token"}) == Words{"--token"});
}

TEST_CASE("W&B environment: the record has the same data as wandb-metadata.json") {
  WandbEnvironment environment;
  environment.known = true;
  environment.os = "Linux-6";
  environment.program = "train";
  environment.args = {"--lr", "0.1"};
  environment.root = "/work";
  environment.commit = "c0ffee";
  environment.remote = "https://host/a";
  environment.cpus = 4;
  environment.cpus_logical = 8;
  environment.memory_bytes = std::int64_t{1} << 40;
  environment.gpus = {"H100", "H100"};
  environment.has_nvidia = true;
  const std::string message =
      wandb_environment_message(environment, "node", 1'700'000'000'000'000'005, "writer").bytes();
  const takt::detail::WandbMetadata metadata = takt::detail::wandb_metadata(message);
  CHECK(metadata.writer_id == "writer");
  CHECK(metadata.program == "train");
  CHECK(nlohmann::json::parse(metadata.json) ==
        nlohmann::json({{"os", "Linux-6"},
                        {"startedAt", "2023-11-14T22:13:20.000000005Z"},
                        {"args", {"--lr", "0.1"}},
                        {"program", "train"},
                        {"git", {{"remote", "https://host/a"}, {"commit", "c0ffee"}}},
                        {"root", "/work"},
                        {"host", "node"},
                        {"cpu_count", 4},
                        {"cpu_count_logical", 8},
                        {"gpu", "H100"},
                        {"gpu_count", 2},
                        {"memory", {{"total", "1099511627776"}}},
                        {"gpu_nvidia", {{{"name", "H100"}}, {{"name", "H100"}}}},
                        {"writerId", "writer"}}));
  CHECK(takt::detail::wandb_metadata("\xFF\xFF").json == "{}");
}
