// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/git_state.hpp"
#include "base/secrets.hpp"

#include "support/catch.hpp"
#include "support/scratch.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <sys/stat.h>

using takt::detail::git_state;
using takt::detail::without_credentials;
using takt_test::Scratch;

namespace {

const std::string kFirst(40, 'a');
const std::string kSecond = "0123456789abcdef0123456789abcdef01234567";

void put_file(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

/// Creates a repository in "repo" of `scratch`, with a branch "work/one" that has its own ref file.
void put_repository(const Scratch& scratch) {
  put_file(scratch.path("repo/.git/HEAD"), "ref: refs/heads/work/one\n");
  put_file(scratch.path("repo/.git/refs/heads/work/one"), kSecond + "\n");
  put_file(scratch.path("repo/.git/packed-refs"), "# pack-refs with: peeled fully-peeled sorted \n" + kFirst +
                                                      " refs/heads/work/one\n" + kFirst + " refs/tags/v1\n^" + kSecond +
                                                      "\n");
}

std::string remote_in(const Scratch& scratch, const std::string& config, const std::string& remote = "origin") {
  put_file(scratch.path("repo/.git/config"), config);
  return git_state(scratch.path("repo"), remote).remote;
}

}  // namespace

TEST_CASE("git: a branch's own file takes precedence over packed refs") {
  const Scratch scratch;
  put_repository(scratch);
  std::filesystem::create_directories(scratch.path("repo/a/b"));
  const takt::detail::GitState state = git_state(scratch.path("repo/a/b/"));
  CHECK(state.root == scratch.path("repo"));
  CHECK(state.commit == kSecond);
  CHECK(state.remote.empty());

  std::filesystem::remove(scratch.path("repo/.git/refs/heads/work/one"));
  CHECK(git_state(scratch.path("repo")).commit == kFirst);
}

TEST_CASE("git: HEAD may hold the commit itself") {
  const Scratch scratch;
  put_repository(scratch);
  const std::string commit = std::string(GENERATE(40U, 64U), 'b');
  put_file(scratch.path("repo/.git/HEAD"), commit + "\n");
  CHECK(git_state(scratch.path("repo")).commit == commit);
}

TEST_CASE("git: a further work tree has its own HEAD and shares branches and remotes") {
  const Scratch scratch;
  put_repository(scratch);
  put_file(scratch.path("repo/.git/config"), "[remote \"origin\"]\n\turl = git@host:a/b.git\n");
  const std::string own = "repo/.git/worktrees/tree";
  put_file(scratch.path("tree/.git"), "gitdir: " + scratch.path(own) + "\n");
  put_file(scratch.path(own + "/commondir"), "../..\n");
  put_file(scratch.path(own + "/HEAD"), "ref: refs/heads/packed\n");
  put_file(scratch.path("repo/.git/packed-refs"), kFirst + " refs/heads/packed\n");
  const takt::detail::GitState state = git_state(scratch.path("tree"));
  CHECK(state.root == scratch.path("tree"));
  CHECK(state.commit == kFirst);
  CHECK(state.remote == "git@host:a/b.git");
}

TEST_CASE("git: finds a submodule by its relative path") {
  const Scratch scratch;
  put_file(scratch.path("repo/sub/.git"), "gitdir: ../.git/modules/sub\n");
  put_file(scratch.path("repo/.git/modules/sub/HEAD"), kFirst + "\n");
  CHECK(git_state(scratch.path("repo/sub")).commit == kFirst);
}

TEST_CASE("git: a symbolic reference to another reference gives no commit") {
  const Scratch scratch;
  put_repository(scratch);
  put_file(scratch.path("repo/.git/HEAD"), "ref: refs/heads/alias\n");
  put_file(scratch.path("repo/.git/refs/heads/alias"), "ref: refs/heads/work/one\n");
  CHECK(git_state(scratch.path("repo")).commit.empty());
}

TEST_CASE("git: is empty for directories that are not repositories or cannot be read from these files") {
  const Scratch scratch;
  CHECK(git_state(scratch.path("nowhere")).root.empty());
  CHECK(git_state(scratch.path("")).root.empty());
  put_file(scratch.path("repo/.git"), "something else\n");
  CHECK(git_state(scratch.path("repo")).root.empty());
  std::filesystem::remove(scratch.path("repo/.git"));

  put_repository(scratch);
  const auto with_head = [&](const std::string& head) {
    put_file(scratch.path("repo/.git/HEAD"), head);
    return git_state(scratch.path("repo")).commit;
  };
  CHECK(with_head("ref: refs/heads/.invalid\n").empty());  // a reftable
  CHECK(with_head("ref: refs/../../secret\n").empty());
  CHECK(with_head("ref: /etc/passwd\n").empty());
  CHECK(with_head(kFirst + "x\n").empty());
  CHECK(with_head(std::string(3U << 20U, 'a')).empty());
  CHECK(with_head("").empty());
}

TEST_CASE("git: does not wait for a pipe in place of a file") {
  const Scratch scratch;
  put_repository(scratch);
  REQUIRE(mkfifo(scratch.path("repo/.git/config").c_str(), 0600) == 0);
  CHECK(git_state(scratch.path("repo")).commit == kSecond);
  CHECK(git_state(scratch.path("repo")).remote.empty());
}

TEST_CASE("git: the address is that of the branch's remote, else of the first one") {
  const Scratch scratch;
  put_repository(scratch);
  const std::string config =
      "[core]\n\tbare = false\n[Remote \"fork\"]\n\turl = https://host/fork\n\turl = https://host/second\n"
      "[remote \"origin\"] ; the first\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
      "\turl = \"https://host/a b\" # a note\n[branch \"main\"]\n\tremote = origin\n[url \"x\"]\n\turl = no\n";
  CHECK(remote_in(scratch, config) == "https://host/a b");
  CHECK(remote_in(scratch, config, "fork") == "https://host/fork");
  CHECK(remote_in(scratch, config, "none") == "https://host/fork");
  CHECK(remote_in(scratch, "[remote \"origin\"]\nURL=https://host/a ; b") == "https://host/a");
  for (const std::string escaped : {"https://ho\\\nst/a", "\"https://host/a \\\"b\\\"\"", "https://\"host\"/a"}) {
    CHECK(remote_in(scratch, "[remote \"origin\"]\nurl = " + escaped).empty());
  }
  CHECK(remote_in(scratch, "[remote \"origin\"]\n\turl = https://me:secret@host/a\n") == "https://host/a");
  for (const std::string text : {"[", "[remote", "[remote \"", "[remote \"origin\"]\nurl", "[remote \"origin\"]\nurl=",
                                 "=\n=\n", "[remote \"origin\"]\nurl=\"", "[remote \"origin\"]\nurl=\\"}) {
    CHECK(remote_in(scratch, text).size() <= 1);
  }
}

TEST_CASE("git: removes credentials from a repository's address") {
  CHECK(without_credentials("https://host/a.git") == "https://host/a.git");
  CHECK(without_credentials("https://user:password@host:8443/a.git") == "https://host:8443/a.git");
  CHECK(without_credentials("https://token@host/a.git") == "https://host/a.git");
  CHECK(without_credentials("https://user:p@ss@host/a.git") == "https://host/a.git");
  CHECK(without_credentials("https://user:p/ss@host/a.git") == "https://host/a.git");
  CHECK(without_credentials("https://host/a.git?token=x#y") == "https://host/a.git");
  CHECK(without_credentials("https://host:443/@scope/a.git") == "https://host:443/@scope/a.git");
  CHECK(without_credentials("https://[::1]:443/a@b") == "https://[::1]:443/a@b");
  CHECK(without_credentials("ssh://git@host:22/a.git") == "ssh://git@host:22/a.git");
  CHECK(without_credentials("ssh://git:password@host/a.git") == "ssh://git@host/a.git");
  CHECK(without_credentials("git@host:a/b.git") == "git@host:a/b.git");
  CHECK(without_credentials("user:password@host:a/b.git") == "host:a/b.git");
  CHECK(without_credentials("/srv/git/a.git") == "/srv/git/a.git");
  CHECK(without_credentials("file:///srv/git/a.git") == "file:///srv/git/a.git");
  CHECK(without_credentials("ext::sh -c secret").empty());
  CHECK(without_credentials("https://host/a\nb").empty());
  CHECK(without_credentials("https://user:pass#word@host/a").empty());
  CHECK(without_credentials("https://to?ken@host/a").empty());
  CHECK(without_credentials("https://user:pa/ss?word@host/a").empty());
  CHECK(without_credentials("").empty());
}
