// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/merged_file.hpp"

#include <takt/error.hpp>

#include "base/directory_files.hpp"
#include "cli/tar.hpp"
#include "support/catch.hpp"
#include "support/mentions.hpp"
#include "support/scratch.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>

using namespace takt::detail;
using takt_test::contains;
using takt_test::mentions;
using takt_test::Scratch;

namespace {

std::string padded_to_blocks(std::string text) {
  text.resize(tar_blocks(text.size()));
  return text;
}

std::string file_of(const std::string& path, const std::string& text, std::int64_t changed_unix_ns = 0) {
  return tar_header({path, TarEntry::kFile, text.size(), changed_unix_ns}) + padded_to_blocks(text);
}

std::string mark() { return file_of(kMergedMark, kMergedMarkText); }
std::string end() { return std::string(2 * kTarBlock, '\0'); }

/// Returns the header with a correct checksum.
std::string sealed(std::string header) {
  header.replace(148, 8, 8, ' ');
  std::uint32_t sum = 0;
  for (const char each : header) { sum += static_cast<unsigned char>(each); }
  char text[9];
  std::snprintf(text, sizeof text, "%06o", sum);
  header.replace(148, 7, std::string(text, 7));
  return header;
}

/// Returns a header in which some bytes are replaced.
std::string header_with(const std::string& path, std::size_t at, const std::string& bytes) {
  std::string header = tar_header({path, TarEntry::kFile, 0, 0});
  header.replace(at, bytes.size(), bytes);
  return sealed(header);
}

std::shared_ptr<const MergedFile> merged(const Scratch& scratch, const std::string& bytes) {
  const std::string path = scratch.path("all.tar");
  takt_test::write_text(path, bytes);
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!MergedFile::is_one(file)) { return nullptr; }
  return std::make_shared<MergedFile>(std::move(file), "all.tar");
}

std::string text_in(const std::shared_ptr<const MergedFile>& file, const std::string& rank, const std::string& name) {
  const auto directory = merged_directory(file, "run", rank);
  std::string text;
  return directory->read(name, 0, 1 << 20, text) ? text : "(none)";
}

}  // namespace

TEST_CASE("a merged file has all its inputs, and equal directories give equal files") {
  const Scratch scratch;
  REQUIRE(::mkdir(scratch.path("rank-0").c_str(), 0700) == 0);
  const std::string long_text(3'000'001, 'x');
  takt_test::write_text(scratch.path("rank-0/a"), "one");
  takt_test::write_text(scratch.path("rank-0/b"), long_text);
  takt_test::write_text(scratch.path("rank-0/c"), "");
  const DirectoryFiles from(scratch.path("rank-0"));
  for (const char* const name : {"1.tar", "2.tar"}) {
    MergedWriter writer(scratch.path(name));
    writer.add_directory("run", 0);
    writer.add_directory("run/rank-0", 7);
    std::string why;
    for (const char* const each : {"a", "b", "c"}) {
      CHECK(writer.add_file(std::string("run/rank-0/") + each, from, each, why));
    }
    CHECK_FALSE(writer.add_file("run/rank-0/d", from, "d", why));
    CHECK(contains(why, "cannot be read"));
    writer.add_directory("run/rank-1", 7);
    writer.finish();
    CHECK(writer.bytes() == takt_test::read_text(scratch.path(name)).size());
  }
  const std::string bytes = takt_test::read_text(scratch.path("1.tar"));
  CHECK(bytes == takt_test::read_text(scratch.path("2.tar")));
  const auto file = merged(scratch, bytes);
  REQUIRE(file != nullptr);
  CHECK(file->warnings().empty());
  CHECK(text_in(file, "rank-0", "a") == "one");
  CHECK(text_in(file, "rank-0", "b") == long_text.substr(0, 1 << 20));
  CHECK(text_in(file, "rank-0", "c").empty());
  CHECK(text_in(file, "rank-0", "d") == "(none)");
  CHECK(text_in(file, "rank-7", "a") == "(none)");
  const auto directory = merged_directory(file, "run", "rank-0");
  CHECK(directory->path("a") == "all.tar/run/rank-0/a");
  CHECK(directory->names() == std::vector<std::string>{"a", "b", "c"});
  CHECK(merged_directory(file, "run", "rank-1")->names().empty());
  CHECK(file->runs().at("run").size() == 2);
  struct stat in_file = {};
  struct stat on_disk = {};
  REQUIRE((directory->look("b", in_file) && from.look("b", on_disk)));
  CHECK(in_file.st_size == on_disk.st_size);
  CHECK(in_file.st_mtim.tv_sec == on_disk.st_mtim.tv_sec);
  CHECK(in_file.st_mtim.tv_nsec == on_disk.st_mtim.tv_nsec);
  std::string part;
  REQUIRE(directory->read("a", 2, 100, part));
  REQUIRE(directory->read("a", 3, 100, part));
  REQUIRE(directory->read("a", ~std::uint64_t{0}, 100, part));
  CHECK(part == "e");
}

TEST_CASE("other files are refused, and a newer version is named as such") {
  const Scratch scratch;
  CHECK(merged(scratch, "") == nullptr);
  CHECK(merged(scratch, std::string(4096, '\0')) == nullptr);
  CHECK(merged(scratch, file_of("run/rank-0/a", "x") + end()) == nullptr);
  CHECK(merged(scratch, file_of(kMergedMark, "{}") + end()) == nullptr);
  CHECK(merged(scratch, mark().substr(0, 1000)) == nullptr);
  CHECK(merged(scratch, mark() + end())->runs().empty());
  CHECK_THROWS_WITH(merged(scratch, file_of(kMergedMark, "{\"schema\": \"takt-merged/2\"}\n") + end()),
                    Catch::Contains("newer"));
}

TEST_CASE("names in a merged file cannot lead outside") {
  const Scratch scratch;
  std::string bytes = mark();
  for (const char* const name : {"../rank-0/a", "/etc/rank-0/a", "run/../a", "run/rank-0/..", "run//a", "run/rank-0/",
                                 "./rank-0/a", "", "/", "..", "run/rank-0/a/b", "run/other/a", "run/a", "a"}) {
    bytes += file_of(name, "bad");
  }
  bytes += header_with("run/rank-0/journal-00000.tjl", 156, "2").replace(157, 11, "/etc/passwd");
  for (const char type : {'1', '2', '3', '4', '6', 'K', 'L', 'S', 'V', '\x7f'}) {
    bytes += header_with("run/rank-0/link", 156, std::string(1, type));
  }
  bytes += file_of("run/rank-0/" + std::string(256, 'n'), "bad");
  bytes += file_of("run/rank-0/\x1b[2J\n", "odd");
  bytes += file_of("run/rank-0/a", "good") + end();
  const auto file = merged(scratch, bytes);
  REQUIRE(file != nullptr);
  REQUIRE(file->runs().size() == 1);
  REQUIRE(file->runs().at("run").size() == 1);
  CHECK(merged_directory(file, "run", "rank-0")->names() == std::vector<std::string>{"\x1b[2J\n", "a"});
  CHECK(text_in(file, "rank-0", "a") == "good");
  const std::vector<std::string> warnings = file->warnings();
  CHECK(warnings.size() >= 14 + 10);
  for (const std::string& each : warnings) { CHECK(each.find_first_of("\x1b\n") == std::string::npos); }
}

TEST_CASE("damage affects only its entry and is reported") {
  const Scratch scratch;
  const std::string first = file_of("run/rank-0/a", "first");
  const std::string second = file_of("run/rank-1/a", "second");
  std::string damaged = first;
  damaged[3] = '!';
  auto file = merged(scratch, mark() + damaged + second + end());
  REQUIRE(file->runs().at("run").size() == 1);
  CHECK(text_in(file, "rank-1", "a") == "second");
  REQUIRE(file->warnings().size() == 1);
  CHECK(mentions(file->warnings()[0], {"all.tar", "byte 1024", "1024 bytes"}));

  // An extended header applies to the next entry only.
  const std::string named = file_of("run/rank-0/" + std::string(150, 'n'), "text");
  damaged = named;
  damaged[2 * kTarBlock] = '!';
  file = merged(scratch, mark() + damaged + second + end());
  CHECK(text_in(file, "rank-1", "a") == "second");
  CHECK(file->runs().at("run").size() == 1);
  CHECK(file->warnings().size() == 1);

  file = merged(scratch, mark() + first + "stray bytes");
  CHECK(text_in(file, "rank-0", "a") == "first");
  REQUIRE(file->warnings().size() == 1);
  CHECK(contains(file->warnings()[0], "truncated"));

  const std::string cut = mark() + first + file_of("run/rank-1/a", std::string(5000, 'x'));
  file = merged(scratch, cut.substr(0, cut.size() - 4000));
  CHECK(text_in(file, "rank-1", "a").size() == 5120 - 4000);
  CHECK(mentions(file->warnings()[0], {"run/rank-1/a", "truncated", "5000", "1120"}));

  std::string huge = header_with("run/rank-1/a", 124, "77777777777");
  file = merged(scratch, mark() + first + huge + std::string(600, 'y'));
  CHECK(text_in(file, "rank-1", "a").size() == 600);
  CHECK(mentions(file->warnings()[0], {"8589934591", "600"}));

  file = merged(scratch, mark() + header_with("run/rank-1/a", 124, "-1234567890") + second + end());
  CHECK(text_in(file, "rank-1", "a") == "second");
  CHECK(file->warnings().size() == 1);
}

TEST_CASE("a duplicate file is reported, and the last one counts as for tar") {
  const Scratch scratch;
  const auto file = merged(scratch, mark() + file_of("run/rank-0/a", "one") + file_of("run/rank-0/a", "two") + end());
  CHECK(text_in(file, "rank-0", "a") == "two");
  REQUIRE(file->warnings().size() == 1);
  CHECK(mentions(file->warnings()[0], {"run/rank-0/a", "twice"}));
}

TEST_CASE("of many warnings the first ones are shown with the total number") {
  const Scratch scratch;
  std::string bytes = mark();
  for (int number = 0; number < 1000; ++number) { bytes += file_of("other/" + std::to_string(number), ""); }
  const std::vector<std::string> warnings = merged(scratch, bytes + end())->warnings();
  REQUIRE(warnings.size() == MergedFile::kMaxWarnings + 1);
  CHECK(mentions(warnings.back(), {"all.tar", "968"}));
}

TEST_CASE("a damaged or endless extended header is reported, and later entries are read") {
  const Scratch scratch;
  for (const std::uint64_t size : {std::uint64_t{5}, std::uint64_t{1} << 30U}) {
    std::string extension = tar_header({"x", TarEntry::kFile, size, 0});
    extension.replace(156, 1, "x");
    const auto file = merged(
        scratch, mark() + sealed(extension) + padded_to_blocks("12 pa") + file_of("run/rank-0/a", "text") + end());
    REQUIRE_FALSE(file->warnings().empty());
    if (size == 5) { CHECK(text_in(file, "rank-0", "a") == "text"); }
  }
}

TEST_CASE("a merged file that cannot be written is reported with the remedy and leaves nothing") {
  const Scratch scratch;
  CHECK_THROWS_WITH(MergedWriter(scratch.path("no/all.tar")), Catch::Contains("no/all.tar"));
  const int status = takt_test::in_child([&] {
    takt_test::limit_file_size(4096);
    try {
      MergedWriter writer(scratch.path("full.tar"));
      for (int number = 0; number < 1000; ++number) { writer.add_directory("run/rank-" + std::to_string(number), 0); }
      writer.finish();
    } catch (const takt::Error& error) { return contains(error.what(), "name another file with -o") ? 7 : 8; }
    return 9;
  });
  CHECK(status == 7);
  CHECK_FALSE(takt_test::exists(scratch.path("full.tar")));
  CHECK_FALSE(takt_test::exists(scratch.path("full.tar.part")));
}
