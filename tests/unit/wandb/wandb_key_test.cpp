// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_config.hpp"

#include <takt/error.hpp>
#include <takt/exporters/wandb.hpp>

#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/scoped_env.hpp"
#include "support/scratch.hpp"

#include <filesystem>
#include <string>

#include <sys/stat.h>

using takt::WandbOptions;
using takt::detail::netrc_password;
using takt::detail::wandb_key_problem;
using takt::detail::wandb_netrc_key;
using namespace takt_test;

namespace {

const std::string kKey = "0123456789abcdef0123456789abcdef01234567";
const std::string kNetrc = "machine api.wandb.ai\n  login user\n  password " + kKey + "\n";

}  // namespace

TEST_CASE("W&B key: has 40 characters or more, after the prefix of a self-hosted server") {
  CHECK(wandb_key_problem(kKey).empty());
  CHECK(wandb_key_problem("local-" + kKey).empty());
  CHECK(wandb_key_problem("head.payload.sign-ature").empty());
  CHECK(contains(wandb_key_problem(kKey.substr(1)), "39 characters"));
  CHECK(contains(wandb_key_problem("local-" + kKey.substr(1)), "39 characters"));
  CHECK(contains(wandb_key_problem(kKey + " "), "letters"));
  CHECK(contains(wandb_key_problem("local-"), "letters"));
  CHECK_FALSE(wandb_key_problem("a.b.").empty());
  CHECK_FALSE(contains(wandb_key_problem("short-secret"), "secret"));
}

TEST_CASE("W&B key: an invalid one is an error that does not show it") {
  const support::ScopedEnvironment environment({{"WANDB_API_KEY", "too-short"}, {"WANDB_DIR", "/not/used"}});
  CHECK_THROWS_WITH(takt::WandbExporter::from_env(), takt_test::containing("WANDB_API_KEY"));
  CHECK_THROWS_WITH(takt::WandbExporter::from_env(), !takt_test::containing("too-short"));
  support::ScopedEnvironment offline({{"WANDB_API_KEY", "too-short"}, {"WANDB_MODE", "offline"}});
  CHECK_NOTHROW(takt::WandbExporter::from_env());
}

TEST_CASE("W&B key: reads a netrc as its own readers do") {
  CHECK(netrc_password(kNetrc, "api.wandb.ai") == kKey);
  CHECK(netrc_password(kNetrc, "API.wandb.ai") == kKey);
  CHECK(netrc_password(kNetrc, "wandb.ai").empty());
  CHECK(netrc_password("machine a password 1 machine b login x password 2", "b") == "2");
  CHECK(netrc_password("machine a login password password 1", "a") == "1");
  CHECK(netrc_password("# machine a password 0\nmachine a password \"1 \\\"2\"", "a") == "1 \"2");
  CHECK(netrc_password("machine b:8080 password 1", "b:8080") == "1");
  CHECK(netrc_password("macdef m\nmachine a password 1\n\nmachine a password 2", "a") == "2");
  CHECK(netrc_password("default password 1", "a").empty());
  CHECK(netrc_password("machine a default password 1", "a").empty());
  CHECK(netrc_password("machine a password", "a").empty());
  CHECK(netrc_password("", "a").empty());
}

TEST_CASE("W&B key: comes from NETRC, ~/.netrc or ~/_netrc, only for the server's host") {
  const Scratch scratch;
  const support::ScopedEnvironment environment({{"HOME", scratch.path("")}, {"NETRC", ""}});
  const support::CaughtErrors errors;
  CHECK(wandb_netrc_key("").empty());
  write_text(scratch.path("_netrc"), kNetrc);
  ::chmod(scratch.path("_netrc").c_str(), 0600);
  CHECK(wandb_netrc_key("") == kKey);
  CHECK(wandb_netrc_key("https://api.wandb.ai/") == kKey);
  CHECK(wandb_netrc_key("https://elsewhere.org").empty());
  CHECK(wandb_netrc_key("https://user@elsewhere.org:8080/api.wandb.ai").empty());
  write_text(scratch.path("dotfiles"), "machine elsewhere.org:8080 password x");
  ::chmod(scratch.path("dotfiles").c_str(), 0600);
  std::filesystem::create_symlink(scratch.path("dotfiles"), scratch.path(".netrc"));
  CHECK(wandb_netrc_key("").empty());
  CHECK(wandb_netrc_key("https://elsewhere.org:8080") == "x");
  CHECK(errors.lines().empty());
}

TEST_CASE("W&B key: a netrc readable by others is used, with a warning that names the remedy without the key") {
  const Scratch scratch;
  write_text(scratch.path("mine"), kNetrc);
  ::chmod(scratch.path("mine").c_str(), 0640);
  const support::ScopedEnvironment environment({{"NETRC", scratch.path("mine")}});
  const support::CaughtErrors errors;
  CHECK(wandb_netrc_key("") == kKey);
  CHECK(contains(errors.text(), "chmod 600"));
  CHECK_FALSE(contains(errors.text(), kKey));
}

TEST_CASE("W&B key: a variable takes precedence over netrc, and offline mode needs no key") {
  const Scratch scratch;
  write_text(scratch.path("mine"), kNetrc);
  ::chmod(scratch.path("mine").c_str(), 0600);
  support::ScopedEnvironment environment({{"NETRC", scratch.path("mine")}});
  CHECK(WandbOptions::from_env().api_key == kKey);
  environment.set("WANDB_MODE", "offline");
  CHECK(WandbOptions::from_env().api_key.empty());
  environment.unset("WANDB_MODE");
  environment.set("WANDB_API_KEY", "other");
  CHECK(WandbOptions::from_env().api_key == "other");
}

TEST_CASE("W&B options: reads those about the server") {
  support::ScopedEnvironment environment({{"WANDB_BASE_URL", " https://wandb.example.org/ "},
                                          {"WANDB_USERNAME", "ada"},
                                          {"WANDB_USER_EMAIL", "ada@example.org"},
                                          {"WANDB_INSECURE_DISABLE_SSL", "true"},
                                          {"SSL_CERT_FILE", "/etc/own.pem"},
                                          {"WANDB_HTTP_TIMEOUT", "7.5"},
                                          {"WANDB_QUIET", "1"},
                                          {"NETRC", "/not/there"}});
  const support::CaughtErrors errors;
  WandbOptions options = WandbOptions::from_env();
  CHECK(options.base_url == "https://wandb.example.org/");
  CHECK(options.username == "ada");
  CHECK(options.user_email == "ada@example.org");
  CHECK(options.insecure_tls);
  CHECK(options.server_cert_path == "/etc/own.pem");
  CHECK(options.request_timeout.count() >= 7500);
  CHECK(options.request_timeout.count() <= 7501);
  CHECK(options.silent);
  CHECK(errors.lines().empty());
  environment.set("WANDB_HTTP_TIMEOUT", "soon");
  environment.set("WANDB_RESUME", "perhaps");
  environment.set("WANDB_IDENTITY_TOKEN_FILE", "/some/file");
  options = WandbOptions::from_env();
  CHECK(options.request_timeout.count() == 30'000);
  CHECK(errors.lines().size() == 3);
}
