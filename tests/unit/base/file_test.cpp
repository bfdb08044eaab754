// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/file.hpp"

#include "base/directory_files.hpp"

#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/mentions.hpp"
#include "support/scratch.hpp"
#include "support/stolen_descriptors.hpp"

#include <cerrno>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using takt::detail::make_directories;
using takt::detail::WholeFile;
using takt_test::contains;
using takt_test::mentions;
using takt_test::Scratch;

TEST_CASE("directories have mode 0700 and files 0600 under any umask") {
  const Scratch scratch;
  const mode_t mask = GENERATE(mode_t{0000}, mode_t{0022}, mode_t{0777});
  const int failed = takt_test::in_child([&] {
    umask(mask);
    std::string error;
    if (!make_directories(scratch.path("a/b/c"), error)) { return 1; }
    WholeFile file;
    if (!file.open(scratch.path("a/b/c/file")) || !file.write("x")) { return 2; }
    if (takt_test::mode_of(scratch.path("a/b/c/file.part")) != 0600) { return 3; }
    return file.commit() ? 0 : 4;
  });
  CHECK(failed == 0);
  CHECK(takt_test::mode_of(scratch.path("a")) == 0700);
  CHECK(takt_test::mode_of(scratch.path("a/b")) == 0700);
  CHECK(takt_test::mode_of(scratch.path("a/b/c")) == 0700);
  CHECK(takt_test::mode_of(scratch.path("a/b/c/file")) == 0600);
}

TEST_CASE("a directory keeps the set-group-id bit it inherits") {
  const Scratch scratch;
  REQUIRE(mkdir(scratch.path("project").c_str(), 0700) == 0);
  REQUIRE(chmod(scratch.path("project").c_str(), 02770) == 0);
  const mode_t mask = GENERATE(mode_t{0000}, mode_t{0777});
  const int failed = takt_test::in_child([&] {
    umask(mask);
    std::string error;
    return make_directories(scratch.path("project/run"), error) ? 0 : 1;
  });
  CHECK(failed == 0);
  CHECK(takt_test::mode_of(scratch.path("project/run")) == 02700);
}

TEST_CASE("a directory opened without a free descriptor reports that for its files") {
  const Scratch scratch;
  REQUIRE(mkdir(scratch.path("inner").c_str(), 0700) == 0);
  const int failed = takt_test::in_child([&] {
    const takt::detail::DirectoryFiles outer(scratch.path(""));
    // UndefinedBehaviorSanitizer uses a pipe to check a class, so use each class before descriptors run out.
    if (outer.may_exist("none") || outer.path("none").empty()) { return 1; }
    rlimit before{};
    if (getrlimit(RLIMIT_NOFILE, &before) != 0) { return 2; }
    const rlimit none = {0, before.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &none) != 0) { return 2; }
    const takt::detail::DirectoryFiles inner = outer.directory("inner");
    if (setrlimit(RLIMIT_NOFILE, &before) != 0) { return 2; }
    errno = 0;
    if (inner.create("file", O_WRONLY).is_open()) { return 3; }
    return errno == EMFILE ? 0 : 4;
  });
  CHECK(failed == 0);
  CHECK(mentions(takt::detail::reason_of(EMFILE), {"ulimit -n"}));
}

TEST_CASE("an existing directory keeps its mode and contents") {
  const Scratch scratch;
  REQUIRE(mkdir(scratch.path("there").c_str(), 0755) == 0);
  REQUIRE(chmod(scratch.path("there").c_str(), 0755) == 0);
  std::string error;
  CHECK(make_directories(scratch.path("there//"), error));
  CHECK(error.empty());
  CHECK(takt_test::mode_of(scratch.path("there")) == 0755);
}

TEST_CASE("a symbolic link is refused as the last directory but followed among its parents") {
  const Scratch scratch;
  REQUIRE(mkdir(scratch.path("target").c_str(), 0700) == 0);
  REQUIRE(symlink(scratch.path("target").c_str(), scratch.path("link").c_str()) == 0);
  std::string error;
  CHECK_FALSE(make_directories(scratch.path("link"), error));
  CHECK(contains(error, "symbolic link"));
  CHECK_FALSE(make_directories(scratch.path("link/"), error));
  CHECK(make_directories(scratch.path("link/below"), error));
  CHECK(takt_test::exists(scratch.path("target/below")));
}

TEST_CASE("an error names the path, the reason and the remedy") {
  const Scratch scratch;
  takt_test::write_text(scratch.path("file"), "");
  std::string error;
  CHECK_FALSE(make_directories(scratch.path("file/below"), error));
  CHECK(mentions(error, {scratch.path("file"), "Not a directory", "TAKT_DIR"}));
  CHECK_FALSE(make_directories("", error));

  WholeFile file;
  CHECK_FALSE(file.open(scratch.path("nowhere/file")));
  CHECK_FALSE(file.is_open());
  CHECK(mentions(file.error(), {scratch.path("nowhere/file"), "No such file or directory", "TAKT_DIR"}));
  CHECK_FALSE(file.flush());
}

TEST_CASE("a file gets its name only when it is complete") {
  const Scratch scratch;
  const std::string name = scratch.path("file");
  takt_test::write_text(name, "of the run before");
  const std::string text(200'000, 'x');
  WholeFile file;
  REQUIRE(file.open(name));
  REQUIRE(file.write(text));
  REQUIRE(file.write("end"));
  CHECK(takt_test::read_text(name) == "of the run before");
  REQUIRE(file.flush());
  CHECK(takt_test::read_text(name + ".part") == text + "end");
  REQUIRE(file.commit());
  CHECK_FALSE(file.is_open());
  CHECK(takt_test::read_text(name) == text + "end");
  CHECK_FALSE(takt_test::exists(name + ".part"));
}

TEST_CASE("an uncommitted file leaves its data in its .part") {
  const Scratch scratch;
  {
    WholeFile file;
    REQUIRE(file.open(scratch.path("file")));
    REQUIRE(file.write("half"));
  }
  CHECK(takt_test::read_text(scratch.path("file.part")) == "half");
  CHECK_FALSE(takt_test::exists(scratch.path("file")));
}

TEST_CASE("the .part of a killed run is renamed, not overwritten") {
  const Scratch scratch;
  takt_test::write_text(scratch.path("file.part"), "of a killed run");
  WholeFile file;
  REQUIRE(file.open(scratch.path("file")));
  REQUIRE(file.write("new"));
  REQUIRE(file.commit());
  CHECK(takt_test::read_text(scratch.path("file.part.old")) == "of a killed run");
  CHECK(takt_test::read_text(scratch.path("file")) == "new");
}

TEST_CASE("a planted symbolic link is not followed for writing") {
  const Scratch scratch;
  takt_test::write_text(scratch.path("victim"), "precious");
  REQUIRE(symlink(scratch.path("victim").c_str(), scratch.path("file.part").c_str()) == 0);
  WholeFile file;
  CHECK_FALSE(file.open(scratch.path("file")));
  CHECK(contains(file.error(), "file.part"));
  CHECK(contains(file.error(), "symbolic link"));
  CHECK(takt_test::read_text(scratch.path("victim")) == "precious");

  REQUIRE(symlink(scratch.path("victim").c_str(), scratch.path("other").c_str()) == 0);
  REQUIRE(file.open(scratch.path("other")));
  REQUIRE(file.write("mine"));
  REQUIRE(file.commit());
  CHECK(takt_test::read_text(scratch.path("victim")) == "precious");
  CHECK(takt_test::read_text(scratch.path("other")) == "mine");
}

TEST_CASE("a replaced .part does not get the file's name") {
  const Scratch scratch;
  WholeFile file;
  REQUIRE(file.open(scratch.path("file")));
  REQUIRE(file.write("mine"));
  REQUIRE(rename(scratch.path("file.part").c_str(), scratch.path("away").c_str()) == 0);
  takt_test::write_text(scratch.path("file.part"), "theirs");
  CHECK_FALSE(file.commit());
  CHECK(contains(file.error(), "another program"));
  CHECK_FALSE(takt_test::exists(scratch.path("file")));
}

TEST_CASE("after a full disk a file continues at the byte where it stopped") {
  const Scratch scratch;
  const int failed = takt_test::in_child([&] {
    WholeFile file;
    if (!file.open(scratch.path("file")) || !file.write("0123456789")) { return 1; }
    takt_test::limit_file_size(4);
    if (file.flush() || file.error().find("File too large") == std::string::npos) { return 2; }
    if (takt_test::read_text(scratch.path("file.part")) != "0123") { return 3; }
    if (file.commit() || takt_test::exists(scratch.path("file"))) { return 4; }
    takt_test::limit_file_size(0);
    return file.write("abc") && file.commit() ? 0 : 5;
  });
  CHECK(failed == 0);
  CHECK(takt_test::read_text(scratch.path("file")) == "0123456789abc");
}

TEST_CASE("a file is read from an offset, up to a given length") {
  const Scratch scratch;
  takt_test::write_text(scratch.path("file"), "0123456789");
  std::string text = "x";
  CHECK(takt::detail::read_from(scratch.path("file"), 2, 3, text));
  CHECK(text == "x234");
  CHECK(takt::detail::read_from(scratch.path("file"), 8, 100, text));
  CHECK(text == "x23489");
  CHECK(takt::detail::read_from(scratch.path("file"), 10, 100, text));
  CHECK(text == "x23489");
}

TEST_CASE("only regular files are read") {
  const Scratch scratch;
  takt_test::write_text(scratch.path("file"), "0123456789");
  REQUIRE(mkfifo(scratch.path("pipe").c_str(), 0600) == 0);
  REQUIRE(symlink("file", scratch.path("link").c_str()) == 0);
  const char* const name = GENERATE("pipe", "link", "", "none");
  std::string text;
  CHECK_FALSE(takt::detail::read_from(scratch.path(name), 0, 100, text));
  CHECK(errno != 0);
  CHECK(text.empty());
  CHECK(takt::detail::may_exist(scratch.path(name)) == (std::string(name) != "none"));
}

TEST_CASE("a file whose descriptor the program reused continues on a new one and leaves the program's file alone") {
  const Scratch scratch;
  const support::CaughtErrors errors;
  const std::string text(100'000, 'x');
  WholeFile file;
  REQUIRE(file.open(scratch.path("file")));
  REQUIRE(file.write(text));
  REQUIRE(file.flush());
  const std::vector<int> numbers = takt_test::open_files("/file.part");
  REQUIRE(numbers.size() == 1);
  takt_test::steal(numbers[0], scratch.path("program's"));
  REQUIRE(file.write("end"));
  REQUIRE(file.flush());
  CHECK(errors.lines().size() == 1);
  CHECK(takt_test::read_text(scratch.path("file.part")) == text + "end");
  REQUIRE(file.commit());
  CHECK(takt_test::read_text(scratch.path("file")) == text + "end");
  CHECK(::fcntl(numbers[0], F_GETFD) != -1);
  CHECK(takt_test::read_text(scratch.path("program's")).empty());
  ::close(numbers[0]);
}

TEST_CASE("a file removed while the program had its descriptor is not written to under its name") {
  const Scratch scratch;
  WholeFile file;
  REQUIRE(file.open(scratch.path("file")));
  takt_test::steal(takt_test::open_files("/file.part").at(0), scratch.path("program's"));
  REQUIRE(rename(scratch.path("file.part").c_str(), scratch.path("away").c_str()) == 0);
  takt_test::write_text(scratch.path("file.part"), "theirs");
  CHECK_FALSE((file.write("mine") && file.flush()));
  CHECK(contains(file.error(), "taken its .part away"));
  CHECK(takt_test::read_text(scratch.path("file.part")) == "theirs");
}

TEST_CASE("no file gets the descriptor of a standard stream") {
  const Scratch scratch;
  const int failed = takt_test::in_child([&] {
    for (int number = 0; number < 3; ++number) { ::close(number); }
    WholeFile file;
    if (!file.open(scratch.path("file")) || !file.write("mine")) { return 1; }
    if (::write(STDOUT_FILENO, "printed", 7) >= 0 || ::write(STDERR_FILENO, "printed", 7) >= 0) { return 2; }
    return file.commit() ? 0 : 3;
  });
  CHECK(failed == 0);
  CHECK(takt_test::read_text(scratch.path("file")) == "mine");
}

TEST_CASE("in a directory of other users only files are opened, by entry name") {
  const Scratch scratch;
  REQUIRE(mkdir(scratch.path("run").c_str(), 0700) == 0);
  takt_test::write_text(scratch.path("secret"), "secret");
  takt_test::write_text(scratch.path("run/file"), "0123456789");
  REQUIRE(mkfifo(scratch.path("run/pipe").c_str(), 0600) == 0);
  REQUIRE(mkdir(scratch.path("run/directory").c_str(), 0700) == 0);
  REQUIRE(symlink("../secret", scratch.path("run/link").c_str()) == 0);
  REQUIRE(symlink("..", scratch.path("run/up").c_str()) == 0);
  const takt::detail::DirectoryFiles files(scratch.path("run"));
  REQUIRE(files.is_open());
  REQUIRE(rename(scratch.path("run").c_str(), scratch.path("moved").c_str()) == 0);
  REQUIRE(symlink(".", scratch.path("run").c_str()) == 0);  // the path now leads elsewhere
  const auto fails_with = [&](const std::string& name) {
    std::string text;
    errno = 0;
    const bool read = files.read(name, 0, 100, text);
    CHECK(text.empty());
    return read ? 0 : errno;
  };
  CHECK(fails_with("link") == ELOOP);
  CHECK(fails_with("pipe") == ENXIO);
  CHECK(fails_with("directory") == ENXIO);
  CHECK(fails_with("none") == ENOENT);
  CHECK(fails_with("secret") == ENOENT);
  for (const std::string& name : {std::string(), std::string("."), std::string(".."), std::string("../secret"),
                                  scratch.path("secret"), std::string("directory/../file"), std::string("file\0", 5)}) {
    CHECK(fails_with(name) == EINVAL);
    CHECK_FALSE(files.rename("file", name));
    CHECK_FALSE(files.remove(name));
    CHECK_FALSE(files.create(name, O_WRONLY).is_open());
  }
  CHECK_FALSE(files.directory("up").is_open());
  CHECK_FALSE(files.directory("..").is_open());
  CHECK_FALSE(files.create("link", O_WRONLY).is_open());
  std::string text;
  CHECK(files.read_whole("file", 10, text));
  CHECK(text == "0123456789");
  CHECK_FALSE(files.read_whole("file", 9, text));
  CHECK(takt_test::read_text(scratch.path("secret")) == "secret");
}

TEST_CASE("a directory whose descriptor the program reused is reopened if it is still the same one") {
  const Scratch scratch;
  REQUIRE(mkdir(scratch.path("run").c_str(), 0700) == 0);
  takt_test::write_text(scratch.path("run/file"), "right");
  const takt::detail::DirectoryFiles files(scratch.path("run"));
  REQUIRE(files.is_open());
  takt_test::steal(takt_test::open_files("/run").at(0), scratch.path("program's"));
  std::string text;
  CHECK(files.read("file", 0, 100, text));
  CHECK(text == "right");
  takt_test::steal(takt_test::open_files("/run").at(0), scratch.path("program's"));
  REQUIRE(rename(scratch.path("run").c_str(), scratch.path("moved").c_str()) == 0);
  REQUIRE(mkdir(scratch.path("run").c_str(), 0700) == 0);
  takt_test::write_text(scratch.path("run/file"), "wrong");
  CHECK_FALSE(files.read("file", 0, 100, text));
}
